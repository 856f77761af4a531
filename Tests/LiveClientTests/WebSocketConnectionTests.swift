// Tests: ClientConnection+Events.swift, ClientConnection+Messages.swift, ClientConnection+Transport.swift,
//   ClientConnection.swift, ConnectionSettings.swift

import HTTP
import Reactor
import TestHarness
import Testing
import WebSocket

@testable import LiveClient
@testable import LiveClientReactor

@Suite struct `A client's connection` {
    static func settings(_ server: ScriptedServer, _ target: String = "/live/v1") throws -> ConnectionSettings {
        ConnectionSettings(url: try WebSocketURL("ws://127.0.0.1:\(server.port)\(target)"))
    }

    /// The frames of a server: unmasked, short.
    static func frame(_ first: UInt8, _ payload: String) -> [UInt8] {
        [first, UInt8(payload.utf8.count)] + Array(payload.utf8)
    }

    static func close(_ code: UInt16, _ reason: String = "") -> [UInt8] {
        [0x88, UInt8(2 + reason.utf8.count), UInt8(code >> 8), UInt8(code & 0xFF)] + Array(reason.utf8)
    }

    @Test func `opens, receives and is closed by the server`() async throws {
        let server = try ScriptedServer([
            .awaitHead, .upgrade(["Sec-WebSocket-Protocol: livegate.v1"]), .send(Self.frame(0x81, "one")),
            .send(Self.frame(0x82, "two")), .send(Self.frame(0x89, "p")), .send(Self.frame(0x8A, "q")),
            .send(Self.close(1001, "server stops")), .awaitBytes(7 + 8), .close,
        ])
        var settings = try Self.settings(server, "/live/v1?x=1")
        settings.protocols = ["livegate.v1"]
        settings.headers = [("Authorization", "Bearer t")]
        let told = try await Recorder(settings).all()
        #expect(
            told == [
                .opened("livegate.v1"), .text("one"), .message(.binary, Array("two".utf8)), .ping([0x70]),
                .pong([0x71], isOurs: false), .ended(.closed(.goingAway, reason: "server stops")),
            ])
        let head = String(decoding: server.received[0], as: UTF8.self)
        #expect(head.hasPrefix("GET /live/v1?x=1 HTTP/1.1\r\nHost: 127.0.0.1:\(server.port)\r\n"))
        #expect(head.contains("\r\nSec-WebSocket-Protocol: livegate.v1\r\nAuthorization: Bearer t\r\n"))
        // A masked pong and a masked close.
        #expect(server.received[1][0] == 0x8A && server.received[1][1] == 0x81)
    }

    @Test func `takes frames that came with the answer, and answers however the bytes are cut`() async throws {
        let server = try ScriptedServer([.awaitHead, .upgrade(), .send(Self.frame(0x81, "one")), .close])
        let told = try await Recorder(Self.settings(server)).all()
        #expect(told == [.opened(nil), .text("one"), .ended(.cut("the server closed the connection"))])
    }

    @Test func `closes by itself`() async throws {
        let server = try ScriptedServer([
            .awaitHead, .upgrade(), .awaitBytes(6 + 5), .awaitBytes(6 + 2 + 4), .send(Self.close(1000)), .close,
        ])
        let recorder = try Recorder(Self.settings(server)) { connection, told in
            guard case .opened = told else { return }
            #expect(connection.send(.text, Array("hello".utf8)))
            connection.close(.normal, reason: "done")
            #expect(!connection.send(.text, []))
        }
        #expect(await recorder.ending() == .closed(.normal, reason: ""))
    }

    @Test func `waits only so long for the answer to its close`() async throws {
        let server = try ScriptedServer([.awaitHead, .upgrade(), .silence])
        var settings = try Self.settings(server)
        settings.limits.closeMilliseconds = 50
        let recorder = try Recorder(settings) { connection, told in
            if case .opened = told { connection.close() }
        }
        #expect(await recorder.ending() == .closeUnanswered)
    }

    @Test func `waits only so long for the server to close after the exchange`() async throws {
        let server = try ScriptedServer([.awaitHead, .upgrade(), .send(Self.close(4401, "token expired")), .silence])
        var settings = try Self.settings(server)
        settings.limits.lingerMilliseconds = 20
        #expect(try await Recorder(settings).ending() == .closed(.tokenExpired, reason: "token expired"))
    }

    @Test func `fails a server that masks, and one that sends too much`() async throws {
        let masked = try ScriptedServer([.awaitHead, .upgrade(), .send([0x81, 0x81, 0, 0, 0, 0, 0x61]), .silence])
        #expect(try await Recorder(Self.settings(masked)).ending() == .broken(.maskedFrame))
        let large = try ScriptedServer([.awaitHead, .upgrade(), .send([0x82, 126, 0, 126]), .silence])
        var settings = try Self.settings(large)
        settings.limits.maximumMessageBytes = 125
        #expect(try await Recorder(settings).ending() == .broken(.messageTooLarge(bytes: 126, limit: 125)))
    }

    @Test(arguments: [
        ("HTTP/1.1 401 No\r\nContent-Length: 4\r\n\r\nbody", "body"),
        ("HTTP/1.0 401 No\r\n\r\nuntil the end", "until the end"),
        ("HTTP/1.1 401 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", "ab"),
        ("HTTP/1.1 401 No\r\nContent-Length: 9\r\n\r\nhalf", "half"),
    ]) func `tells a refusal`(_ answer: String, _ body: String) async throws {
        let server = try ScriptedServer([.awaitHead, .send(answer), .close])
        guard case .refused(let refused) = try await Recorder(Self.settings(server)).ending() else {
            Issue.record("not refused")
            return
        }
        #expect(refused.status == 401 && String(decoding: refused.body, as: UTF8.self) == body)
    }

    @Test func `gives what came of a refusal when the time is up`() async throws {
        let server = try ScriptedServer([
            .awaitHead, .send("HTTP/1.1 503 No\r\nContent-Length: 9\r\n\r\nhalf"), .silence,
        ])
        var settings = try Self.settings(server)
        settings.limits.connectMilliseconds = 600_000
        let recorder = try Recorder(settings)
        let hasCome = try await eventually {
            let body = Shared<[UInt8]?>(nil)
            recorder.perform { connection in
                guard case .shakingHands(let handshake) = connection.phase else { return }
                body.update { $0 = handshake.refused?.body }
            }
            return body.value == Array("half".utf8)
        }
        #expect(hasCome)
        recorder.perform { $0.connectIsLate() }
        guard case .refused(let refused) = await recorder.ending() else {
            Issue.record("not refused")
            return
        }
        #expect(refused.status == 503 && refused.body == Array("half".utf8))
    }

    @Test func `gives up when no answer comes in time, however slowly it trickles`() async throws {
        for script: [Step] in [
            [.silence], [.awaitHead, .send("HTTP/1.1 101 S\r\n"), .silence],
            [.awaitHead, .send("HTTP/1.1 101 S"), .trickle(UInt8(ascii: "s"))],
        ] {
            let server = try ScriptedServer(script)
            var settings = try Self.settings(server)
            settings.limits.connectMilliseconds = 50
            #expect(try await Recorder(settings).ending() == .notConnected(.deadline(milliseconds: 50)))
        }
    }

    @Test func `fails where nobody speaks HTTP, or WebSocket`() async throws {
        let other = try ScriptedServer([.send("SSH-2.0-OpenSSH_9.2\r\n"), .silence])
        #expect(try await Recorder(Self.settings(other)).ending() == .notConnected(.badAnswer(.notHTTP)))
        let wrong = try ScriptedServer([
            .awaitHead,
            .send("HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: a\r\n\r\n"),
            .silence,
        ])
        #expect(try await Recorder(Self.settings(wrong)).ending() == .notConnected(.badUpgrade(.acceptWrong)))
        let cut = try ScriptedServer([.awaitHead, .close])
        guard case .notConnected(.cut) = try await Recorder(Self.settings(cut)).ending() else {
            Issue.record("not cut")
            return
        }
    }

    @Test func `fails where nobody listens`() async throws {
        var settings = ConnectionSettings(url: try WebSocketURL("ws+unix:/tmp/no/such/socket:/"))
        guard case .notConnected(.network(let text)) = try await Recorder(settings).ending() else {
            Issue.record("connected")
            return
        }
        #expect(text.contains("No such file"))
        settings = ConnectionSettings(url: try WebSocketURL("ws://name.invalid/"))
        settings.limits.connectMilliseconds = 50_000
        guard case .notConnected(.network) = try await Recorder(settings).ending() else {
            Issue.record("connected")
            return
        }
    }

    @Test func `pings, and tells what came back`() async throws {
        let server = try ScriptedServer([
            .awaitHead, .upgrade(), .awaitBytes(7), .send(Self.frame(0x8A, "1")), .awaitBytes(7),
            .send(Self.frame(0x8A, "2")),
            .send(Self.close(1000)), .silence,
        ])
        var settings = try Self.settings(server)
        settings.pingMilliseconds = 5
        settings.limits.lingerMilliseconds = 5
        let told = try await Recorder(settings).all()
        #expect(told.contains(.pong([0x31], isOurs: true)) && told.contains(.pong([0x32], isOurs: true)))
    }

    @Test func `is lost when no pong comes`() async throws {
        let server = try ScriptedServer([.awaitHead, .upgrade(), .silence])
        var settings = try Self.settings(server)
        settings.pingMilliseconds = 5
        settings.limits.pongMilliseconds = 50
        #expect(try await Recorder(settings).ending() == .noPong)
    }

    @Test func `can be dropped at any time`() async throws {
        let server = try ScriptedServer([.awaitHead, .upgrade(), .silence])
        let early = try Recorder(Self.settings(server))
        early.perform { $0.abort() }
        #expect(await early.ending() == .aborted)
        let late = try Recorder(Self.settings(server)) { connection, told in
            if case .opened = told { connection.abort() }
        }
        #expect(await late.ending() == .aborted)
    }

    @Test func `goes through a proxy`() async throws {
        let proxy = try ScriptedServer([
            .awaitHead, .send("HTTP/1.1 200 Connection established\r\n\r\n"), .awaitHead, .upgrade(),
            .send(Self.frame(0x81, "one")), .close,
        ])
        var settings = ConnectionSettings(url: try WebSocketURL("ws://[::1]/x"))
        settings.proxy = try ProxyServer("u:p%40@127.0.0.1:\(proxy.port)")
        let told = try await Recorder(settings).all()
        #expect(told.prefix(2) == [.opened(nil), .text("one")])
        #expect(
            String(decoding: proxy.received[0], as: UTF8.self)
                == "CONNECT [::1]:80 HTTP/1.1\r\nHost: [::1]:80\r\nProxy-Authorization: Basic dTpwQA==\r\n\r\n")
        #expect(String(decoding: proxy.received[1], as: UTF8.self).hasPrefix("GET /x HTTP/1.1\r\nHost: [::1]\r\n"))
    }

    @Test func `tells what a proxy refuses`() async throws {
        let proxy = try ScriptedServer([
            .awaitHead, .send("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"), .silence,
        ])
        var settings = ConnectionSettings(url: try WebSocketURL("ws://a/x"))
        settings.proxy = try ProxyServer("http://127.0.0.1:\(proxy.port)")
        #expect(
            try await Recorder(settings).ending()
                == .notConnected(.proxyRefused(status: 407, reason: "Proxy Authentication Required")))
    }

    @Test func `agrees on compression where it was offered`() async throws {
        let server = try ScriptedServer([
            .awaitHead, .upgrade(["Sec-WebSocket-Extensions: permessage-deflate"]),
            // RFC 7692 §7.2.3.1: "Hello".
            .send([0xC1, 0x07, 0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]), .send(Self.close(1000)), .silence,
        ])
        var settings = try Self.settings(server)
        settings.deflate = DeflateOffer()
        settings.limits.lingerMilliseconds = 5
        #expect(try await Recorder(settings).all().contains(.text("Hello")))
    }
}
