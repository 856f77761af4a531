// Tests: OpeningHandshake.swift, OriginCredentials.swift

import HTTP
import TLS
import Testing
import WebSocket

@testable import LiveClient
@testable import LiveClientReactor

@Suite struct `The opening handshake of a client` {
    static let key = "dGhlIHNhbXBsZSBub25jZQ=="
    static let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    static let good =
        "HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: \(accept)\r\n"

    static func handshake(deflate: DeflateOffer? = nil) -> OpeningHandshake {
        var offer = UpgradeOffer(target: "/", host: "a", key: key)
        offer.protocols = ["livegate.v1"]
        offer.extensions = deflate?.text
        return OpeningHandshake(offer, deflate: deflate, maximumBodyBytes: 8)
    }

    /// The first progress that is not `needMore`, for an answer that comes in two pieces.
    static func progress(
        _ answer: String, cut: Int, deflate: DeflateOffer? = nil
    ) -> (progress: OpeningHandshake.Progress, atByte: Int) {
        var handshake = handshake(deflate: deflate)
        let bytes = Array(answer.utf8)
        let first = handshake.receive(Array(bytes[..<cut]).span)
        if first != .needMore { return (first, 0) }
        return (handshake.receive(Array(bytes[cut...]).span), cut)
    }

    @Test func `opens for every cut, and leaves the frames behind it alone`() {
        let answer = Self.good + "Sec-WebSocket-Protocol: livegate.v1\r\n\r\n"
        for cut in 0...(answer.utf8.count + 2) {
            let (progress, start) = Self.progress(answer + "ab", cut: cut)
            guard case .open(let opening, let consumed) = progress else {
                Issue.record("\(progress)")
                return
            }
            #expect(opening.subprotocol == "livegate.v1" && opening.deflate == nil)
            #expect(start + consumed == answer.utf8.count)
        }
    }

    @Test func `agrees on compression`() {
        let answer = Self.good + "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover\r\n\r\n"
        guard case .open(let opening, _) = Self.progress(answer, cut: 0, deflate: DeflateOffer()).progress else {
            Issue.record("not open")
            return
        }
        #expect(opening.deflate?.serverContextTakeover == false)
        #expect(Self.progress(answer, cut: 0).progress == .failed(.badUpgrade(.extensionsNotOffered)))
        let wrong = Self.good + "Sec-WebSocket-Extensions: permessage-bzip\r\n\r\n"
        #expect(Self.progress(wrong, cut: 0, deflate: DeflateOffer()).progress == .failed(.badExtensions))
    }

    @Test func `fails where the answer does not fit`() {
        let wrong = Self.good.replacing(Self.accept, with: "AAAA") + "\r\n"
        #expect(Self.progress(wrong, cut: 9).progress == .failed(.badUpgrade(.acceptWrong)))
        #expect(Self.progress("SSH-2.0\r\n", cut: 3).progress == .failed(.badAnswer(.notHTTP)))
    }

    @Test func `keeps status and body of a refusal`() {
        let answer = "HTTP/1.1 403 No\r\nContent-Length: 4\r\nRetry-After: 7\r\n\r\nbody"
        for cut in 0...answer.utf8.count {
            guard case .refused(let refused) = Self.progress(answer, cut: cut).progress else {
                Issue.record("not refused")
                return
            }
            #expect(refused.status == 403 && refused.body == Array("body".utf8) && !refused.isTruncated)
            #expect(refused.retryAfterMilliseconds == 7000)
        }
    }

    @Test func `cuts the body of a refusal at the limit`() {
        func refused(_ body: String) -> ServerAnswer? {
            let answer = "HTTP/1.1 500 No\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
            guard case .refused(let refused) = Self.progress(answer, cut: 0).progress else { return nil }
            return refused
        }
        #expect(refused("12345678")?.isTruncated == false)
        #expect(refused("123456789")?.isTruncated == true)
        #expect(refused("123456789")?.body == Array("12345678".utf8))
    }

    @Test func `has what came of a refusal when the time is up`() {
        var handshake = Self.handshake()
        #expect(handshake.receive(Array("HTTP/1.1 500 No\r\n".utf8).span) == .needMore)
        #expect(handshake.refused == nil)
        #expect(handshake.receive(Array("\r\nhalf".utf8).span) == .needMore)
        #expect(handshake.refused?.body == Array("half".utf8))
    }

    @Test func `tells the status of a refusal whose body has no sure end`() {
        let answer = "HTTP/1.1 502 No\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"
        guard case .refused(let refused) = Self.progress(answer, cut: 0).progress else {
            Issue.record("not refused")
            return
        }
        #expect(refused.status == 502 && refused.body.isEmpty)
    }

    @Test func `makes keys of 16 bytes that differ`() {
        let key = OpeningHandshake.makeKey()
        #expect(WebSocketKey.isValid(Array(key.utf8)[...]))
        #expect(key != OpeningHandshake.makeKey())
    }
}

@Suite struct `Redirects` {
    @Test func `are followed up to the limit`() throws {
        var path = RedirectPath(try WebSocketURL("ws://a/x"))
        try path.follow(Array("/y".utf8), maximum: 2)
        #expect(path.current.description == "ws://a/y" && path.isSameOrigin)
        try path.follow(Array("http://b/".utf8), maximum: 2)
        #expect(path.current.description == "ws://b/" && !path.isSameOrigin)
        #expect(throws: RedirectPath.Problem.tooMany(limit: 2)) { try path.follow(Array("/z".utf8), maximum: 2) }
        #expect(throws: RedirectPath.Problem.tooMany(limit: 0)) { try path.follow(Array("/z".utf8), maximum: 0) }
    }

    @Test func `may lead back to where credentials belong`() throws {
        var path = RedirectPath(try WebSocketURL("wss://a/x"))
        try path.follow(Array("wss://b/".utf8), maximum: 9)
        try path.follow(Array("https://a:443/y".utf8), maximum: 9)
        #expect(path.isSameOrigin)
        try path.follow(Array("http://a/y".utf8), maximum: 9)
        #expect(!path.isSameOrigin)
    }

    /// An address with a ticket, where its server leads, and whether that is followed.
    static let tickets: [(String, String, Bool)] = [
        ("ws://a/x?ticket=T-1", "/y?ticket=T-1", true), ("ws://a/x?ticket=T-1", "ws://a/y?z=T-1", true),
        ("ws://a/x?ticket=T-1", "ws://b/x", true), ("ws://a/x?ticket=T-1", "ws://b/x?ticket=T-2", true),
        ("ws://a/x?ticket=T-1", "ws://b/x?ticket=T-1", false), ("ws://a/x?ticket=T-1", "wss://a/x?ticket=T-1", false),
        ("ws://a/x?ticket=T-1", "http://b/login?return=http%3A%2F%2Fa%2Fx%3Fticket%3DT%2D1", false),
        ("ws://a/x?ticket=T%2D1", "ws://b/T-1", false), ("ws://a/x?ticket=", "ws://b/x", true),
        ("ws://a/x", "ws://b/x?ticket=T-1", true),
    ]

    @Test(arguments: tickets)
    func `give no ticket to another server`(_ first: String, _ location: String, _ follows: Bool) throws {
        var path = RedirectPath(try WebSocketURL(first))
        do throws(RedirectPath.Problem) {
            try path.follow(Array(location.utf8), maximum: 9)
            #expect(follows)
        } catch {
            #expect(!follows && error == .carriesTicket && path.current == path.first)
        }
    }

    /// A message, and whether it is for the server that was named alone.
    static let messages: [(String, Bool)] = [
        (#"{"token":"t"}"#, true), (#" { "a" : [1], "tok\u0065n" : 1 } "#, true), (#"{"token":"a","token":"b"}"#, true),
        (#"{"type":"token"}"#, false), (#"["token"]"#, false), (#"{"token":"t""#, false), ("hello", false), ("", false),
    ]

    @Test(arguments: messages) func `have messages with a token kept back`(_ message: String, _ isToken: Bool) {
        #expect(OriginCredentials.isCredential(message: Array(message.utf8)) == isToken)
    }

    @Test func `to nowhere are told`() throws {
        var path = RedirectPath(try WebSocketURL("ws://a/x"))
        #expect(throws: RedirectPath.Problem.badLocation(.unknownScheme("ftp"))) {
            try path.follow(Array("ftp://b/".utf8), maximum: 9)
        }
    }
}
