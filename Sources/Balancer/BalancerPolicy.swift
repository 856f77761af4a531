/// The networks whose statements about clients are trusted.
package struct TrustedNetworks: Equatable, Sendable {
    /// Each address of a list is compared with each network. The largest providers publish some hundred networks.
    package static let maximumNetworks = 1024

    package let networks: [Network]

    package init(_ networks: [Network] = []) { self.networks = networks }

    package func contains(_ address: ClientAddress) -> Bool { networks.contains { $0.contains(address) } }
}

/// Which balancers are between a node and its clients, and which of their statements are trusted.
package struct BalancerPolicy: Equatable, Sendable {
    package let trusted: TrustedNetworks
    /// Whether each connection begins with a PROXY header, which only trusted peers may send.
    package let expectsProxyHeader: Bool
    /// The header that names the client of a request. Nil: no header is read.
    package let header: ForwardedHeader?

    package init(
        trusted: TrustedNetworks = TrustedNetworks(), expectsProxyHeader: Bool = false, header: ForwardedHeader? = nil
    ) {
        self.trusted = trusted
        self.expectsProxyHeader = expectsProxyHeader
        self.header = header
    }

    /// Whether a connection from this peer is accepted: where a PROXY header is expected, only trusted peers may send it.
    package func admits(_ peer: ClientAddress) -> Bool { !expectsProxyHeader || trusted.contains(peer) }

    /// The client that sent the request.
    ///
    /// - Parameters:
    ///   - peer: the connection's address: the one of the socket, or the one that its PROXY header named.
    ///   - fields: the values of the fields of a name, in their order.
    package func client(of peer: ClientAddress, _ fields: (_ name: String) -> [ArraySlice<UInt8>]) -> ClientAddress {
        guard let header, trusted.contains(peer) else { return peer }
        return header.client(in: fields(header.name), trusted: trusted) ?? peer
    }
}
