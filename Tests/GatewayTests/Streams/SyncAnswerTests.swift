// Tests: HTTP/Response.swift

import HTTP
import LiveUpdates
import Testing

@testable import Gateway

struct SyncAnswerTests {
    static let at = Array("AZaz09-_".utf8)

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test func `a page may not be kept, and the connection goes on unless the client ends it`() {
        let body = SyncPage().finished(at: Self.at, more: false)
        #expect(text(body) == #"{"events":[],"at":"AZaz09-_","more":false}"#)
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 42\r\nCache-Control: no-store\r\n"
        #expect(text(SyncAnswer.head(of: body, date: nil, keepsAlive: true)) == head + "\r\n")
        #expect(text(SyncAnswer.head(of: body, date: nil, keepsAlive: false)) == head + "Connection: close\r\n\r\n")
    }

    @Test(arguments: [ResyncReason.epoch, .expired, .ahead]) func `a resync is 410 with a fresh cursor`(
        _ why: ResyncReason
    ) {
        let refusal = SyncAnswer.refusal(of: why, fresh: Self.at)
        let answer = text(SyncAnswer.refused(refusal, date: nil, keepsAlive: true))
        #expect(answer.hasPrefix("HTTP/1.1 410 Gone\r\nContent-Type: application/problem+json\r\n"))
        #expect(
            answer.contains(
                "\r\n\r\n{\"type\":\"about:blank\",\"title\":\"Gone\",\"status\":410,\"code\":\"resync\","
                    + "\"why\":\"\(why.rawValue)\",\"at\":\"AZaz09-_\",\"detail\":\"\(refusal.detail)\"}"))
        #expect(answer.contains("\r\nCache-Control: no-store\r\n") && !answer.contains("Connection:"))
    }

    @Test func `a cursor that cannot be read is 400 without another one`() {
        let refusal = SyncAnswer.refusal(of: .invalid, fresh: Self.at)
        #expect(refusal == Refusal(.badCursor))
        let answer = text(SyncAnswer.refused(refusal, date: nil, keepsAlive: true))
        #expect(answer.contains("\r\nCache-Control: no-store\r\n") && !answer.contains("Connection:"))
        #expect(!answer.contains("AZaz09-_"))
    }

    @Test func `every refusal may not be kept, and only two leave the connection open`() {
        for code in RefusalCode.allCases {
            let refusal = Refusal(code, retryAfterSeconds: 5)
            for keepsAlive in [true, false] {
                let answer = text(SyncAnswer.refused(refusal, date: nil, keepsAlive: keepsAlive))
                let isOpen = keepsAlive && (code == .badCursor || code == .resync)
                #expect(answer.contains("\r\nCache-Control: no-store\r\n"), "\(code)")
                #expect(answer.contains("close\r\n") != isOpen, "\(code)")
            }
        }
    }

    @Test func `a client says in its version and fields whether it would go on`() throws {
        let rows: [(String, String, Bool)] = [
            ("HTTP/1.1", "", true), ("HTTP/1.1", "Connection: close\r\n", false),
            ("HTTP/1.1", "Connection: x, Close\r\n", false), ("HTTP/1.0", "", false),
            ("HTTP/1.0", "Connection: keep-alive\r\n", false),
        ]
        for (version, fields, keepsAlive) in rows {
            let head = try requestHead("/sync/v1", fields, version: version)
            #expect(SyncAnswer.keepsAlive(head) == keepsAlive, "\(version) \(fields)")
        }
    }
}
