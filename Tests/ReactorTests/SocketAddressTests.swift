import Testing

@testable import Reactor

@Suite struct SocketAddressTests {
    @Test(arguments: [
        ("127.0.0.1:8080", SocketAddress.ipv4(0x7F00_0001, port: 8080)),
        ("0.0.0.0:0", .ipv4(0, port: 0)),
        ("255.255.255.255:65535", .ipv4(0xFFFF_FFFF, port: 65535)),
        ("[::1]:8080", .ipv6(high: 0, low: 1, port: 8080)),
        ("[2001:db8::ff]:1", .ipv6(high: 0x2001_0db8_0000_0000, low: 0xff, port: 1)),
        ("[::]:80", .ipv6(high: 0, low: 0, port: 80)),
        (":8080", .any(port: 8080)),
        ("unix:/run/livegate.sock", .unix(Array("/run/livegate.sock".utf8))),
        ("unix:relative", .unix(Array("relative".utf8))),
    ])
    func `an address is read, and printed as it was written`(text: String, address: SocketAddress) throws {
        #expect(try SocketAddress(parsing: text) == address)
        #expect(address.description == text)
    }

    @Test(arguments: [
        "", ":", "8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:+80", "127.0.0.1:-1", "127.0.0.1: 80",
        "127.0.0.1:000080", "127.0.0:80", "127.0.0.1.1:80", "localhost:80", "::1:80", "[::1]", "[::1]80", "[]:80",
        "[127.0.0.1]:80", "[::1:80", "unix:", "127.0.0.1\0:80", "unix:a\0b", " 127.0.0.1:80",
    ])
    func `what is no address is refused with the text and a reason`(text: String) {
        #expect {
            try SocketAddress(parsing: text)
        } throws: { error in
            guard case .invalidAddress(text, let why) = error as? ReactorError else { return false }
            return !why.isEmpty
        }
    }

    @Test func `the path of a Unix socket has 107 bytes at most`() throws {
        let longest = "unix:/" + String(repeating: "p", count: 106)
        #expect(try SocketAddress(parsing: longest).description == longest)
        #expect(throws: ReactorError.self) { try SocketAddress(parsing: longest + "p") }
    }

    @Test func `a numeric host needs no lookup, a name does`() {
        #expect(Endpoint(host: "127.0.0.1", port: 1) == .address(.loopback(port: 1)))
        #expect(Endpoint(host: "::1", port: 1) == .address(.ipv6(high: 0, low: 1, port: 1)))
        #expect(Endpoint(host: "localhost", port: 1) == .name("localhost", port: 1))
    }
}
