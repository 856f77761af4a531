// Tests: URLPath.swift

import Testing

@testable import HTTP

@Suite struct `Addresses` {
    @Test(arguments: [
        ("ws://a", "ws://a/"), ("wss://a", "wss://a/"), ("http://a", "ws://a/"), ("https://a", "wss://a/"),
        ("HTTP://A.Example/B", "ws://a.example/B"), ("a", "ws://a/"), ("localhost:8080", "ws://localhost:8080/"),
        ("localhost:8080/live/v1?x", "ws://localhost:8080/live/v1?x"), ("127.0.0.1:1", "ws://127.0.0.1:1/"),
        ("ws://a:80", "ws://a/"), ("ws://a:443", "ws://a:443/"), ("wss://a:443", "wss://a/"),
        ("wss://a:80", "wss://a:80/"),
        ("ws://a:", "ws://a/"), ("ws://a?x", "ws://a/?x"), ("ws://[::1]:8080/x", "ws://[::1]:8080/x"),
        ("[::1]", "ws://[::1]/"), ("ws://[fe80::1%25eth0]/", "ws://[fe80::1]/"),
        ("ws://u:p@a/x", "ws://a/x"), ("ws://u@b@a/x", "ws://a/x"), ("ws://a/ \u{FC}%20\"", "ws://a/%20%C3%BC%20\""),
        ("ws+unix:/tmp/s:/live/v1?x", "ws+unix:/tmp/s:/live/v1?x"), ("ws+unix:s", "ws+unix:s:/"),
        ("ws+unix:/tmp/a:b:/", "ws+unix:/tmp/a:b:/"), ("WS+UNIX:///tmp/s:/x", "ws+unix:/tmp/s:/x"),
        ("ws+unix:/tmp/s:", "ws+unix:/tmp/s:/"),
    ]) func `are understood`(_ input: String, _ expected: String) throws {
        #expect(try WebSocketURL(input).description == expected)
    }

    @Test(arguments: [
        ("", URLFault.empty), ("ftp://a", .unknownScheme("ftp")), ("ws:/a", .noHost), ("ws://", .noHost),
        ("ws:///x", .noHost), ("ws://:80", .noHost), ("ws://a:0", .badPort("0")), ("ws://a:65536", .badPort("65536")),
        ("ws://a:8x", .badPort("8x")), ("ws://a:-1", .badPort("-1")), ("ws://a#b", .fragment), ("ws://a/#", .fragment),
        ("ws://a b/", .badHost("a b")), ("ws://[::1", .badHost("[::1")), ("ws://[a]", .badHost("[a]")),
        ("ws://[::1]x", .badHost("[::1]x")), ("ws://b\u{FC}cher", .badHost("b\u{FC}cher")),
        ("ws://a\r\n", .controlByte),
        ("ws+unix:", .noHost), ("ws+unix::/x", .noHost), ("ws://a%2fb", .badHost("a%2fb")),
        // Of a name and a password nothing is shown, wherever they seem to end.
        ("ws://user:pa/ss@host", .userInformation), ("ws://user:pa?ss@host", .userInformation),
        ("ws://us er/ss@host", .userInformation), ("ws://user:pa/s@s@host/x", .userInformation),
        ("user:pass@host", .userInformation), ("ftp://u:p@a", .unknownScheme("ftp")),
        ("ws://[u:p/s]@a", .userInformation),
        ("ws://user:pa#ss@host", .fragment), ("ws://u:p@a b", .badHost("a b")), ("ws://u:p@a:8x/y", .badPort("8x")),
    ]) func `are refused`(_ input: String, _ fault: URLFault) {
        #expect(throws: fault) { try WebSocketURL(input) }
    }

    @Test func `keep user information and the parts of a place`() throws {
        #expect(try WebSocketURL("ws://u%40:p@a").userInformation == Array("u@:p".utf8))
        #expect(try WebSocketURL("ws://[::1]:9").destination == .host("::1", port: 9))
        #expect(try WebSocketURL("ws://[fe80::1%25eth0]").destination == .host("fe80::1%eth0", port: 80))
        #expect(try WebSocketURL("ws+unix:/tmp/s:/x").destination == .unix(path: "/tmp/s"))
        #expect(try WebSocketURL("ws+unix:/tmp/s:/x").host == "localhost")
    }

    @Test(arguments: [
        ("ws://b/c", "ws://b/c"), ("https://b", "wss://b/"), ("//b:1/c", "ws://b:1/c"), ("/c", "ws://a:8080/c"),
        ("c", "ws://a:8080/x/c"), ("../c?d", "ws://a:8080/c?d"), ("../../../c", "ws://a:8080/c"),
        ("./", "ws://a:8080/x/"),
        ("..", "ws://a:8080/"), ("?n", "ws://a:8080/x/y?n"), ("", "ws://a:8080/x/y?q"), ("c#f", "ws://a:8080/x/c"),
        ("/a/./b/../c", "ws://a:8080/a/c"),
    ]) func `of redirects are resolved`(_ location: String, _ expected: String) throws {
        let base = try WebSocketURL("ws://u:p@a:8080/x/y?q")
        #expect(try base.resolving(Array(location.utf8)).description == expected)
    }

    @Test func `of redirects stay on their socket, and keep to the schemes`() throws {
        let base = try WebSocketURL("ws+unix:/tmp/s:/x")
        #expect(try base.resolving(Array("/y".utf8)).description == "ws+unix:/tmp/s:/y")
        #expect(throws: URLFault.unknownScheme("file")) { try base.resolving(Array("file:///etc/passwd".utf8)) }
        #expect(throws: URLFault.unknownScheme("ws+unix")) { try base.resolving(Array("ws+unix:/tmp/t:/".utf8)) }
    }

    @Test(arguments: [
        ("ws://a", "http://A:80/x", true), ("ws://a", "wss://a", false), ("ws://a", "ws://a:81", false),
        ("ws://a", "ws://b", false), ("ws://a:443", "wss://a:443", false), ("ws+unix:/s:/", "ws+unix:/s:/x", true),
    ]) func `are of one origin or not`(_ left: String, _ right: String, _ same: Bool) throws {
        #expect(try WebSocketURL(left).hasSameOrigin(as: WebSocketURL(right)) == same)
    }
}
