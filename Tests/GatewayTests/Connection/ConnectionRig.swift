import GatewaySettings
import LiveUpdates
import Logging
import Reactor
import TestHarness
import Testing
import Tokens

@testable import Gateway

/// A loop with connections, and the clients that made them. Ingest lets everybody in at once, and is the test.
final class ConnectionRig {
    struct Started: Sendable {
        let loop: EventLoop
        let rig: LoopBound<ConnectionRig>
        /// What the clients were sent.
        let seen: Shared<String>
    }

    let node: ConnectionLoop
    private let listener: Listener
    private var clients: [ByteStream<Client>] = []
    private let asked = Shared<[Subscriber]>([])

    /// Those that stand in the loop's table.
    var connections: [Connection] { (0..<node.connections.slots).compactMap { node.connections[slot: $0] } }

    /// - Parameter letsIn: else ingest has not answered, until ``letIn()``.
    static func start(
        _ request: String, clients: Int = 1, drainWindow: String = "30s", letsIn: Bool = true
    ) async throws -> Started {
        let loop = try EventLoop(label: "test")
        // The client answers no ping, and nobody knows when it has its turn among all tests.
        let text = """
            auth: {anonymous: PACC1}
            limits: {ping_interval: 1h, pong_timeout: 1h, handshake_timeout: 10m}
            lifecycle: {drain_window: \(drainWindow)}

            """
        let settings = try #require(Settings.load(text: Array(text.utf8), file: "gate.yaml").settings)
        let parts = GatewayServer.Parts(
            settings: settings, mapping: try EventMapping(.init(preset: "rails")),
            verifier: TokenVerifier(issuers: [], anonymous: settings.auth.anonymous))
        let seen = Shared("")
        let made = await loop.perform { () -> Result<LoopBound<ConnectionRig>, any Error> in
            Result { LoopBound(try ConnectionRig(parts, loop, request, clients, seen), loop: loop) }
        }
        let rig = try made.get()
        let haveAsked = Shared(false)
        await loop.perform { rig.value.whenAsked(clients) { haveAsked.update { $0 = true } } }
        try #require(try await eventually { haveAsked.value })
        if letsIn { await loop.perform { rig.value.letIn() } }
        return Started(loop: loop, rig: rig, seen: seen)
    }

    private init(
        _ parts: GatewayServer.Parts, _ loop: EventLoop, _ request: String, _ clients: Int, _ seen: Shared<String>
    ) throws {
        let asked = self.asked
        let ingest = Mailbox<IngestMessage>(loop: loop) { messages in
            for case .subscribe(let subscriber, _) in messages { asked.update { $0.append(subscriber) } }
        }
        let readiness = NodeReadiness(graceMilliseconds: nil)
        _ = readiness.becomeReady()
        let node = ConnectionLoop(
            eventLoop: loop, index: 0, policy: ConnectionPolicy(parts),
            admission: Admission(
                parts, readiness: readiness, usedTickets: NodeTickets(),
                revocations: NodeRevocations(retention: parts.settings.control.retention)),
            log: ConnectionLog(logger: Logger("test", to: SilentLog())), ingest: ingest,
            lookups: Mailbox(loop: loop) { _ in }, quota: ConnectionQuota(QuotaLimits()), backlog: LoopBacklog(),
            topics: ["t"])
        self.node = node
        listener = try node.listen(try ListeningSocket.open(.loopback(port: 0))[0])
        for _ in 0..<clients {
            Connector.connect(to: .address(listener.address), loop: loop) { result in
                guard let descriptor = try? result.get() else { return }
                let client = ByteStream<Client>(descriptor, loop: loop)
                self.clients.append(client)
                client.start(Client(seen))
                client.write(Array(request.utf8))
            }
        }
    }

    private func whenAsked(_ clients: Int, _ done: @escaping () -> Void) {
        guard asked.value.count == clients else {
            return node.eventLoop.executeNextTick { self.whenAsked(clients, done) }
        }
        done()
    }

    /// Ingest answers all who have asked.
    func letIn() {
        for subscriber in asked.value {
            let cursor = CursorText(bytes: Array("c0".utf8))
            node.receive(.joined(subscriber.connection, JoinAnswer(outcome: .now, sequence: 0, fresh: cursor)))
        }
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
