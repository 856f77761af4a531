// Tests: Credential.swift

import HTTP
import TLS
import Testing

@testable import Tokens

/// Which credential a request carries: every combination of the ways.
@Suite struct CredentialTests {
    static let token = "Bearer aaa.bbb.ccc"
    static let offered = "bearer." + Base64.encodeURL(Array("ddd.eee.fff".utf8))

    /// The credential in words, or the code of the refusal.
    private func outcome(
        _ header: [String] = [], protocols: [String] = [], query: String? = nil, cookies: [String] = [],
        cookieName: String? = "session", mayBeUsed: Bool = true
    ) throws -> String {
        let fields = header.map { "Authorization: \($0)\r\n" } + cookies.map { "Cookie: \($0)\r\n" }
        let target = "/live/v1" + (query.map { "?" + $0 } ?? "")
        var parser = RequestParser()
        let text = "GET \(target) HTTP/1.1\r\nHost: h\r\n\(fields.joined())\r\n"
        guard case .head(let head, _) = parser.consume(Array(text.utf8).span) else { return "no head" }
        do throws(Refusal) {
            let credential = try Credential.read(
                head, protocols: protocols.map { Array($0.utf8) }, protocolName: "livegate.v1",
                cookie: cookieName.map { Credential.Cookie($0, mayBeUsed: mayBeUsed) })
            return switch credential {
            case .none: "none"
            case .token(let bytes): "token " + String(decoding: bytes, as: UTF8.self)
            case .ticket(let bytes): "ticket " + String(decoding: bytes, as: UTF8.self)
            }
        } catch {
            return error.code.rawValue
        }
    }

    @Test func `of every combination of ways two that differ in kind are refused, and a cookie is read only alone`()
        throws
    {
        for mask in 0..<16 {
            let (header, subprotocol, ticket, cookie) = (mask & 1 != 0, mask & 2 != 0, mask & 4 != 0, mask & 8 != 0)
            let expected =
                switch (mask & 7).nonzeroBitCount {
                case 0: cookie ? "token ggg" : "none"
                case 1: header ? "token aaa.bbb.ccc" : subprotocol ? "token ddd.eee.fff" : "ticket T"
                default: "bad_request"
                }
            let found = try outcome(
                header ? [Self.token] : [], protocols: subprotocol ? ["livegate.v1", Self.offered] : ["livegate.v1"],
                query: ticket ? "with=at&ticket=T" : "with=at", cookies: cookie ? ["a=1; session=ggg"] : [])
            #expect(found == expected, "header \(header) subprotocol \(subprotocol) ticket \(ticket) cookie \(cookie)")
        }
    }

    @Test(arguments: [
        (["livegate.v1", offered], "token ddd.eee.fff"), ([offered, "livegate.v1"], "token ddd.eee.fff"),
        (["chat", "livegate.v1", "bearer", offered], "token ddd.eee.fff"),
        (["livegate.v1"], "none"), (["chat"], "none"), (["bearer"], "none"), (["Bearer.YQ"], "none"), ([], "none"),
        ([offered], "bad_upgrade"), ([offered, "livegate.v2"], "bad_upgrade"),
        ([offered, "LIVEGATE.V1"], "bad_upgrade"),
        (["livegate.v1", offered, offered], "bad_upgrade"), (["livegate.v1", "bearer.YQ", "bearer.Yg"], "bad_upgrade"),
        (["livegate.v1", "bearer."], "invalid_token"), (["livegate.v1", "bearer.YQ=="], "invalid_token"),
        (["livegate.v1", "bearer.YR"], "invalid_token"), (["livegate.v1", "bearer.Y"], "invalid_token"),
        (["livegate.v1", "bearer.Y+8"], "invalid_token"), (["livegate.v1", "bearer.a.b"], "invalid_token"),
        (["livegate.v1", "bearer.YQ"], "token a"),
    ])
    func `a subprotocol brings a token in base64url beside ours`(_ protocols: [String], _ expected: String) throws {
        #expect(try outcome(protocols: protocols) == expected)
    }

    @Test(arguments: [
        ("ticket=T", "ticket T"), ("ticket=", "ticket "), ("ticket", "ticket "), ("ticket=%41", "ticket A"),
        ("ticket=%", "ticket "), ("Ticket=T", "none"), ("tickets=T", "none"), ("x=ticket", "none"),
        ("ticket=T&ticket=T", "bad_parameter"), ("ticket=T&ticket=", "bad_parameter"),
    ])
    func `a ticket stands in the query, once`(_ query: String, _ expected: String) throws {
        #expect(try outcome(query: query) == expected)
    }

    @Test func `a cookie counts only from a page of the list, is whole, and only if the settings name it`() throws {
        #expect(try outcome(cookies: ["session=t"]) == "token t")
        #expect(try outcome(cookies: ["session=\"t\""]) == "token t")
        #expect(try outcome(cookies: ["session=t"], mayBeUsed: false) == "forbidden")
        #expect(try outcome(cookies: ["session=a; session=b"]) == "bad_request")
        #expect(try outcome(cookies: ["session=a", "session=b"]) == "bad_request")
        #expect(try outcome(cookies: ["other=t"], mayBeUsed: false) == "none")
        #expect(try outcome(cookies: ["session=t"], cookieName: nil) == "none")
        // Browsers add cookies by themselves: beside another credential nobody looks at one.
        #expect(try outcome([Self.token], cookies: ["session=a; session=b"], mayBeUsed: false) == "token aaa.bbb.ccc")
    }

    @Test func `a header is judged by itself, and stands in the way of others even when it is bad`() throws {
        #expect(try outcome([Self.token, Self.token]) == "invalid_token")
        #expect(try outcome(["Basic YTpi"]) == "invalid_token")
        #expect(try outcome([""], cookies: ["session=t"]) == "invalid_token")
        #expect(try outcome(["Basic YTpi"], query: "ticket=T") == "bad_request")
        #expect(try outcome([Self.token], protocols: [Self.offered]) == "bad_request")
    }
}
