// Tests: BalancerTable.swift
import Balancer
import GatewaySettings
import Testing

/// What is said of `balancer`.
struct BalancerSettingsTests {
    @Test(
        arguments: [
            ("balancer: {}\n", []),
            ("balancer: {trusted: [10.0.0.0/8, fd00::/8, 127.0.0.1, '::1', unix], proxy_protocol: true}\n", []),
            ("balancer: {trusted: [unix], client_address: forwarded}\n", []),
            (
                "balancer: {trusted: [10.1.2.3/8]}\n",
                [
                    """
                    gate.yaml:1: balancer.trusted[0]: '10.1.2.3/8' is not a network (10.0.0.0/8, fd00::/8, one address, or unix): \
                    bits behind the prefix are set: write 10.0.0.0/8 for the network or 10.1.2.3 for one address
                    """
                ]
            ),
            (
                "balancer: {trusted: [balancer.example]}\n",
                [
                    """
                    gate.yaml:1: balancer.trusted[0]: 'balancer.example' is not a network (10.0.0.0/8, fd00::/8, one address, or \
                    unix): an IPv4 or IPv6 address, perhaps with /BITS, or unix is expected
                    """
                ]
            ),
            (
                "balancer:\n  proxy_protocol: true\n",
                [
                    """
                    gate.yaml:2: balancer.proxy_protocol: needs balancer.trusted: without it every connection would be closed. \
                    Name your balancers there
                    """
                ]
            ),
            (
                "balancer:\n  client_address: forwarded\n",
                [
                    """
                    gate.yaml:2: warning: balancer.client_address: has no effect without balancer.trusted: the header is read \
                    from trusted peers alone
                    """
                ]
            ),
            (
                "balancer: {client_address: x-real-ip}\n",
                [
                    """
                    gate.yaml:1: balancer.client_address: 'x-real-ip' is not one of none, x-forwarded-for, forwarded: did you \
                    mean 'forwarded'?
                    """
                ]
            ),
            (
                "balancer: {trusted: [10.0.0.1, 203.0.113.0/24, 0.0.0.0/0]}\n",
                [
                    """
                    gate.yaml:1: warning: balancer.trusted[1]: 203.0.113.0/24 is public: any client that connects from there \
                    can claim any address, and no limit per address applies to it. List only your balancers
                    """,
                    """
                    gate.yaml:1: warning: balancer.trusted[2]: 0.0.0.0/0 is public: any client that connects from there can \
                    claim any address, and no limit per address applies to it. List only your balancers
                    """,
                ]
            ),
        ] as [(String, [String])])
    func `what cannot be is refused, and what nobody can have meant is warned of`(text: String, lines: [String]) {
        #expect(load(text).lines == lines)
    }

    @Test(arguments: [(1024, true), (1025, false)])
    func `networks have a limit`(count: Int, isAccepted: Bool) {
        let networks = (0..<count).map { "10.0.\($0 / 256).\($0 % 256)" }.joined(separator: ", ")
        let outcome = load("balancer: {trusted: [\(networks)]}\n")
        #expect((outcome.settings != nil) == isAccepted)
        #expect(
            outcome.lines
                == (isAccepted
                    ? [] : ["gate.yaml:1: balancer.trusted: holds 1025 networks, over the limit of 1024"]))
    }

    @Test func `the policy is what the settings say`() throws {
        let text = "balancer: {trusted: [10.0.0.0/8], proxy_protocol: true, client_address: x-forwarded-for}\n"
        let policy = BalancerPolicy(try #require(load(text).settings).balancer)
        #expect(policy.expectsProxyHeader && policy.header == .xForwardedFor)
        #expect(policy.trusted.contains(.ipv4(0x0A00_0001)) && !policy.trusted.contains(.ipv4(0x0B00_0001)))
        let defaults = BalancerPolicy(Settings().balancer)
        #expect(defaults == BalancerPolicy() && defaults.admits(.ipv4(1)))
    }
}
