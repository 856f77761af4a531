/// Where a client wants to go: a name that is looked up, or an address.
package enum Endpoint: Hashable, Sendable, CustomStringConvertible {
    case name(String, port: UInt16)
    case address(SocketAddress)

    /// A numeric host becomes an address, so that nothing is looked up for it.
    package init(host: String, port: UInt16) {
        self = SocketAddress(numeric: host, port: port).map(Endpoint.address) ?? .name(host, port: port)
    }

    package var description: String {
        switch self {
        case .name(let host, let port): "\(host):\(port)"
        case .address(let address): address.description
        }
    }
}
