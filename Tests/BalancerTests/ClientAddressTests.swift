// Tests: AddressText.swift, Network.swift
import Balancer
import Glibc
import TestHarness
import Testing

/// Addresses and networks as rows.
struct ClientAddressTests {
    @Test(arguments: [
        ("0.0.0.0", "0.0.0.0"), ("255.255.255.255", "255.255.255.255"), ("192.0.2.1", "192.0.2.1"),
        ("::", "::"), ("::1", "::1"), ("1::", "1::"), ("2001:DB8::A", "2001:db8::a"),
        ("2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1"), ("1:0:0:2:0:0:0:3", "1:0:0:2::3"),
        ("1:0:0:2:3:0:0:4", "1::2:3:0:0:4"), ("1:2:3:0:4:5:6:7", "1:2:3:0:4:5:6:7"),
        ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"), ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"),
        ("64:ff9b::192.0.2.33", "64:ff9b::c000:221"), ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"),
        // Mapped IPv4, in all its spellings.
        ("::ffff:192.0.2.1", "192.0.2.1"), ("::ffff:c000:201", "192.0.2.1"),
        ("0:0:0:0:0:ffff:192.0.2.1", "192.0.2.1"), ("::FFFF:0.0.0.0", "0.0.0.0"),
        // Not mapped: the compatible ones of old, and others with ffff elsewhere.
        ("::192.0.2.1", "::c000:201"), ("::fffe:192.0.2.1", "::fffe:c000:201"), ("::1:ffff:0:0", "::1:ffff:0:0"),
    ])
    func `an address has one text`(text: String, canonical: String) throws {
        let address = try #require(ClientAddress(text))
        #expect(address.description == canonical)
        #expect(ClientAddress(canonical) == address)
    }

    @Test(arguments: [
        "", " ", "1", "1.2.3", "1.2.3.4.5", "1.2.3.", ".1.2.3", "1..2.3", "256.1.1.1", "1.2.3.999", "01.2.3.4",
        "1.2.3.00", "1.2.3.0004", "+1.2.3.4", "1.2.3.4 ", " 1.2.3.4", "1.2.3.4:80", "0x1.2.3.4", "1.2.3.a", "localhost",
        ":", ":::", "1:", ":1", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::",
        "::1:2:3:4:5:6:7:8",
        "12345::", "g::", "[::1]", "::1%eth0", "fe80::1%1", "::1.2.3", "::1.2.3.4.5", "1.2.3.4::", "::1.2.3.4:5",
        "1:2:3:4:5:6:7:1.2.3.4", "::01.2.3.4", "::1 ", "unix", "::1/128",
        "00000000000000000000000000000000000000000000000000000::1",
    ])
    func `what is no address is none`(text: String) {
        #expect(ClientAddress(text) == nil)
    }

    /// The C library is the other reader.
    @Test func `random texts are read as by inet_pton`() {
        let seed: UInt64 = 41
        var random = SeededGenerator(seed: seed)
        let alphabet = Array("0123456789abcF::::....".utf8)
        var accepted = 0
        for round in 0..<200_000 {
            var text: String
            if random.isOne(in: 3) {
                text = (0..<4).map { _ in "\(random.below(300))" }.joined(separator: ".")
            } else if random.isOne(in: 2) {
                text = (0..<(6 + random.below(4))).map { _ in
                    random.isOne(in: 3) ? "" : String(random.below(0x11000), radix: 16)
                }.joined(separator: ":")
            } else {
                text = String(
                    decoding: (0..<random.below(24)).map { _ in alphabet[random.below(alphabet.count)] }, as: UTF8.self)
            }
            if random.isOne(in: 8) { text += ".\(random.below(256)).\(random.below(256)).7" }
            var low = in_addr()
            var high = in6_addr()
            let isAddress = unsafe inet_pton(AF_INET, text, &low) == 1 || inet_pton(AF_INET6, text, &high) == 1
            #expect((ClientAddress(text) != nil) == isAddress, "seed \(seed) round \(round): \(text)")
            accepted += isAddress ? 1 : 0
        }
        #expect(accepted > 10_000)
    }

    @Test func `each random address is read back`() {
        var random = SeededGenerator(seed: 7)
        for round in 0..<20_000 {
            // Many groups of zeros, which is what the text is about.
            let halves = (0..<2).map { _ in
                (0..<4).reduce(UInt64(0)) { sum, _ in sum << 16 | (random.isOne(in: 2) ? 0 : random.next() & 0xFFFF) }
            }
            let address = ClientAddress(high: halves[0], low: halves[1])
            #expect(ClientAddress(address.description) == address, "round \(round): \(address)")
        }
    }

    @Test(arguments: [
        ("10.0.0.0/8", "10.255.255.255", true), ("10.0.0.0/8", "11.0.0.0", false),
        ("10.0.0.0/8", "9.255.255.255", false),
        ("0.0.0.0/0", "255.1.2.3", true), ("0.0.0.0/0", "::1", false), ("::/0", "::1", true),
        ("::/0", "10.0.0.1", false),
        ("192.0.2.7", "192.0.2.7", true), ("192.0.2.7", "192.0.2.6", false), ("192.0.2.7/32", "192.0.2.7", true),
        ("192.0.2.6/31", "192.0.2.7", true), ("192.0.2.6/31", "192.0.2.8", false), ("fd00::/8", "fdff::1", true),
        ("fd00::/8", "fe00::1", false), ("2001:db8::/64", "2001:db8::ffff:1:2:3", true),
        ("2001:db8::/64", "2001:db8:0:1::", false), ("2001:db8::/65", "2001:db8::7fff:0:0:0", true),
        ("2001:db8::/65", "2001:db8::8000:0:0:0", false), ("2001:db8::1", "2001:db8::1", true),
        ("2001:db8::1/128", "2001:db8::2", false), ("::ffff:10.0.0.0/104", "10.1.2.3", true),
        ("::ffff:10.0.0.1", "10.0.0.1", true), ("::ffff:0:0/96", "1.2.3.4", true),
        ("10.0.0.0/8", "::ffff:10.1.2.3", true),
    ])
    func `a network contains an address or does not`(network: String, address: String, contains: Bool) throws {
        #expect(try Network(network).contains(#require(ClientAddress(address))) == contains)
    }

    @Test func `the peer of a Unix socket is in unix alone`() throws {
        #expect(try Network("unix").contains(.unix))
        #expect(try !Network("0.0.0.0/0").contains(.unix) && !Network("::/0").contains(.unix))
        #expect(try !Network("unix").contains(.ipv4(0)) && "\(Network("unix"))" == "unix")
    }

    @Test(arguments: [
        ("", NetworkError.notAnAddress), ("10.0.0.0/", .prefix(0...32)), ("10.0.0.0/33", .prefix(0...32)),
        ("10.0.0.0/-1", .prefix(0...32)), ("10.0.0.0/08", .prefix(0...32)), ("10.0.0.0/8/8", .prefix(0...32)),
        ("10.0.0.0/255.0.0.0", .prefix(0...32)), ("::/129", .prefix(0...128)), ("::ffff:1.2.3.4/95", .prefix(96...128)),
        ("10/8", .notAnAddress), ("localhost", .notAnAddress), ("10.0.0.0:80/8", .notAnAddress),
        ("[::1]", .notAnAddress), ("Unix", .notAnAddress), ("unix:/run/a", .notAnAddress), ("*", .notAnAddress),
        ("10.1.2.3/8", .hostBits(network: "10.0.0.0/8", address: "10.1.2.3")),
        ("fd00::1/8", .hostBits(network: "fd00::/8", address: "fd00::1")),
        ("::ffff:10.1.2.3/104", .hostBits(network: "10.0.0.0/8", address: "10.1.2.3")),
    ])
    func `what is no network says why`(text: String, error: NetworkError) {
        #expect(throws: error) { try Network(text) }
        #expect("\(error)".count > 20)
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("10.0.0.0/8", true), ("10.0.0.0/7", false), ("172.16.0.0/12", true),
        ("172.32.0.0/16", false),
        ("192.168.1.0/24", true), ("169.254.0.0/16", true), ("100.64.0.0/10", true), ("100.0.0.0/8", false),
        ("0.0.0.0/0", false), ("203.0.113.9", false), ("::1", true), ("fd00::/8", true), ("fc00::/6", false),
        ("fe80::/10", true), ("2001:db8::/32", false), ("::/0", false), ("unix", true),
    ])
    func `a network that the Internet routes is public`(network: String, isPrivate: Bool) throws {
        #expect(try Network(network).isPrivate == isPrivate)
        #expect(try Network("\(Network(network))") == Network(network))
    }
}
