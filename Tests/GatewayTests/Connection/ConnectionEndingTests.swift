// Tests: Connection+Ending.swift, Connection+Closing.swift, ByteStream.swift, Transport.swift

import GatewaySettings
import LiveUpdates
import Logging
import Reactor
import TestHarness
import Testing
import Tokens

@testable import Gateway

/// What is on its way when a connection ends is counted if the kernel takes it: an end may come in the tick of an event.
struct ConnectionEndingTests {
    static let webSocket = """
        GET /live/v1 HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n
        """
    static let eventStream = "GET /live/v1 HTTP/1.1\r\nHost: h\r\nAccept: text/event-stream\r\n\r\n"

    static let ends: [(name: String, end: @Sendable (Connection) -> Void)] = [
        ("a drain", { $0.leave(.restart, retryMilliseconds: 7) }), ("an end", { $0.close(.goingAway) }),
        ("an expired token", { $0.close(.tokenExpired) }), ("a revoked token", { $0.revoke() }),
        ("an old connection", { $0.ageIsReached() }), ("a peer that has finished", { _ = $0.transportPeerFinished() }),
    ]

    @Test(arguments: [(webSocket, DeliveryCounts.Kind.webSocket), (eventStream, .eventStream)], ends.indices)
    func `events in the tick of an end are counted once`(
        kind: (request: String, kind: DeliveryCounts.Kind), index: Int
    ) async throws {
        let (name, end) = Self.ends[index]
        let rig = try await ConnectionRig.start(kind.request)
        #expect(try await eventually { rig.seen.value.contains("\r\n\r\n") })
        await rig.loop.perform { [rig] in
            let node = rig.rig.value.node
            node.receive(ConnectionRig.events(1...3))
            for connection in rig.rig.value.connections {
                end(connection)
                // As a transport does whose peer has finished.
                if name == "a peer that has finished" { connection.transport?.close(afterFlush: true) }
            }
            node.receive(ConnectionRig.events(4...5))
            #expect(node.fanOut.ledger.counts.total == 0 && node.counters.open == [0, 0, 0], "\(name)")
        }
        #expect(try await eventually { rig.seen.value.contains("\"e3\"") })
        let counts = await rig.loop.perform { [rig] in rig.rig.value.node.report.deliveries }
        #expect(counts.events[kind.kind.rawValue] == 3 && counts.total == 3, "\(name)")
        #expect(counts.delivery.total == 3 && !rig.seen.value.contains("\"e4\""), "\(name)")
        await rig.loop.stopped()
    }

    @Test func `nobody who has finished holds what others are owed`() async throws {
        let rig = try await ConnectionRig.start(Self.webSocket)
        #expect(try await eventually { rig.seen.value.contains("\r\n\r\n") })
        await rig.loop.perform { [rig] in
            let node = rig.rig.value.node
            for connection in rig.rig.value.connections { _ = connection.transportPeerFinished() }
            node.receive(ConnectionRig.events(1...1))
            _ = node.fanOut.ledger.add(DeliveryFacts(replayed: 1, at: 0))
            #expect(node.fanOut.ledger.pending == 1)
            #expect(node.counters.closes == [CloseLabel.cut: 1] && node.places.isEmpty)
        }
        await rig.loop.stopped()
    }
}

/// A loop with one connection, and the client that made it. Ingest lets everybody in at once, and is the test.
private final class ConnectionRig {
    struct Started: Sendable {
        let loop: EventLoop
        let rig: LoopBound<ConnectionRig>
        /// What the client was sent.
        let seen: Shared<String>
    }

    let node: ConnectionLoop
    private let listener: Listener
    private var client: ByteStream<Client>?

    /// Those that stand in the loop's table.
    var connections: [Connection] { (0..<node.connections.slots).compactMap { node.connections[slot: $0] } }

    static func start(_ request: String) async throws -> Started {
        let loop = try EventLoop(label: "test")
        // The client answers no ping, and nobody knows when it has its turn among all tests.
        let text = "auth: {anonymous: PACC1}\nlimits: {ping_interval: 1h, pong_timeout: 1h, handshake_timeout: 10m}\n"
        let settings = try #require(Settings.load(text: Array(text.utf8), file: "gate.yaml").settings)
        let parts = GatewayServer.Parts(
            settings: settings, mapping: try EventMapping(.init(preset: "rails")),
            verifier: TokenVerifier(issuers: [], anonymous: settings.auth.anonymous))
        let seen = Shared("")
        let made = await loop.perform { () -> Result<LoopBound<ConnectionRig>, any Error> in
            Result { LoopBound(try ConnectionRig(parts, loop, request, seen), loop: loop) }
        }
        return Started(loop: loop, rig: try made.get(), seen: seen)
    }

    private init(_ parts: GatewayServer.Parts, _ loop: EventLoop, _ request: String, _ seen: Shared<String>) throws {
        let asked = Shared<[Subscriber]>([])
        let ingest = Mailbox<IngestMessage>(loop: loop) { messages in
            for case .subscribe(let subscriber, _) in messages { asked.update { $0.append(subscriber) } }
        }
        let readiness = NodeReadiness(graceMilliseconds: nil)
        _ = readiness.becomeReady()
        let node = ConnectionLoop(
            eventLoop: loop, index: 0, policy: ConnectionPolicy(parts),
            admission: Admission(parts, readiness: readiness, usedTickets: NodeTickets()),
            log: ConnectionLog(logger: Logger("test", to: SilentLog())), ingest: ingest,
            judging: Mailbox(loop: loop) { _ in }, places: Places(PlaceLimits()), backlog: LoopBacklog())
        self.node = node
        listener = try node.listen(try ListeningSocket.open(.loopback(port: 0))[0])
        Connector.connect(to: .address(listener.address), loop: loop) { result in
            guard let descriptor = try? result.get() else { return }
            let client = ByteStream<Client>(descriptor, loop: loop)
            self.client = client
            client.start(Client(seen))
            client.write(Array(request.utf8))
            self.letIn(asked, loop)
        }
    }

    private func letIn(_ asked: Shared<[Subscriber]>, _ loop: EventLoop) {
        guard let subscriber = asked.value.first else { return loop.executeNextTick { self.letIn(asked, loop) } }
        let cursor = CursorText(bytes: Array("c0".utf8))
        node.receive(.joined(subscriber.connection, JoinAnswer(outcome: .now, sequence: 0, fresh: cursor)))
    }

    static func events(_ numbers: ClosedRange<UInt64>) -> FanOutMessage {
        let events = numbers.map { number in
            LoggedEvent(
                event: ThinEvent(entity: "note", id: "e\(number)", type: "t"),
                partition: PartitionName(topic: 0, number: 0), offset: Int64(number), timestamp: 1_000,
                sequence: number, at: [])
        }
        return .events([AccountEvents(account: Account("PACC1"), events: events)], sequence: numbers.upperBound)
    }
}

/// Keeps what it is sent.
private final class Client: ByteStreamOwner {
    private let seen: Shared<String>

    init(_ seen: Shared<String>) { self.seen = seen }

    func streamReceived(_ bytes: Span<UInt8>) {
        var text = ""
        for index in bytes.indices { text.unicodeScalars.append(Unicode.Scalar(bytes[index])) }
        seen.update { $0 += text }
    }

    func streamEnded(_ reason: StreamEnd) {}
}
