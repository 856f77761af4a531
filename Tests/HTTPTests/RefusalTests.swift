// Tests: RefusalCode.swift

import Testing

@testable import HTTP

@Suite struct `Refusals` {
    static let date = HTTPDate.text(secondsSince1970: 784_111_777)

    @Test func `are a problem document whose members stand in order`() {
        let refusal = Refusal(.tooMany, "Account has \"1000\" connections.", retryAfterSeconds: 7)
        #expect(
            text(refusal.serialized(date: Self.date)) == """
                HTTP/1.1 429 Too Many Requests\r
                Date: Sun, 06 Nov 1994 08:49:37 GMT\r
                Content-Type: application/problem+json\r
                Content-Length: 126\r
                Retry-After: 7\r
                Connection: close\r
                \r
                {"type":"about:blank","title":"Too Many Requests","status":429,"code":"too_many",\
                "detail":"Account has \\"1000\\" connections."}
                """)
    }

    @Test func `of a token say so to the client that stands in between`() {
        let bytes = text(Refusal(.invalidToken, "The token has\n\"expired\" \u{FC}.").serialized(date: nil))
        #expect(
            bytes.contains(
                "\r\nWWW-Authenticate: Bearer error=\"invalid_token\", error_description=\"The token has??expired? ??.\"\r\n"
            ))
        #expect(!bytes.contains("Date:"))
    }

    @Test func `of another version name ours`() {
        let bytes = text(Refusal(.upgradeRequired).serialized(date: nil))
        #expect(bytes.hasPrefix("HTTP/1.1 426 Upgrade Required\r\n"))
        #expect(bytes.contains("\r\nSec-WebSocket-Version: 13\r\nUpgrade: websocket\r\nConnection: Upgrade, close\r\n"))
    }

    @Test func `of a method say which is allowed`() {
        #expect(text(Refusal(.methodNotAllowed, allow: "GET").serialized(date: nil)).contains("\r\nAllow: GET\r\n"))
    }

    @Test(arguments: RefusalCode.allCases) func `stay below 1 KB and close, whatever the detail`(_ code: RefusalCode)
        throws
    {
        for scalar in ["a", "\"", "\u{1}", "\u{2028}", "\u{1F600}"] {
            let refusal = Refusal(
                code, String(repeating: scalar, count: 4000), retryAfterSeconds: 86400, allow: "GET, HEAD",
                members: [.init("why", "expired"), .init("at", String(repeating: "c", count: 120))])
            let bytes = refusal.serialized(date: Self.date)
            #expect(bytes.count <= Refusal.maximumBytes)
            let whole = text(bytes)
            #expect(whole.hasPrefix("HTTP/1.1 \(refusal.status) \(refusal.title)\r\n"))
            let body = try #require(whole.split(separator: "\r\n\r\n").last)
            #expect(whole.contains("\r\nContent-Length: \(body.utf8.count)\r\n"))
            #expect(body.hasPrefix("{\"type\":\"about:blank\",") && body.hasSuffix("\"}"))
            #expect(whole.contains("\r\nConnection: ") == !code.keepsConnection)
        }
    }

    @Test func `have the statuses and codes of the protocol`() {
        let rows = RefusalCode.allCases.map { "\($0.status) \($0.rawValue)" }
        #expect(
            rows == [
                "400 bad_request", "400 bad_upgrade", "400 bad_parameter", "400 bad_cursor", "401 invalid_token",
                "403 forbidden", "404 not_found", "405 method_not_allowed", "408 timeout", "410 resync",
                "414 target_too_long", "426 upgrade_required", "429 too_many", "431 header_too_large",
                "503 not_ready", "503 draining", "503 overloaded", "505 version",
            ])
    }

    @Test func `to HEAD tell the length and send no body`() {
        let bytes = text(Refusal(.notFound).serialized(date: nil, withoutBody: true))
        #expect(bytes.hasSuffix("\r\n\r\n") && !bytes.contains("Content-Length: 0"))
    }

    @Test func `of a plain GET are one sentence`() {
        #expect(
            text(Refusal.plainGet(date: nil)) == """
                HTTP/1.1 400 Bad Request\r
                Content-Type: text/plain; charset=utf-8\r
                Content-Length: 35\r
                Connection: close\r
                \r
                Client did not request a WebSocket.
                """)
    }

    @Test func `carry members of their own between code and detail`() {
        let bytes = text(Refusal(.resync, members: [.init("why", "expired"), .init("at", "c")]).serialized(date: nil))
        #expect(bytes.contains("\"code\":\"resync\",\"why\":\"expired\",\"at\":\"c\",\"detail\":"))
    }
}
