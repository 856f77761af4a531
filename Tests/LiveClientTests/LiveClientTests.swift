// Tests: LiveClientConfiguration.swift, LiveClientError.swift, LiveHandle.swift, LiveReaders.swift, ClientSession.swift, ClientLoop.swift,
//   ClientSession+Channel.swift, LiveTransport.swift, LiveUpdate.swift, PersistentConnection.swift, StateBroadcast.swift,
//   LiveTokens.swift, UpdateBuffer.swift

import HTTP
import Synchronization
import TestHarness
import Testing

@testable import LiveClient
@testable import LiveClientReactor

@Suite struct `The client of an application` {
    static let event = #"{"ent":"incident","id":"P1","type":"created"}"#

    static func frame(_ text: String) -> Step { .send([0x81, UInt8(text.utf8.count)] + Array(text.utf8)) }

    static func close(_ code: UInt16, _ reason: String = "") -> Step {
        .send([0x88, UInt8(2 + reason.utf8.count), UInt8(code >> 8), UInt8(code & 0xFF)] + Array(reason.utf8))
    }

    /// A server that says that it is done, and closes.
    static let done: Step = {
        let bye = #"{"bye":{"code":1000,"why":"done"}}"#
        return .send([0x81, UInt8(bye.utf8.count)] + Array(bye.utf8) + [0x88, 2, 0x03, 0xE8])
    }()

    static func client(
        _ server: ScriptedServer, token: @escaping @Sendable () async throws -> String = { "t" }
    ) throws -> LiveClient {
        try LiveClient(LiveClientConfiguration(url: "ws://127.0.0.1:\(server.port)/live/v1"), token: token)
    }

    /// Everything until the end, of which the client is expected to be the one that decides.
    static func all(_ client: LiveClient) async -> (updates: [LiveUpdate], error: LiveClientError?) {
        let deadline = alarm {
            Issue.record("the updates did not end in time")
            await client.close()
        }
        defer { deadline.cancel() }
        var updates: [LiveUpdate] = []
        do {
            for try await update in client.updates { updates.append(update) }
            return (updates, nil)
        } catch {
            return (updates, error as? LiveClientError)
        }
    }

    static let incident = LiveUpdate.event(LiveEvent(entity: "incident", id: "P1", type: "created"))

    @Test func `gives events, and passes over what it does not know`() async throws {
        let server = try ScriptedServer([
            .awaitHead, .upgrade(["Sec-WebSocket-Protocol: livegate.v1"]), Self.frame(Self.event), Self.frame("{}"),
            Self.frame(#"{"bye":{"code":1}}"#), Self.frame(#"{"news":{}}"#), Self.frame("[1]"), Self.frame("no"),
            Self.frame(#"{"ent":"a","id":"b","type":"c","at":"x"}"#), Self.frame(#"{"ent":"a","id":1,"type":"c"}"#),
            Self.done, .awaitBytes(8), .close,
        ])
        let (updates, error) = await Self.all(try Self.client(server))
        #expect(
            updates == [
                .connected, .resync(.start, nil), Self.incident, .event(LiveEvent(entity: "a", id: "b", type: "c")),
            ])
        #expect(updates.last?.cursor == LiveCursor("x"))
        #expect(error == nil)
        let head = String(decoding: server.received[0], as: UTF8.self)
        #expect(
            head.contains("\r\nAuthorization: Bearer t\r\n") && head.contains("Sec-WebSocket-Protocol: livegate.v1"))
    }

    @Test(arguments: [Int.min, -1, 0, 1])
    func `a buffer that leaves room for nothing leaves room for one`(_ maximum: Int) async throws {
        let server = try ScriptedServer([
            .awaitHead, .upgrade(), Self.frame(Self.event), Self.frame(Self.event), Self.frame(Self.event),
            Self.done, .awaitBytes(8), .close,
        ])
        var configuration = LiveClientConfiguration(url: "ws://127.0.0.1:\(server.port)/live/v1")
        configuration.maximumBufferedUpdates = maximum
        let (updates, error) = await Self.all(try LiveClient(configuration) { "t" })
        #expect(updates.filter { $0 == Self.incident }.count == 3 && error == nil)
    }

    @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.min), .zero, .milliseconds(1)])
    func `no duration of a setting is too long or too short`(_ duration: Duration) throws {
        var configuration = LiveClientConfiguration(url: "ws://127.0.0.1:1/live/v1")
        (configuration.pollInterval, configuration.beat) = (duration, duration)
        let century: Milliseconds = 100 * 365 * 86_400_000
        let isLong = duration > .seconds(1)
        #expect(configuration.machine().pollInterval == (isLong ? century : 1_000))
        #expect(try configuration.request().pingMilliseconds == (isLong ? UInt64(century) : 1))
        // Nothing of it stops the machine either.
        var machine = ConnectionMachine(configuration.machine())
        for input: ConnectionMachine.Input in [
            .start, .token(request: 1, isSame: false), .opened(id: 1), .alive(id: 1),
        ] { _ = machine.handle(input, at: 1_000) }
        #expect(machine.view.state == .connected && (machine.wakeAt ?? 0) > 1_000)
    }

    @Test func `two clients wait for different times`() async throws {
        let configuration = LiveClientConfiguration(url: "ws://127.0.0.1:1/live/v1")
        #expect(configuration.machine().seed != configuration.machine().seed)
        struct API: ScreensAPI {
            func reload(_ thing: Thing) async throws -> FoundThing<Int> { .gone }
            func page(of list: String, _ request: PageRequest) async throws -> ListPage<Int> {
                ListPage(items: [], isLast: true)
            }
        }
        let one = await LiveScreens(API()).settings
        let other = await LiveScreens(API()).settings
        #expect(one.lists.seed != other.lists.seed && one.fetches.seed != other.fetches.seed)
        #expect(UpdateMachine.Settings().drawn().seed != UpdateMachine.Settings().drawn().seed)
    }

    @Test func `comes back with a new token when the old one has expired`() async throws {
        let server = try ScriptedServer(
            [.awaitHead, .upgrade(), Self.close(4401, "token expired"), .awaitBytes(8), .close],
            [.awaitHead, .send("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n"), .close])
        let asked = Mutex(0)
        let client = try Self.client(server) {
            asked.withLock {
                $0 += 1
                return "t\($0)"
            }
        }
        let (updates, error) = await Self.all(client)
        #expect(
            updates == [
                .connected, .resync(.start, nil),
                .disconnected(reason: "the server closed with code 4401: token expired", retry: .zero),
            ])
        #expect(error == .unauthorized)
        #expect(String(decoding: server.received.last ?? [], as: UTF8.self).contains("Bearer t2\r\n"))
    }

    @Test func `does not show a token again that has expired`() async throws {
        let server = try ScriptedServer(
            [.awaitHead, .upgrade(), Self.close(4401, "token expired"), .awaitBytes(8), .close],
            [.awaitHead, .upgrade(), Self.close(4403, "revoked"), .awaitBytes(8), .close])
        let asked = Mutex(0)
        let client = try Self.client(server) {
            asked.withLock {
                $0 += 1
                return $0 < 3 ? "old" : "new"
            }
        }
        let (updates, error) = await Self.all(client)
        #expect(error == .revoked(reason: "revoked") && updates.count { $0 == .connected } == 2)
        // The old one was fetched once more in vain: no attempt was made with it.
        let shown = server.received.map { String(decoding: $0, as: UTF8.self) }.filter { $0.hasPrefix("GET ") }
        #expect(shown.count == 2 && shown[0].contains("Bearer old\r\n") && shown[1].contains("Bearer new\r\n"))
    }

    @Test func `sends its next token when the old one is about to end, and comes back with the one after`()
        async throws
    {
        let message = Array(#"{"token":"t2"}"#.utf8)
        let server = try ScriptedServer(
            [
                .awaitHead, .upgrade(), Self.frame(#"{"expiring":{"exp":1795243600}}"#),
                .awaitBytes(6 + message.count), Self.frame(#"{"token":{"exp":1795247200}}"#), Self.frame(Self.event),
                Self.close(4401, "token expired"), .awaitBytes(8), .close,
            ],
            [.awaitHead, .upgrade(), Self.close(4403, "revoked"), .awaitBytes(8), .close])
        let asked = Mutex(0)
        let client = try Self.client(server) {
            // What has ended is the token that was sent, not the one before.
            asked.withLock {
                $0 += 1
                return "t\(min($0, 2) + max(0, $0 - 3))"
            }
        }
        let (updates, error) = await Self.all(client)
        #expect(error == .revoked(reason: "revoked") && updates.count { $0 == Self.incident } == 1)
        #expect(updates.count { $0 == .connected } == 2)
        let frame = server.received[1]
        // A final text frame, masked.
        #expect(frame[0] == 0x81 && Int(frame[1]) == 0x80 | message.count)
        #expect(frame.dropFirst(6).enumerated().map { $1 ^ frame[2 + $0 % 4] } == message)
        let shown = server.received.map { String(decoding: $0, as: UTF8.self) }.filter { $0.hasPrefix("GET ") }
        #expect(shown.count == 2 && shown[0].contains("Bearer t1\r\n") && shown[1].contains("Bearer t3\r\n"))
    }

    @Test func `comes back after what the server asked for`() async throws {
        let server = try ScriptedServer(
            [.awaitHead, .upgrade(), Self.close(1012, "restart retry_ms=20"), .awaitBytes(8), .close],
            [.awaitHead, .upgrade(), Self.frame(Self.event), Self.close(4403, "revoked"), .awaitBytes(8), .close])
        let (updates, error) = await Self.all(try Self.client(server))
        #expect(
            updates == [
                .connected, .resync(.start, nil),
                .disconnected(
                    reason: "the server closed with code 1012: restart retry_ms=20", retry: .milliseconds(20)),
                .connected, .resync(.start, nil), Self.incident,
            ])
        #expect(error == .revoked(reason: "revoked"))
    }

    @Test func `goes on behind the last update on the next connection`() async throws {
        let server = try ScriptedServer(
            [
                .awaitHead, .upgrade(), Self.frame(#"{"live":{"at":"one"}}"#),
                Self.frame(#"{"ent":"incident","id":"P1","type":"created","at":"two"}"#),
                Self.frame(#"{"bye":{"code":1012,"why":"restart","retry_ms":20}}"#),
                Self.close(1012, "restart retry_ms=20"),
                .awaitBytes(8), .close,
            ],
            [
                .awaitHead, .upgrade(), Self.frame(#"{"resync":{"why":"expired","at":"three"}}"#),
                Self.frame(#"{"live":{"at":"three"}}"#), Self.frame(#"{"source":{"state":"stalled","ts":5}}"#),
                Self.frame(#"{"beat":{"at":"four"}}"#), Self.frame(Self.event), Self.close(1001), .awaitBytes(8),
                .close,
            ],
            [.awaitHead, .upgrade(), Self.done, .awaitBytes(8), .close])
        var configuration = LiveClientConfiguration(url: "ws://127.0.0.1:\(server.port)/live/v1?with=ts&since=old")
        configuration.cursor = LiveCursor("kept")
        configuration.entities = ["incident", "note"]
        let (updates, error) = await Self.all(try LiveClient(configuration) { "t" })
        #expect(error == nil)
        #expect(
            updates.filter { if case .disconnected = $0 { false } else { true } } == [
                .connected, .live(LiveCursor("one")), Self.incident, .connected,
                .resync(.expired, LiveCursor("three")), .live(LiveCursor("three")), .source(.stalled(since: 5)),
                .beat(LiveCursor("four")), Self.incident, .connected,
            ])
        let targets = server.received.filter { $0.starts(with: Array("GET".utf8)) }.map { head in
            String(String(decoding: head, as: UTF8.self).split(separator: " ")[1])
        }
        #expect(
            targets
                == ["kept", "two", "four"].map { "/live/v1?with=at,ts&ent=incident,note&since=\($0)" })
    }

    @Test func `tries again when no token can be had`() async throws {
        struct Offline: Error {}
        let server = try ScriptedServer([.awaitHead, .upgrade(), Self.done, .awaitBytes(8), .close])
        let asked = Mutex(0)
        let client = try Self.client(server) {
            if asked.withLock({
                $0 += 1
                return $0
            }) == 1 {
                throw Offline()
            }
            return "t"
        }
        let (updates, _) = await Self.all(client)
        guard case .disconnected(let reason, let retry) = updates.first else {
            Issue.record("\(updates)")
            return
        }
        #expect(reason.contains("Offline") && retry >= .milliseconds(500))
        #expect(updates.last == .resync(.start, nil))
    }

    @Test func `ends when it is closed, and when its reader is cancelled`() async throws {
        let server = try ScriptedServer([.awaitHead, .upgrade(), .awaitBytes(8), Self.done, .close])
        for cancels in [false, true] {
            let client = try Self.client(server)
            let opened = AsyncStream<Void>.makeStream()
            let reader = Task {
                for try await update in client.updates where update == .connected { opened.continuation.finish() }
            }
            for await _ in opened.stream {}
            if cancels { reader.cancel() } else { await client.close() }
            try await reader.value
        }
    }

    @Test func `refuses addresses and tokens that cannot be sent`() async throws {
        #expect(throws: LiveClientError.self) { try LiveClient(LiveClientConfiguration(url: "ftp://a")) { "" } }
        var configuration = LiveClientConfiguration(url: "wss://a")
        configuration.certificateAuthorities = "/no/such/file"
        #expect(throws: LiveClientError.self) { try LiveClient(configuration) { "" } }
        for names in [["a,b"], [""], [String](repeating: "a", count: 17)] {
            configuration = LiveClientConfiguration(url: "ws://a")
            configuration.entities = names
            #expect(throws: LiveClientError.self) { try LiveClient(configuration) { "" } }
        }
        let server = try ScriptedServer([.silence])
        let (updates, error) = await Self.all(try Self.client(server) { "a\r\nX: b" })
        #expect(updates.isEmpty)
        #expect(error == .invalidRequest("the header Authorization holds a control character"))
    }

    @Test func `compares identifiers byte by byte`() {
        let composed = LiveEvent(entity: "a", id: "\u{E9}", type: "c")
        let decomposed = LiveEvent(entity: "a", id: "e\u{301}", type: "c")
        #expect(
            composed != decomposed && Set([composed, decomposed]).count == 2 && Set([composed, composed]).count == 1)
    }
}

@Suite struct `What waits for an application` {
    static func event(_ number: Int) -> LiveUpdate { .event(LiveEvent(entity: "e", id: "\(number)", type: "t")) }

    @Test func `is held back at the limit and goes on at half of it`() async throws {
        let buffer = UpdateBuffer(maximumUpdates: 4)
        let counter = Counter()
        buffer.setRoom { counter.add() }
        for number in 0..<3 { #expect(buffer.push(Self.event(number))) }
        #expect(!buffer.push(Self.event(3)))
        #expect(!buffer.push(Self.event(4)))
        for number in 0..<2 { #expect(try await buffer.next() == Self.event(number)) }
        #expect(counter.value == 0)
        #expect(try await buffer.next() == Self.event(2))
        #expect(counter.value == 1)
        #expect(buffer.push(Self.event(5)))
        buffer.finish(nil)
        for number in 3..<6 { #expect(try await buffer.next() == Self.event(number)) }
        #expect(try await buffer.next() == nil)
    }

    @Test func `of streams that brought nothing is only the last`() async throws {
        let buffer = UpdateBuffer(maximumUpdates: 4)
        func gone(_ number: Int) -> LiveUpdate { .disconnected(reason: "\(number)", retry: .zero) }
        for number in 0..<100 {
            _ = buffer.push(.connected)
            _ = buffer.push(gone(number))
        }
        _ = buffer.push(.connected)
        _ = buffer.push(Self.event(1))
        _ = buffer.push(gone(100))
        buffer.finish(nil)
        var updates: [LiveUpdate] = []
        while let update = try await buffer.next() { updates.append(update) }
        #expect(updates == [gone(99), .connected, Self.event(1), gone(100)])
    }

    @Test func `keeps that something must be fetched, though the stream has gone`() async throws {
        let buffer = UpdateBuffer(maximumUpdates: 4)
        for number in 0..<100 {
            _ = buffer.push(.connected)
            if number % 2 == 0 { _ = buffer.push(.resync(.expired, LiveCursor("\(number)"))) }
            _ = buffer.push(.live(LiveCursor("\(number)")))
            _ = buffer.push(.disconnected(reason: "\(number)", retry: .zero))
        }
        buffer.finish(nil)
        var updates: [LiveUpdate] = []
        while let update = try await buffer.next() { updates.append(update) }
        #expect(updates == [.resync(.expired, LiveCursor("98")), .disconnected(reason: "99", retry: .zero)])
    }

    @Test func `ends with its error once, behind what it holds`() async throws {
        let buffer = UpdateBuffer(maximumUpdates: 4)
        _ = buffer.push(.connected)
        buffer.finish(.revoked(reason: "r"))
        _ = buffer.push(.connected)
        #expect(try await buffer.next() == .connected)
        await #expect(throws: LiveClientError.revoked(reason: "r")) { try await buffer.next() }
        #expect(try await buffer.next() == nil)
    }
}

private final class Counter: Sendable {
    private let count = Mutex(0)

    var value: Int { count.withLock { $0 } }

    func add() { count.withLock { $0 += 1 } }
}
