// Tests: ConnectionMachine+Endings.swift, LiveClient.swift, LiveReaders.swift, ClientSession+Channel.swift, ReactorTransport.swift,
//   StateBroadcast.swift, LiveTokens.swift

import HTTP
import Synchronization
import Testing
import WebSocket

@testable import LiveClient
@testable import LiveClientReactor

@Suite struct `The connection of an application` {
    typealias Client = `The client of an application`

    static func answer(_ status: String, _ type: String, _ body: String) -> Step {
        .send("HTTP/1.1 \(status)\r\nContent-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }

    static func targets(_ server: ScriptedServer) -> [String] {
        server.received.filter { $0.starts(with: Array("GET".utf8)) }.map { head in
            String(String(decoding: head, as: UTF8.self).split(separator: " ")[1])
        }
    }

    /// Every code that a gateway sends, against the table that it is sent by.
    @Test(arguments: CloseCode.table.map { ($0.code, $0.action) })
    func `does on each close code what the protocol says`(_ code: CloseCode, _ action: ClientAction) {
        var machine = ConnectionMachine(ConnectionMachine.Settings())
        _ = machine.handle(.start, at: 0)
        _ = machine.handle(.token(request: 1, isSame: false), at: 0)
        _ = machine.handle(.opened(id: 1), at: 0)
        _ = machine.handle(.closed(id: 1, code: Int(code.rawValue), retry: nil), at: 1_000)
        switch (action, machine.view.state) {
        case (.finish, .ended(.done)), (.stop, .ended(.revoked)): break
        case (.refreshToken, .connecting): break
        case (.backOff, .waiting(let until?, .retry)): #expect((1_500..<2_000).contains(until))
        case (.wait(let minimum), .waiting(let until?, _)):
            #expect(
                until >= 1_000 + Milliseconds(max(minimum, 500)) && until <= 1_000 + Milliseconds(max(minimum, 1_000)))
        default: Issue.record("\(machine.view.state)")
        }
    }

    @Test func `serves readers that come at different times, each with everything from then on`() async throws {
        let event = { (name: String) in #"{"ent":"incident","id":"\#(name)","type":"created","at":"\#(name)"}"# }
        let message = Array(#"{"token":"t2"}"#.utf8)
        let server = try ScriptedServer([
            .awaitHead, .upgrade(), Client.frame(event("one")), Client.frame(#"{"expiring":{"exp":5}}"#),
            .awaitBytes(6 + message.count), Client.frame(event("two")), Client.close(4403, "revoked"), .awaitBytes(8),
            .close,
        ])
        let second = AsyncStream<Void>.makeStream()
        let asked = Mutex(0)
        let client = try Client.client(server) {
            let isFirst = asked.withLock {
                $0 += 1
                return $0 == 1
            }
            // The next token, and so the next event, comes once the second reader is there.
            if !isFirst { for await _ in second.stream {} }
            return isFirst ? "t1" : "t2"
        }
        var first = client.updates.makeAsyncIterator()
        var seen: [LiveUpdate?] = []
        for _ in 0..<3 { seen.append(try await first.next()) }
        #expect(
            seen == [
                .connected, .resync(.start, nil), .event(LiveEvent(entity: "incident", id: "one", type: "created")),
            ])
        var late = client.updates.makeAsyncIterator()
        #expect(try await late.next() == .connected)
        #expect(try await late.next() == .resync(.start, LiveCursor("one")))
        second.continuation.finish()
        let two = LiveUpdate.event(LiveEvent(entity: "incident", id: "two", type: "created"))
        #expect(try await first.next() == two)
        #expect(try await late.next() == two)
        await #expect(throws: LiveClientError.revoked(reason: "revoked")) { try await first.next() }
        await #expect(throws: LiveClientError.revoked(reason: "revoked")) { try await late.next() }
        #expect(client.state == .ended(error: .revoked))
        var after = client.updates.makeAsyncIterator()
        await #expect(throws: LiveClientError.self) { try await after.next() }
    }

    @Test func `shows each state in its order`() async throws {
        let server = try ScriptedServer([.awaitHead, .upgrade(), Client.done, .awaitBytes(8), .close])
        let client = try Client.client(server)
        let states = client.states
        let (_, error) = await Client.all(client)
        #expect(error == nil)
        var names: [String] = []
        for await state in states {
            switch state {
            case .idle: names.append("idle")
            case .connecting(_, let attempt): names.append("connecting \(attempt)")
            case .connected: names.append("connected")
            case .ended(let error): names.append("\(error)")
            case .waiting, .unauthorized: names.append("\(state)")
            }
        }
        #expect(names == ["idle", "connecting 1", "connected", "done"])
    }

    @Test func `comes back after a close with 1000 that the server has not announced`() async throws {
        let server = try ScriptedServer(
            [.awaitHead, .upgrade(), Client.close(1000), .awaitBytes(8), .close],
            [.awaitHead, .upgrade(), Client.done, .awaitBytes(8), .close])
        let client = try Client.client(server)
        let (updates, error) = await Client.all(client)
        #expect(error == nil && updates.count { $0 == .connected } == 2)
    }

    @Test func `says that nobody is signed in, and tries again for the next reader`() async throws {
        let server = try ScriptedServer([.awaitHead, .upgrade(), Client.done, .awaitBytes(8), .close])
        let isSignedIn = Mutex(false)
        let client = try Client.client(server) {
            guard isSignedIn.withLock({ $0 }) else { throw LiveClientError.unauthorized }
            return "t"
        }
        let (none, error) = await Client.all(client)
        #expect(none.isEmpty && error == .unauthorized)
        #expect(client.state == .unauthorized)
        isSignedIn.withLock { $0 = true }
        let (updates, end) = await Client.all(client)
        #expect(updates == [.connected, .resync(.start, nil)] && end == nil)
    }

    @Test func `closes in the background, and resumes from where it was`() async throws {
        let server = try ScriptedServer(
            [
                .awaitHead, .upgrade(), Client.frame(#"{"live":{"at":"one"}}"#), .awaitBytes(8), Client.close(1000),
                .close,
            ],
            [.awaitHead, .upgrade(), Client.close(4403), .awaitBytes(8), .close])
        let client = try Client.client(server)
        var updates: [LiveUpdate] = []
        await #expect(throws: LiveClientError.revoked(reason: "")) {
            for try await update in client.updates {
                updates.append(update)
                if case .live = update { client.enterBackground() }
                if case .disconnected = update { client.enterForeground() }
            }
        }
        #expect(updates.count { $0 == .connected } == 2)
        #expect(Self.targets(server) == ["/live/v1?with=at,ts", "/live/v1?with=at,ts&since=one"])
        let close = server.received[1]
        #expect(close[0] == 0x88 && close[6] ^ close[2] == 0x03 && close[7] ^ close[3] == 0xE8)
    }

    @Test func `goes down to long polls where nothing else comes through, and loses no event`() async throws {
        let page = #"{"events":[{"ent":"incident","id":"P1","type":"created","at":"two"}],"at":"two","more":false}"#
        let problem = "application/problem+json"
        let server = try ScriptedServer(
            [.awaitHead, Self.answer("400 Bad Request", "text/plain", "what?"), .close],
            [.awaitHead, Self.answer("200 OK", "text/html", "<p>portal</p>"), .close],
            [.awaitHead, Self.answer("400 Bad Request", problem, #"{"code":"bad_cursor"}"#), .close],
            [.awaitHead, Self.answer("200 OK", "application/json", #"{"events":[],"at":"one","more":false}"#), .close],
            [.awaitHead, Self.answer("200 OK", "application/json", page), .close],
            [.awaitHead, Self.answer("403 Forbidden", problem, #"{"code":"forbidden"}"#), .close])
        let known = Mutex<[KnownWay]>([])
        var configuration = LiveClientConfiguration(url: "ws://127.0.0.1:\(server.port)/live/v1")
        configuration.cursor = LiveCursor("zero")
        configuration.keepsWays = { ways in known.withLock { $0 = ways } }
        let client = try LiveClient(configuration) { "t" }
        client.pathChanged(isSatisfied: true, network: "office")
        let (updates, error) = await Client.all(client)
        #expect(error == .refused(status: 403, body: #"{"code":"forbidden"}"#))
        #expect(
            updates == [
                .disconnected(reason: "the server refused with status 400", retry: .zero),
                .disconnected(reason: "the server refused with status 200", retry: .zero), .connected,
                .resync(.invalid, LiveCursor("one")), .live(LiveCursor("one")), Client.incident,
                .beat(LiveCursor("two")),
            ])
        #expect(
            Self.targets(server) == [
                "/live/v1?with=at,ts&since=zero", "/live/v1?with=at,ts&beat=25&since=zero",
                "/sync/v1?with=at,ts&since=zero",
                "/sync/v1?with=at,ts", "/sync/v1?with=at,ts&wait=50&since=one", "/sync/v1?with=at,ts&wait=50&since=two",
            ])
        #expect(known.withLock { $0.map { "\($0.network) \($0.way)" } } == ["office longPoll"])
    }

    @Test func `drops what waits for a busy reader, and says so`() async throws {
        let buffer = UpdateBuffer(maximumUpdates: 2)
        var readers = LiveReaders()
        readers.add(1, buffer)
        readers.push(.connected)
        #expect(!readers.isBusy)
        readers.push(Client.incident)
        #expect(readers.isBusy)
        // What the stream says only once is told again.
        let standing = [LiveUpdate.live(LiveCursor("here")), .source(.stalled(since: 7))]
        readers.dropWaiting(at: LiveCursor("here"), standing: standing)
        #expect(!readers.isBusy)
        let expected = [LiveUpdate.resync(.behind, LiveCursor("here"))] + standing
        for update in expected { #expect(try await buffer.next() == update) }
    }
}
