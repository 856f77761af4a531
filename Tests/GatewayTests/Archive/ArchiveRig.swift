import Archive
import GatewaySettings
import LiveUpdates
import Logging
import Reactor
import TLS
import TestHarness
import Testing
import Tokens

@testable import Gateway

/// A loop with connections that ask an archive, and clients as plain bytes. Ingest lets everybody in, and makes the cursor of a
/// snapshot of no more than it has read.
final class ArchiveRig: Sendable {
    let loop: EventLoop
    let requests: ArchiveRequests
    /// How far ingest has read its partition.
    let read: Shared<Int64>
    /// What a store has to hold so as not to be behind.
    let wanted: Shared<Int64>
    private let bound: LoopBound<Node>

    /// What lives on the loop.
    final class Node {
        let connections: ConnectionLoop
        let listener: Listener
        var clients: [ArchiveSocket] = []

        init(_ connections: ConnectionLoop, _ listener: Listener) {
            self.connections = connections
            self.listener = listener
        }
    }

    private init(
        _ loop: EventLoop, _ requests: ArchiveRequests, _ bound: LoopBound<Node>, _ read: Shared<Int64>,
        _ wanted: Shared<Int64>
    ) {
        self.loop = loop
        self.requests = requests
        self.bound = bound
        self.read = read
        self.wanted = wanted
    }

    static let tokens = StaticTokens(
        [("amy", "A", "amy"), ("ben", "A", "ben"), ("eve", "B", "eve"), ("app", "A", nil)].map {
            token, account, subject in
            StaticTokens.Entry(
                digest: Digest.sha256(Array(token.utf8)), account: Account(account), subject: subject)
        })

    /// - Parameters:
    ///   - more: further settings, in lines.
    ///   - repetitions: how often a page is read once more where the store is behind.
    ///   - patience: how long a request may wait, in ms; nobody knows when it has its turn among all tests.
    static func start(
        _ store: (any ArchiveStore)?, settings more: String = "", patience: UInt64 = 600_000, repetitions: Int = 0
    ) async throws -> ArchiveRig {
        let loop = try EventLoop(label: "test")
        let text = "archive: {store: 'sqlite:unused'}\nlimits: {ping_interval: 1h, pong_timeout: 1h}\n\(more)"
        let settings = try #require(Settings.load(text: Array(text.utf8), file: "gate.yaml").settings)
        let parts = GatewayServer.Parts(
            settings: settings, mapping: try EventMapping(.init(preset: "rails")),
            verifier: TokenVerifier(issuers: [], tokens: tokens, anonymous: nil))
        let requests = ArchiveRequests(topics: ["t"])
        let (read, wanted) = (Shared<Int64>(0), Shared<Int64>(0))
        let made = await loop.perform { () -> Result<LoopBound<Node>, any Error> in
            Result { LoopBound(try node(parts, loop, requests, (read, wanted), patience, repetitions), loop: loop) }
        }
        let rig = ArchiveRig(loop, requests, try made.get(), read, wanted)
        requests.use(store)
        return rig
    }

    private static func node(
        _ parts: GatewayServer.Parts, _ loop: EventLoop, _ requests: ArchiveRequests,
        _ offsets: (read: Shared<Int64>, wanted: Shared<Int64>), _ patience: UInt64, _ repetitions: Int
    ) throws -> Node {
        let (read, wanted) = offsets
        let outlet = Shared<Mailbox<FanOutMessage>?>(nil)
        let ingest = Mailbox<IngestMessage>(loop: loop) { messages in
            for message in messages {
                switch message {
                case .snapshotCursor(let subscriber, let snapshot):
                    let stored = snapshot.positions.first?.next ?? 0
                    let answer = SnapshotAnswer(
                        cursor: CursorText(bytes: stored > read.value ? [] : Array("c\(stored)".utf8)),
                        isBehind: stored < wanted.value, seen: 7)
                    outlet.value?.post(.snapshotCursor(subscriber.connection, answer))
                case .subscribe(let subscriber, _):
                    let cursor = CursorText(bytes: Array("c\(read.value)".utf8))
                    outlet.value?.post(
                        .joined(subscriber.connection, JoinAnswer(outcome: .now, sequence: 0, fresh: cursor)))
                default: break
                }
            }
        }
        let readiness = NodeReadiness(graceMilliseconds: nil)
        _ = readiness.becomeReady()
        var admission = Admission(
            parts, readiness: readiness, usedTickets: NodeTickets(), revocations: NodeRevocations())
        admission.archive?.answerMilliseconds = patience
        admission.archive?.catchUpPauses = Array(repeating: 1, count: repetitions)
        let connections = ConnectionLoop(
            eventLoop: loop, index: 0, policy: ConnectionPolicy(parts), admission: admission,
            log: ConnectionLog(logger: Logger("test", to: SilentLog())), ingest: ingest,
            lookups: Mailbox(loop: loop) { _ in }, quota: ConnectionQuota(QuotaLimits()), backlog: LoopBacklog(),
            topics: ["t"],
            archive: requests)
        let mailbox = Mailbox<FanOutMessage>(inTurnsOn: loop) { connections.receive($0) }
        outlet.update { $0 = mailbox }
        requests.open([mailbox])
        return Node(connections, try connections.listen(try ListeningSocket.open(.loopback(port: 0))[0]))
    }

    // MARK: - Clients

    /// Connects, and sends this.
    func client(_ bytes: String) async -> ArchiveClient {
        await loop.perform { [bound, loop] in
            let client = ArchiveClient(LoopBound(ArchiveSocket(), loop: loop))
            let socket = client.socket.value
            (socket.seen, socket.hasEnded) = (client.seen, client.hasEnded)
            bound.value.clients.append(socket)
            Connector.connect(to: .address(bound.value.listener.address), loop: loop) { result in
                guard let descriptor = try? result.get() else { return }
                socket.connected(ByteStream(descriptor, loop: loop))
            }
            socket.send(bytes)
            return client
        }
    }

    /// What one request is answered, once the answer is whole.
    func answer(_ request: String) async throws -> String {
        let client = await client(request)
        #expect(try await eventually { client.hasAnswer }, "\(request)")
        return client.seen.value
    }

    func onLoop<Value: Sendable>(_ work: @escaping @Sendable (ConnectionLoop) -> Value) async -> Value {
        await loop.perform { [bound] in work(bound.value.connections) }
    }

    /// Every connection ends, at once. Of a client that has only finished nobody knows whether it awaits the answer.
    func cut() async {
        await onLoop { connections in
            for slot in 0..<connections.connections.slots {
                connections.connections[slot: slot]?.transport?.close(afterFlush: false)
            }
        }
    }

    func stop() async { await loop.stopped() }

    static func get(_ target: String, _ token: String = "amy", _ fields: String = "") -> String {
        "GET \(target) HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer \(token)\r\n\(fields)\r\n"
    }

    static func post(_ body: String, _ token: String = "amy", type: String = "application/json") -> String {
        """
        POST /inbox/v1/read HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer \(token)\r\nContent-Type: \(type)\r\n\
        Content-Length: \(body.utf8.count)\r\n\r\n\(body)
        """
    }
}

/// A client as its test sees it.
struct ArchiveClient: Sendable {
    let seen = Shared("")
    let hasEnded = Shared(false)
    let socket: LoopBound<ArchiveSocket>

    init(_ socket: LoopBound<ArchiveSocket>) { self.socket = socket }

    func write(_ bytes: String) { socket.loop.execute { [socket] in socket.value.send(bytes) } }

    /// Whether all of an answer is there.
    var hasAnswer: Bool {
        guard let end = seen.value.firstRange(of: "\r\n\r\n") else { return false }
        guard let length = seen.value.firstMatch(of: /Content-Length: (\d+)/) else { return true }
        return seen.value[end.upperBound...].utf8.count >= Int(length.1) ?? 0
    }
}

/// Keeps what it is sent. Confined to its loop.
final class ArchiveSocket: ByteStreamOwner {
    var seen = Shared("")
    var hasEnded = Shared(false)
    private var stream: ByteStream<ArchiveSocket>?
    private var waiting: [UInt8] = []

    func connected(_ stream: ByteStream<ArchiveSocket>) {
        self.stream = stream
        stream.start(self)
        stream.write(waiting)
    }

    func send(_ bytes: String) {
        guard let stream else {
            waiting += Array(bytes.utf8)
            return
        }
        stream.write(Array(bytes.utf8))
    }

    func close() { stream?.close(afterFlush: false) }

    func streamReceived(_ bytes: Span<UInt8>) {
        var text = ""
        for index in bytes.indices { text.unicodeScalars.append(Unicode.Scalar(bytes[index])) }
        seen.update { $0 += text }
    }

    func streamEnded(_ reason: StreamEnd) { hasEnded.update { $0 = true } }
}
