import Balancer

package struct BalancerTable: SettingTable {
    package static let effect: SettingEffect? = .atOnce

    package let trusted = Setting(
        "balancer.trusted", .list("a list of networks", of: .network), default: "[]",
        """
        The peers that are trusted to name a client's address: your balancers, as networks (10.0.0.0/8, 'fd00::/8'), \
        single addresses, or unix for all peers of Unix sockets. Limits per address do not apply to them.
        """)
    package let proxyProtocol = Setting(
        "balancer.proxy_protocol", .truth, default: "false",
        """
        Each connection begins with a PROXY header, version 1 or 2, before TLS. Without one, or from a peer that is not \
        trusted, it is closed.
        """)
    package let clientAddress = Setting(
        "balancer.client_address",
        .choice([("none", ForwardedHeader?.none), ("x-forwarded-for", .xForwardedFor), ("forwarded", .forwarded)]),
        default: "none",
        """
        The header in which trusted peers name the client: x-forwarded-for, forwarded (RFC 7239) or none. Its rightmost \
        address that is not trusted is the client's.
        """)

    package init() {}
}

extension SettingKind where Value == Network {
    static var network: Self {
        let expected = "a network (10.0.0.0/8, fd00::/8, one address, or unix)"
        return Self(expected) { element, reading in
            guard let text = reading.text(element, expected: expected) else { return nil }
            do throws(NetworkError) {
                return try Network(text)
            } catch {
                reading.refuse(element, "'\(text)' is not \(expected): \(error)")
                return nil
            }
        }
    }
}

extension BalancerPolicy {
    package init(_ balancer: SettingValues<BalancerTable>) {
        self.init(
            trusted: TrustedNetworks(balancer.trusted), expectsProxyHeader: balancer.proxyProtocol,
            header: balancer.clientAddress)
    }
}

extension SettingsDraft {
    mutating func checkBalancer() {
        let trusted = SettingsTable.path(of: \.balancer.trusted)
        let proxyProtocol = SettingsTable.path(of: \.balancer.proxyProtocol)
        let clientAddress = SettingsTable.path(of: \.balancer.clientAddress)
        guard isSound(trusted) else { return }
        let networks = settings.balancer.trusted
        if networks.count > TrustedNetworks.maximumNetworks {
            report(trusted, "holds \(networks.count) networks, over the limit of \(TrustedNetworks.maximumNetworks)")
        }
        for (index, network) in networks.enumerated() where !network.isPrivate {
            report(
                "\(trusted)[\(index)]",
                """
                \(network) is public: any client that connects from there can claim any address, and no limit per \
                address applies to it. List only your balancers
                """, isWarning: true)
        }
        guard networks.isEmpty else { return }
        if settings.balancer.proxyProtocol, isSound(proxyProtocol) {
            report(
                proxyProtocol,
                "needs \(trusted): without it every connection would be closed. Name your balancers there")
        }
        if settings.balancer.clientAddress != nil, isSound(clientAddress) {
            report(
                clientAddress, "has no effect without \(trusted): the header is read from trusted peers alone",
                isWarning: true)
        }
    }
}
