// Tests: QueryParameters.swift, UpgradeRequest.swift

import Testing

@testable import HTTP

/// An opening handshake, of which single lines are replaced or added; nil leaves one out.
func upgrade(
    first: String = "GET /live/v1 HTTP/1.1", upgrade: String? = "Upgrade: websocket",
    connection: String? = "Connection: Upgrade", key: String? = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    version: String? = "Sec-WebSocket-Version: 13", more: String...
) -> String {
    ([first, "Host: a"] + [upgrade, connection, key, version].compactMap { $0 } + more).map { $0 + "\r\n" }.joined()
        + "\r\n"
}

@Suite struct `The upgrade to WebSocket` {
    static func validate(_ input: String) throws -> Result<UpgradeRequest, Refusal> {
        UpgradeRequest.validate(try #require(parse(input).heads.first))
    }

    static let accepted = [
        upgrade(), upgrade(connection: "Connection: keep-alive, UPGRADE"), upgrade(upgrade: "upgrade: WebSocket"),
        upgrade(upgrade: "Upgrade: h2c, websocket"), upgrade(more: "Content-Length: 0"),
        upgrade(more: "Connection: close"), upgrade(first: "GET http://a/live/v1 HTTP/1.1"),
    ].map { Row($0) }

    @Test(arguments: accepted) func `is accepted`(_ row: Row) throws {
        let request = try Self.validate(row.input).get()
        #expect(text(request.key) == "dGhlIHNhbXBsZSBub25jZQ==")
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let input: String
        let code: RefusalCode

        var testDescription: String { input.debugDescription }

        init(_ input: String, _ code: RefusalCode = .badUpgrade) {
            self.input = input
            self.code = code
        }
    }

    static let rows = [
        Row(upgrade(version: "Sec-WebSocket-Version: 12"), .upgradeRequired),
        Row(upgrade(version: "Sec-WebSocket-Version: 8"), .upgradeRequired),
        Row(upgrade(version: "Sec-WebSocket-Version: 013"), .upgradeRequired),
        Row(upgrade(version: "Sec-WebSocket-Version: 13, 8"), .upgradeRequired),
        Row(upgrade(version: "Sec-WebSocket-Version:"), .upgradeRequired),
        Row(upgrade(version: nil)),
        Row(upgrade(more: "Sec-WebSocket-Version: 13")),
        Row(upgrade(key: nil)),
        Row(upgrade(key: "Sec-WebSocket-Key:")),
        Row(upgrade(key: "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=")),
        Row(upgrade(key: "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ")),
        Row(upgrade(key: "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQAA")),
        Row(upgrade(key: "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQA=")),
        Row(upgrade(key: "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j-_==")),
        Row(upgrade(key: "Sec-WebSocket-Key: dGhlIHNhbXBs\u{E4}SBub25jZQ==")),
        Row(upgrade(key: "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==, dGhlIHNhbXBsZSBub25jZQ==")),
        Row(upgrade(more: "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")),
        Row(upgrade(connection: nil)),
        Row(upgrade(connection: "Connection: keep-alive")),
        Row(upgrade(connection: "Connection: upgraded")),
        Row(upgrade(upgrade: nil)),
        Row(upgrade(upgrade: "Upgrade: websocket/13")),
        Row(upgrade(first: "GET /live/v1 HTTP/1.0")),
        Row(upgrade(more: "Content-Length: 1")),
        Row(upgrade(more: "Transfer-Encoding: chunked")),
        Row(upgrade(first: "POST /live/v1 HTTP/1.1"), .methodNotAllowed),
        Row(upgrade(first: "HEAD /live/v1 HTTP/1.1"), .methodNotAllowed),
        Row(upgrade(first: "get /live/v1 HTTP/1.1"), .methodNotAllowed),
    ]

    @Test(arguments: rows) func `is refused`(_ row: Row) throws {
        guard case .failure(let refusal) = try Self.validate(row.input) else {
            Issue.record("accepted")
            return
        }
        #expect(refusal.code == row.code)
        #expect((refusal.allow == "GET") == (row.code == .methodNotAllowed))
    }

    @Test func `is told from requests that do not ask for it`() throws {
        func asks(_ input: String) throws -> Bool { UpgradeRequest.isAsked(by: try #require(parse(input).heads.first)) }
        #expect(try asks(upgrade()))
        #expect(try asks(upgrade(upgrade: nil)))
        #expect(try asks(upgrade(connection: nil, key: nil, version: nil)))
        #expect(try !asks(request()))
        #expect(try !asks(request("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c")))
    }

    @Test func `names what the client offers`() throws {
        let request = try Self.validate(
            upgrade(
                more: "Sec-WebSocket-Protocol: chat, livegate.v1", "sec-websocket-protocol: x",
                "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits"
            )
        ).get()
        #expect(request.protocols.map { text($0) } == ["chat", "livegate.v1", "x"])
        #expect(request.offers("livegate.v1") && !request.offers("Livegate.v1") && !request.offers("livegate"))
        #expect(request.extensions.map { text($0) } == ["permessage-deflate; client_max_window_bits"])
    }

    @Test func `is answered with 101`() {
        #expect(text(WebSocketKey.acceptInput("abc".utf8)) == "abc258EAFA5-E914-47DA-95CA-C5AB0DC85B11")
        #expect(
            text(UpgradeResponse.serialized(accept: "A=", subprotocol: "livegate.v1", extensions: "permessage-deflate"))
                == """
                HTTP/1.1 101 Switching Protocols\r
                Upgrade: websocket\r
                Connection: Upgrade\r
                Sec-WebSocket-Accept: A=\r
                Sec-WebSocket-Protocol: livegate.v1\r
                Sec-WebSocket-Extensions: permessage-deflate\r
                \r

                """)
    }
}

@Suite struct `Query parameters` {
    @Test func `are decoded, and doubles and broken ones stay visible`() {
        let query = QueryParameters("a=1&b=%C3%bc+&%61%62=x%3D%26&c&&d=1&d=1&e=%4&f=%zz&%q=1&g=%&h=a=b")
        #expect(query["a"] == .one(Array("1".utf8)))
        #expect(query["b"] == .one(Array("\u{FC}+".utf8)))
        #expect(query["ab"] == .one(Array("x=&".utf8)))
        #expect(query["c"] == .one([]))
        #expect(query["d"] == .repeated)
        #expect(query["e"] == .malformed && query["f"] == .malformed && query["g"] == .malformed)
        #expect(query["h"] == .one(Array("a=b".utf8)))
        #expect(query["i"] == .absent && query[""] == .absent)
        #expect(query.names.count == 10)
    }

    @Test func `of nothing are none`() {
        #expect(QueryParameters(nil).names.isEmpty && QueryParameters("").names.isEmpty)
    }
}
