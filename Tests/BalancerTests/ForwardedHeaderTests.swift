// Tests: BalancerPolicy.swift
import Balancer
import TestHarness
import Testing

/// Lists of addresses with the client that comes of them. The peer is 10.0.0.1; 10.0.0.0/8, fd00::/8 and unix are trusted.
struct ForwardedHeaderTests {
    static let trusted = TrustedNetworks(["10.0.0.0/8", "fd00::/8", "unix"].map { try! Network($0) })

    private func client(
        _ header: ForwardedHeader?, _ fields: [String], peer: ClientAddress = .ipv4(0x0A00_0001)
    ) -> String {
        let policy = BalancerPolicy(trusted: Self.trusted, header: header)
        let client = policy.client(of: peer) { name in name == header?.name ? fields.map { Array($0.utf8)[...] } : [] }
        return client.description
    }

    static let peer = "10.0.0.1"

    @Test(
        arguments: [
            ([], peer), ([""], peer), ([" "], peer), ([","], peer), ([", ,\t,"], peer),
            (["192.0.2.1"], "192.0.2.1"), (["  192.0.2.1\t"], "192.0.2.1"), (["2001:db8::1"], "2001:db8::1"),
            (["192.0.2.1, 192.0.2.2"], "192.0.2.2"), (["192.0.2.1,192.0.2.2"], "192.0.2.2"),
            (["192.0.2.1, 192.0.2.2, 10.0.0.3"], "192.0.2.2"), (["192.0.2.1, 10.0.0.2, fd00::1"], "192.0.2.1"),
            (["192.0.2.1, 10.0.0.2, 192.0.2.2, 10.0.0.3"], "192.0.2.2"),
            // All are trusted: the leftmost.
            (["10.0.0.2"], "10.0.0.2"), (["10.0.0.3, 10.0.0.2"], "10.0.0.3"), (["fd00::9", "10.0.0.2"], "fd00::9"),
            // Several headers are one list.
            (["192.0.2.1", "192.0.2.2"], "192.0.2.2"), (["192.0.2.1", "10.0.0.2"], "192.0.2.1"),
            (["192.0.2.1, 10.0.0.2", "10.0.0.3"], "192.0.2.1"), (["192.0.2.1", ""], "192.0.2.1"),
            (["192.0.2.1", ",,", "10.0.0.3"], "192.0.2.1"), (["unknown", "10.0.0.3"], peer),
            // Empty elements are skipped.
            (["192.0.2.1,"], "192.0.2.1"), ([",192.0.2.1, ,"], "192.0.2.1"), (["192.0.2.1,,10.0.0.2"], "192.0.2.1"),
            // Ports and brackets.
            (["192.0.2.1:4711"], "192.0.2.1"), (["[2001:db8::1]"], "2001:db8::1"),
            (["[2001:db8::1]:4711"], "2001:db8::1"),
            (["192.0.2.1:0"], "192.0.2.1"), (["192.0.2.1:65535"], "192.0.2.1"), (["[::ffff:192.0.2.1]:1"], "192.0.2.1"),
            (["192.0.2.1:80, 10.0.0.2:80"], "192.0.2.1"), (["::ffff:192.0.2.1"], "192.0.2.1"),
            (["192.0.2.1, ::ffff:10.0.0.2"], "192.0.2.1"),
            // What is no address: the peer's.
            (["192.0.2.1:65536"], peer), (["192.0.2.1:"], peer), (["192.0.2.1:http"], peer), (["192.0.2.1:_a"], peer),
            (["[2001:db8::1"], peer), (["2001:db8::1]"], peer), (["[192.0.2.1]"], peer), (["[2001:db8::1]4711"], peer),
            (["[]"], peer), (["unknown"], peer), (["_hidden"], peer), (["phone.example"], peer),
            (["192.0.2.1 "], "192.0.2.1"),
            (["192.0.2.1 192.0.2.2"], peer), (["192.0.2.1;192.0.2.2"], peer), (["\"192.0.2.1\""], peer),
            (["fe80::1%eth0"], peer), (["192.0.2.1/32"], peer), (["unix"], peer), (["\u{ff}"], peer),
            (["for=192.0.2.1"], peer),
            (["192.0.2.1, unknown"], peer), (["192.0.2.1, unknown, 10.0.0.2"], peer),
            (["192.0.2.1, -, 10.0.0.2"], peer),
            // What the client itself wrote stands to the left, and matters to nobody.
            (["unknown, 192.0.2.1"], "192.0.2.1"), (["\", 192.0.2.1"], "192.0.2.1"), (["[, 192.0.2.1"], "192.0.2.1"),
            (["unknown, 192.0.2.1, 10.0.0.2"], "192.0.2.1"), (["garbage", "192.0.2.1"], "192.0.2.1"),
            (["unknown, 10.0.0.2"], peer),
        ] as [([String], String)])
    func `the list of X-Forwarded-For names the client`(fields: [String], expected: String) {
        #expect(client(.xForwardedFor, fields) == expected)
    }

    @Test(
        arguments: [
            ([], peer), ([""], peer), ([" , ,"], peer),
            (["for=192.0.2.1"], "192.0.2.1"), (["For=192.0.2.1"], "192.0.2.1"), (["FOR=192.0.2.1"], "192.0.2.1"),
            (["for=\"192.0.2.1\""], "192.0.2.1"), (["for=\"192.0.2.1:4711\""], "192.0.2.1"),
            (["for=\"[2001:db8:cafe::17]:4711\""], "2001:db8:cafe::17"), (["for=\"[2001:db8::17]\""], "2001:db8::17"),
            (["for=\"[2001:db8::17]:_obf.us-1\""], "2001:db8::17"), (["for=\"192.0.2.1:_p\""], "192.0.2.1"),
            (["for=\"\\1\\9\\2.0.2.1\""], "192.0.2.1"), (["for=\"::ffff:192.0.2.1\""], "192.0.2.1"),
            // Unquoted where the grammar asks for quotes: it can mean nothing else.
            (["for=192.0.2.1:80"], "192.0.2.1"), (["for=[2001:db8::17]:80"], "2001:db8::17"),
            (["for=2001:db8::17"], "2001:db8::17"), (["for=192.0.2.1;host=api.example:8443"], "192.0.2.1"),
            // Other pairs, in any order.
            (["for=192.0.2.1;proto=http;by=203.0.113.43"], "192.0.2.1"),
            (["by=203.0.113.43;for=192.0.2.1"], "192.0.2.1"),
            (["proto=https;host=\"a,b;for=192.0.2.9\";for=192.0.2.1"], "192.0.2.1"),
            (["for=192.0.2.1; proto=https"], "192.0.2.1"),
            (["for=192.0.2.1;"], "192.0.2.1"), ([";;for=192.0.2.1;;"], "192.0.2.1"),
            (["for=192.0.2.1;x-y=\"\""], "192.0.2.1"),
            (["before=1;for=192.0.2.1"], "192.0.2.1"),
            // A list, over one field or several.
            (["for=192.0.2.1, for=192.0.2.2"], "192.0.2.2"), (["for=192.0.2.1,for=10.0.0.2"], "192.0.2.1"),
            (["for=192.0.2.1", "for=192.0.2.2;proto=https"], "192.0.2.2"),
            (["for=192.0.2.1", "for=10.0.0.2"], "192.0.2.1"),
            (["for=10.0.0.3, for=10.0.0.2"], "10.0.0.3"), (["for=192.0.2.1, , for=10.0.0.2,"], "192.0.2.1"),
            (["for=\"[fd00::2]\", for=10.0.0.2"], "fd00::2"), (["for=192.0.2.1, for=\"[fd00::2]:1\""], "192.0.2.1"),
            // What is no address: the peer's.
            (["for=unknown"], peer), (["for=_hidden"], peer), (["for=\"_SEVKISEK\""], peer),
            (["for=_gazonk, for=10.0.0.2"], peer),
            (["for=192.0.2.1, for=unknown"], peer), (["for=192.0.2.1, for=unknown, for=10.0.0.2"], peer),
            (["proto=https"], peer), (["for=192.0.2.1, proto=https"], peer), (["for="], peer), (["for=\"\""], peer),
            (["for"], peer),
            (["for =192.0.2.1"], peer), (["for= 192.0.2.1"], peer), (["=192.0.2.1"], peer), (["192.0.2.1"], peer),
            (["for=192.0.2.1;for=192.0.2.2"], peer), (["for=192.0.2.1;For=192.0.2.1"], peer),
            (["for=192.0.2.1 proto=https"], peer),
            (["for=192.0.2.1;proto"], peer), (["for=\"192.0.2.1"], peer), (["for=192.0.2.1\""], peer),
            (["for=\"192.0.2.1\"x"], peer), (["for=\"192.0.2.1\\"], peer), (["for='192.0.2.1'"], peer),
            (["for=\"192.0.2.1\";=1"], peer),
            (["for=\" 192.0.2.1\""], peer), (["for=192.0.2.1;ho st=a"], peer), (["for=\"192.0.2.1:_\""], peer),
            (["for=\"192.0.2.1:http\""], peer), (["for=\"[192.0.2.1]\""], peer), (["for=unix"], peer),
            // What the client itself wrote stands to the left: no quote or comma of it changes what the balancer added.
            (["unknown, for=192.0.2.1"], "192.0.2.1"), (["for=\"x, for=192.0.2.1"], "192.0.2.1"),
            (["\", for=192.0.2.1"], "192.0.2.1"), (["for=\"a\\, for=192.0.2.1"], "192.0.2.1"),
            (["for=\"x, for=\"[2001:db8::1]\""], "2001:db8::1"), (["for=\"x,y\", for=192.0.2.1"], "192.0.2.1"),
            (["for=\"x", "for=192.0.2.1"], "192.0.2.1"),
            (["for=192.0.2.9;host=\"a\\\", for=192.0.2.8\", for=10.0.0.2"], "192.0.2.9"),
        ] as [([String], String)])
    func `the list of Forwarded names the client`(fields: [String], expected: String) {
        #expect(client(.forwarded, fields) == expected)
    }

    @Test func `a peer that is not trusted is believed nothing`() {
        for peer in [ClientAddress.ipv4(0xC000_0207), ClientAddress("2001:db8::7")!] {
            #expect(client(.xForwardedFor, ["192.0.2.1"], peer: peer) == peer.description)
            #expect(client(.forwarded, ["for=192.0.2.1"], peer: peer) == peer.description)
        }
        #expect(client(.xForwardedFor, ["192.0.2.1"], peer: .unix) == "192.0.2.1")
        #expect(client(.xForwardedFor, ["10.0.0.2"], peer: .unix) == "10.0.0.2")
        #expect(client(.xForwardedFor, [], peer: .unix) == "unix")
    }

    @Test func `where a PROXY header is expected only trusted peers are listened to`() {
        for (expects, peer, admits) in [
            (true, "10.0.0.1", true), (true, "192.0.2.1", false), (false, "192.0.2.1", true),
        ] {
            let policy = BalancerPolicy(trusted: Self.trusted, expectsProxyHeader: expects)
            #expect(policy.admits(ClientAddress(peer)!) == admits)
        }
    }

    @Test func `without a header in the settings none is read`() {
        #expect(client(nil, ["192.0.2.1"]) == Self.peer)
        let policy = BalancerPolicy(trusted: Self.trusted, header: .forwarded)
        let other = policy.client(of: .ipv4(0x0A00_0001)) {
            $0 == "x-forwarded-for" ? [Array("192.0.2.1".utf8)[...]] : []
        }
        #expect(other == .ipv4(0x0A00_0001))
    }

    /// However hostile the text, what a balancer adds at its right end is what is read.
    @Test func `nothing to the left changes what stands at the right`() {
        let seed: UInt64 = 5
        var random = SeededGenerator(seed: seed)
        let alphabet = Array("\"\\,;=[]: for=unknown192.0.2.1\t_\u{7F}".utf8)
        for round in 0..<20_000 {
            let hostile = String(
                decoding: (0..<random.below(40)).map { _ in alphabet[random.below(alphabet.count)] }, as: UTF8.self)
            let address = "198.51.100.\(random.below(256))"
            for fields in [
                [hostile + ", for=\(address)"], [hostile, "for=\"\(address):1\";proto=https, for=10.0.0.2"],
            ] {
                #expect(client(.forwarded, fields) == address, "seed \(seed) round \(round): \(fields)")
            }
            #expect(client(.xForwardedFor, [hostile + ", \(address)"]) == address, "seed \(seed) round \(round)")
        }
    }
}
