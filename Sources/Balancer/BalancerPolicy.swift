/// The networks whose word about others is believed.
package struct TrustedNetworks: Equatable, Sendable {
    /// Each address of a list is compared with each network: the largest providers publish some hundred networks.
    package static let maximumNetworks = 1024

    package let networks: [Network]

    package init(_ networks: [Network] = []) { self.networks = networks }

    package func contains(_ address: ClientAddress) -> Bool { networks.contains { $0.contains(address) } }
}

/// Who stands between a node and its clients, and whose word about them is believed.
package struct BalancerPolicy: Equatable, Sendable {
    package let trusted: TrustedNetworks
    /// Whether each connection begins with a PROXY header, which only trusted peers may send.
    package let expectsProxyHeader: Bool
    /// The header that names the client of a request; nil: none is read.
    package let header: ForwardedHeader?

    package init(
        trusted: TrustedNetworks = TrustedNetworks(), expectsProxyHeader: Bool = false, header: ForwardedHeader? = nil
    ) {
        self.trusted = trusted
        self.expectsProxyHeader = expectsProxyHeader
        self.header = header
    }

    /// Whether a socket's peer is listened to at all: where a PROXY header is expected, nobody else may send one.
    package func admits(_ peer: ClientAddress) -> Bool { !expectsProxyHeader || trusted.contains(peer) }

    /// Whose request it is.
    ///
    /// - Parameters:
    ///   - peer: the connection's address: the socket's, or what its PROXY header named.
    ///   - fields: the values of the fields of a name, in their order.
    package func client(of peer: ClientAddress, _ fields: (_ name: String) -> [ArraySlice<UInt8>]) -> ClientAddress {
        guard let header, trusted.contains(peer) else { return peer }
        return header.client(in: fields(header.name), trusted: trusted) ?? peer
    }
}
