import Balancer
import Testing

/// Rows of bytes with what they say, each at every cut. (HAProxy's proxy-protocol.txt is meant by §.)
struct ProxyHeaderParserTests {
    /// What a header comes to: an address as text, `own` for the peer's own, or why it is none.
    private func result(_ bytes: [UInt8], cutAt cut: Int) -> (text: String, consumed: Int)? {
        var parser = ProxyHeaderParser()
        var before = 0
        for part in [bytes[..<cut], bytes[cut...]] {
            switch parser.consume(Array(part).span) {
            case .needMore: before += part.count
            case .header(let client, let consumed): return (client.map { "\($0)" } ?? "own", before + consumed)
            case .rejected(let fault): return (fault.rawValue, 0)
            }
        }
        return nil
    }

    /// The same at every cut, with and without bytes behind it, and byte by byte.
    private func check(_ header: [UInt8], _ expected: String, isHeader: Bool) {
        for rest in [[], Array("GET / HTTP/1.1\r\n".utf8), [0x16, 0x03, 0x01]] {
            let bytes = header + rest
            for cut in 0...bytes.count {
                let result = result(bytes, cutAt: cut)
                #expect(result?.text == expected, "cut at \(cut)")
                if isHeader { #expect(result?.consumed == header.count, "cut at \(cut)") }
            }
        }
        var parser = ProxyHeaderParser()
        bytewise: for (index, byte) in header.enumerated() {
            switch parser.consume([byte].span) {
            case .needMore: #expect(parser.hasBegun && index + 1 < header.count)
            case .header(_, let consumed): #expect(isHeader && consumed == 1 && index + 1 == header.count)
            case .rejected(let fault):
                #expect(fault.rawValue == expected)
                break bytewise
            }
        }
    }

    // MARK: - Version 1

    @Test(arguments: [
        ("PROXY TCP4 192.0.2.1 198.51.100.9 56324 443\r\n", "192.0.2.1"),
        ("PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n", "255.255.255.255"),
        ("PROXY TCP4 0.0.0.0 0.0.0.0 0 0\r\n", "0.0.0.0"),
        ("PROXY TCP6 2001:db8::1 2001:db8::2 1 2\r\n", "2001:db8::1"),
        ("PROXY TCP6 2001:DB8::A ::1 1 2\r\n", "2001:db8::a"),
        ("PROXY TCP6 ::ffff:192.0.2.1 ::ffff:192.0.2.2 1 2\r\n", "192.0.2.1"),
        ("PROXY TCP6 ::ffff:c000:201 ::1 1 2\r\n", "192.0.2.1"),
        (
            "PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n",
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"
        ),
        ("PROXY UNKNOWN\r\n", "own"), ("PROXY UNKNOWN \r\n", "own"),
        ("PROXY UNKNOWN ffff::1 ffff::2 65535 65535\r\n", "own"),
        ("PROXY UNKNOWN a\rb\nc\u{0}\r\n", "own"),
    ])
    func `a line of version 1 names the client`(line: String, client: String) {
        check(Array(line.utf8), client, isHeader: true)
    }

    @Test(arguments: [
        "PROXY \r\n", "PROXY TCP4\r\n", "PROXY TCP4 192.0.2.1\r\n", "PROXY TCP4 192.0.2.1 192.0.2.2 1\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 1 2 3\r\n", "PROXY TCP4 192.0.2.1 192.0.2.2 1 2 \r\n",
        "PROXY  TCP4 192.0.2.1 192.0.2.2 1 2\r\n", "PROXY TCP4  192.0.2.1 192.0.2.2 1 2\r\n",
        "PROXY tcp4 192.0.2.1 192.0.2.2 1 2\r\n", "PROXY TCP5 192.0.2.1 192.0.2.2 1 2\r\n",
        "PROXY UDP4 192.0.2.1 192.0.2.2 1 2\r\n", "PROXY UNKNOWNS\r\n", "PROXY unknown\r\n",
        "PROXY TCP4 ::1 ::1 1 2\r\n", "PROXY TCP6 192.0.2.1 192.0.2.2 1 2\r\n", "PROXY TCP6 ::1 192.0.2.2 1 2\r\n",
        "PROXY TCP4 192.0.2.256 192.0.2.2 1 2\r\n", "PROXY TCP4 192.0.2.1 phone 1 2\r\n",
        "PROXY TCP4 192.0.02.1 192.0.2.2 1 2\r\n", "PROXY TCP6 [::1] ::1 1 2\r\n", "PROXY TCP6 ::1%eth0 ::1 1 2\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 65536 2\r\n", "PROXY TCP4 192.0.2.1 192.0.2.2 1 99999\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 01 2\r\n", "PROXY TCP4 192.0.2.1 192.0.2.2 -1 2\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 1 +2\r\n", "PROXY TCP4 192.0.2.1 192.0.2.2 1 \r\n",
        "PROXY TCP4 192.0.2.1\t192.0.2.2 1 2\r\n", "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\n\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\r\n",
    ])
    func `a line that is wrong is malformed`(line: String) {
        check(Array(line.utf8), "malformed", isHeader: false)
    }

    @Test(arguments: [
        "GET /live/v1 HTTP/1.1\r\n", "POST / HTTP/1.1\r\n", "PRI * HTTP/2.0\r\n", "proxy TCP4 ",
        "PROXY\tTCP4 192.0.2.1 192.0.2.2 1 2\r\n", "PROXYTCP4 192", " PROXY TCP4 ", "\u{16}\u{3}\u{1}", "\u{0}",
        "\r\n\r\n\u{0}\r\nQUIX\n", "\r\nGET / HTTP/1.1\r\n",
    ])
    func `what begins otherwise has no header`(bytes: String) {
        check(Array(bytes.utf8), "missing", isHeader: false)
    }

    @Test func `a line has at most 107 bytes`() {
        let begin = "PROXY UNKNOWN "
        let longest = begin + String(repeating: "x", count: 107 - begin.count - 2) + "\r\n"
        #expect(longest.utf8.count == ProxyHeaderParser.maximumTextBytes)
        check(Array(longest.utf8), "own", isHeader: true)
        let over = begin + String(repeating: "x", count: 107 - begin.count - 1) + "\r\n"
        check(Array(over.utf8), "too long", isHeader: false)
        // It is known with the 107th byte: nobody waits for more.
        #expect(result(Array(over.utf8.prefix(107)), cutAt: 0)?.text == "too long")
    }

    // MARK: - Version 2

    static let signature = Array("\r\n\r\n\u{0}\r\nQUIT\n".utf8)

    static func version2(_ command: UInt8, _ family: UInt8, _ addresses: [UInt8], _ length: Int? = nil) -> [UInt8] {
        let length = length ?? addresses.count
        return signature + [command, family, UInt8(length >> 8), UInt8(length & 0xFF)] + addresses
    }

    static let ipv4: [UInt8] = [192, 0, 2, 1, 198, 51, 100, 9, 0xDC, 0x04, 0x01, 0xBB]
    static let ipv6: [UInt8] =
        [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1] + [UInt8](repeating: 9, count: 20)
    static let mapped: [UInt8] =
        [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF, 192, 0, 2, 1] + [UInt8](repeating: 9, count: 20)
    static let unix = [UInt8](repeating: 0x2F, count: 216)

    static let good: [(name: String, bytes: [UInt8], client: String)] = [
        ("IPv4", version2(0x21, 0x11, ipv4), "192.0.2.1"),
        ("IPv4 with TLVs", version2(0x21, 0x11, ipv4 + [0x01, 0, 2, 0x68, 0x32]), "192.0.2.1"),
        ("IPv4 with what is no TLV", version2(0x21, 0x11, ipv4 + [0xFF, 0xFF, 0xFF]), "192.0.2.1"),
        ("IPv4 with a wrong checksum", version2(0x21, 0x11, ipv4 + [0x03, 0, 4, 1, 2, 3, 4]), "192.0.2.1"),
        ("IPv6", version2(0x21, 0x21, ipv6), "2001:db8::1"),
        ("IPv6 with TLVs", version2(0x21, 0x21, ipv6 + [0x04, 0, 0]), "2001:db8::1"),
        ("mapped IPv4", version2(0x21, 0x21, mapped), "192.0.2.1"),
        ("Unix", version2(0x21, 0x31, unix), "own"),
        ("unspecified", version2(0x21, 0x00, []), "own"),
        ("unspecified with bytes", version2(0x21, 0x00, [1, 2, 3]), "own"),
        ("unspecified stream", version2(0x21, 0x01, ipv4), "own"),
        ("local", version2(0x20, 0x00, []), "own"),
        ("local, whatever the family", version2(0x20, 0x11, ipv4), "own"),
        ("local, an unknown family", version2(0x20, 0xFF, [7]), "own"),
        ("local, a datagram family", version2(0x20, 0x12, []), "own"),
        ("536 bytes", version2(0x21, 0x11, ipv4 + [UInt8](repeating: 4, count: 536 - 28)), "192.0.2.1"),
        ("local, 536 bytes", version2(0x20, 0x00, [UInt8](repeating: 4, count: 520)), "own"),
    ]

    @Test(arguments: good.indices) func `a header of version 2 names the client`(index: Int) {
        let row = Self.good[index]
        check(row.bytes, row.client, isHeader: true)
    }

    static let bad: [(name: String, bytes: [UInt8], fault: String)] = [
        ("version 1", version2(0x11, 0x11, ipv4), "malformed"),
        ("version 3", version2(0x31, 0x11, ipv4), "malformed"),
        ("version 0", version2(0x01, 0x11, ipv4), "malformed"),
        ("an unknown command", version2(0x22, 0x11, ipv4), "malformed"),
        ("an unknown command", version2(0x2F, 0x00, []), "malformed"),
        ("UDP over IPv4", version2(0x21, 0x12, ipv4), "malformed"),
        ("UDP over IPv6", version2(0x21, 0x22, ipv6), "malformed"),
        ("Unix datagrams", version2(0x21, 0x32, unix), "malformed"),
        ("unspecified datagrams", version2(0x21, 0x02, []), "malformed"),
        ("IPv4 without a transport", version2(0x21, 0x10, ipv4), "malformed"),
        ("IPv6 without a transport", version2(0x21, 0x20, ipv6), "malformed"),
        ("an unknown transport", version2(0x21, 0x13, ipv4), "malformed"),
        ("an unknown family", version2(0x21, 0x41, ipv4), "malformed"),
        ("IPv4, too short", version2(0x21, 0x11, Array(ipv4.dropLast())), "malformed"),
        ("IPv4, nothing", version2(0x21, 0x11, []), "malformed"),
        ("IPv6, too short", version2(0x21, 0x21, Array(ipv6.dropLast())), "malformed"),
        ("Unix, too short", version2(0x21, 0x31, Array(unix.dropLast())), "malformed"),
        ("537 bytes", version2(0x21, 0x11, ipv4, 521), "too long"),
        ("65,551 bytes", version2(0x21, 0x00, [], 65_535), "too long"),
        ("local, 537 bytes", version2(0x20, 0x00, [], 521), "too long"),
    ]

    /// Each is known with the first 16 bytes: nobody waits for more.
    @Test(arguments: bad.indices) func `a header of version 2 that is wrong is rejected`(index: Int) {
        let row = Self.bad[index]
        check(row.bytes, row.fault, isHeader: false)
        #expect(result(Array(row.bytes.prefix(16)), cutAt: 0)?.text == row.fault, "\(row.name)")
        #expect(result(Array(row.bytes.prefix(15)), cutAt: 0) == nil, "\(row.name)")
    }

    @Test func `of each header every byte is needed`() {
        for row in Self.good {
            for count in 0..<row.bytes.count {
                #expect(result(Array(row.bytes.prefix(count)), cutAt: count / 2) == nil, "\(row.name), \(count) bytes")
            }
        }
    }

    @Test func `a signature that breaks off anywhere is missing`() {
        for index in Self.signature.indices {
            var bytes = Self.version2(0x21, 0x11, Self.ipv4)
            bytes[index] ^= 0x80
            check(bytes, "missing", isHeader: false)
        }
    }
}
