// Tests: Ending.swift

import HTTP
import Options
import Testing
import WebSocket

@testable import LiveClient
@testable import LiveClientReactor
@testable import livecat

@Suite struct `The end of a connection` {
    private static func closed(_ code: UInt16, _ reason: String = "") -> ConnectionEnding {
        .closed(CloseCode(rawValue: code), reason: reason)
    }

    private static func refused(_ status: Int, _ reason: String, _ body: String, isCut: Bool = false)
        -> ConnectionEnding
    {
        .refused(
            ServerAnswer(
                status: status, reason: Array(reason.utf8), headers: HeaderFields(), body: Array(body.utf8),
                isTruncated: isCut))
    }

    @Test(arguments: [1000, 1001]) func `is a success after a clean close`(_ code: UInt16) {
        let ending = Self.closed(code, "bye")
        #expect(ending.status == .success)
        #expect(
            ending.notices(isOwn: false, isTerse: false).map(\.text) == [
                "disconnected (code: \(code), reason: \"bye\")"
            ])
        #expect(ending.notices(isOwn: false, isTerse: false).map(\.tone) == [.control])
        #expect(ending.notices(isOwn: false, isTerse: true).isEmpty)
    }

    @Test(arguments: [1002, 1003, 1005, 1007, 1008, 1009, 1011, 1012, 1013, 3000, 4401, 4403, 4999])
    func `is a loss after any other close, which is told with its code`(_ code: UInt16) {
        let ending = Self.closed(code, "why\u{FC}\u{7}")
        #expect(ending.status == .lost)
        for isTerse in [false, true] {
            let notices = ending.notices(isOwn: false, isTerse: isTerse)
            #expect(notices.map(\.text) == ["disconnected (code: \(code), reason: \"why\u{FC}\\u{7}\")"])
            #expect(notices.map(\.tone) == [.error])
        }
        #expect(ending.notices(isOwn: true, isTerse: false).map(\.tone) == [.control])
    }

    /// An end without a close frame of the server, and what is told of it.
    static let losses: [(ConnectionEnding, UInt16, String)] = [
        (
            .cut("the server closed the connection"), 1006,
            "connection lost (code: 1006): the server closed the connection"
        ),
        (.noPong, 1006, "no pong within 10 s"), (.closeUnanswered, 1006, "no answer to the close within 5 s"),
        (.aborted, 1006, "dropped"), (.broken(.maskedFrame), 1002, "code: 1002"),
        (.broken(.messageTooLarge(bytes: 126, limit: 125)), 1009, "code: 1009"),
    ]

    @Test(arguments: losses.indices) func `is a loss without a close`(_ row: Int) throws {
        let (ending, code, told) = Self.losses[row]
        let notice = try #require(ending.notices(isOwn: false, isTerse: true).first)
        #expect(ending.status == .lost && ending.closeCodeAndReason?.code.rawValue == code && !ending.isBeforeOpening)
        #expect(notice.text.hasPrefix("error: ") && notice.text.contains(told) && notice.tone == .error, "\(notice)")
    }

    @Test(arguments: [
        (200, "OK"), (400, "Bad Request"), (401, "Unauthorized"), (404, "Not Found"), (503, "Busy"),
    ]) func `is a refusal with another status than 101`(_ status: Int, _ reason: String) {
        let ending = Self.refused(status, reason, #"{"detail":"why\u001b"}"#)
        #expect(ending.status == .refused && ending.isBeforeOpening && ending.closeCodeAndReason == nil)
        #expect(
            ending.explanation == [
                "error: unexpected server response: \(status) \(reason)", #"{"detail":"why\u001b"}"#,
            ])
    }

    @Test func `tells a refusal's words so that they steer no terminal`() {
        #expect(
            Self.refused(500, "No\u{9B}", "\u{1B}[2J", isCut: true).explanation
                == ["error: unexpected server response: 500 No\\u{9b}", "\\u{1b}[2J…"])
        #expect(Self.refused(500, "", "").explanation == ["error: unexpected server response: 500"])
    }

    /// Why there is no connection, and what is told of it.
    static let failures: [(ConnectFailure, String)] = [
        (.network("connection refused"), "connection refused"), (.tls("the certificate has expired"), "expired"),
        (.proxyRefused(status: 407, reason: "Proxy Authentication Required"), "the proxy answered 407"),
        (.deadline(milliseconds: 10_000), "within 10 s"), (.badAnswer(.notHTTP), "not HTTP"),
        (.badUpgrade(.acceptWrong), "Sec-WebSocket-Accept"), (.badUpgrade(.extensionsNotOffered), "extensions"),
        (.credentials("still the one that has expired"), "still the one that has expired"),
        (.secureProxyForSecureServer, "not supported"), (.cut("half"), "half"),
    ]

    @Test(arguments: failures.indices) func `is told where there was no connection`(_ row: Int) throws {
        let (failure, told) = Self.failures[row]
        let ending = ConnectionEnding.notConnected(failure)
        #expect(ending.status == .notConnected && ending.isBeforeOpening)
        let notice = try #require(ending.notices(isOwn: false, isTerse: true).first)
        #expect(notice.text.hasPrefix("error: ") && notice.text.contains(told) && notice.tone == .error, "\(notice)")
    }
}
