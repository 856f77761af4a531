import HTTP
import LiveUpdates
import Logging
import Reactor
import TLS
import Transport
import WebSocket

/// What every connection of a node is held to.
struct ConnectionPolicy: Sendable {
    let requestLimits: RequestLimits
    let webSocketLimits: WebSocketLimits
    let handshakeTimeoutMilliseconds: UInt64
    /// What the kernel may leave behind after a tick's send.
    let maximumPendingBytes: Int
    let security: TransportSecurity
}

/// One loop of the node with its connections, its part of the fan-out and its counters. Confined to that loop.
final class LoopNode {
    /// From our close frame to the peer's. A phone on a bad network needs a second or two; who needs more is gone.
    static let closeTimeoutMilliseconds: UInt64 = 3_000
    /// What refusals of a node that is not at its best ask for; clients add jitter.
    static let retryAfterSeconds = 5

    let loop: EventLoop
    let index: Int
    let policy: ConnectionPolicy
    let admission: Admission
    let logger: Logger
    let fanOut = LoopFanOut()
    let transports: TransportLoop
    var counters = LoopCounters()
    /// What a session made of the bytes at hand; kept between calls for its memory alone.
    var events: [WebSocketEvent] = []

    private let ingest: Mailbox<IngestMessage>
    private let backlog: LoopBacklog
    private var connections: [ConnectionID: Connection] = [:]
    private var nextNumber: UInt64 = 0
    private var clock = WallClock()
    private var isClosing = false
    private var emptied: (() -> Void)?

    init(
        loop: EventLoop, index: Int, policy: ConnectionPolicy, admission: Admission, logger: Logger,
        ingest: Mailbox<IngestMessage>, backlog: LoopBacklog
    ) {
        self.loop = loop
        self.index = index
        self.policy = policy
        self.admission = admission
        self.logger = logger
        self.ingest = ingest
        self.backlog = backlog
        var limits = TransportLimits()
        limits.handshakeMilliseconds = policy.handshakeTimeoutMilliseconds
        transports = TransportLoop(loop: loop, limits: limits)
    }

    var connectionCount: Int { connections.count }

    func epochSeconds() -> Int64 { clock.seconds(loop.tickNumber) }
    func httpDate() -> String { clock.httpDate(loop.tickNumber) }

    func accept(_ descriptor: consuming FileDescriptor, peer: String) {
        let connection = Connection(id: ConnectionID(number: nextNumber), node: self, peer: peer)
        nextNumber += 1
        connections[connection.id] = connection
        counters.accepted += 1
        connection.start(descriptor)
        if isClosing { connection.close(.goingAway) }
    }

    func forget(_ connection: Connection, _ reason: TransportEnd) {
        connections[connection.id] = nil
        counters.count(reason)
        if connections.isEmpty { becameEmpty() }
    }

    // MARK: - Between ingest and the connections

    func subscribe(_ connection: Connection, account: Account) {
        ingest.post(.subscribe(account, loop: index, connection: connection.id))
    }

    func unsubscribe(account: Account) {
        ingest.post(.unsubscribe(account, loop: index))
    }

    func receive(_ messages: [FanOutMessage]) {
        var worked = 0
        for message in messages {
            switch message {
            case .subscribed(let id):
                // It may have gone meanwhile; its unsubscription is on the way.
                connections[id]?.joined()
            case .events(let batch):
                counters.deliveries += UInt64(fanOut.deliver(batch))
                worked += batch.reduce(0) { $0 + $1.events.count }
            }
        }
        if worked > 0, backlog.remove(worked) { ingest.post(.caughtUp) }
    }

    // MARK: - The end

    /// Tells every connection goodbye; their ends follow within the close timeout.
    func closeAll(_ code: CloseCode) {
        isClosing = true
        for connection in Array(connections.values) { connection.close(code) }
    }

    /// Calls `done` once, when the last connection has gone or the time is up.
    func whenEmpty(within milliseconds: UInt64, _ done: @escaping () -> Void) {
        guard !connections.isEmpty else { return done() }
        let timer = loop.schedule(afterMilliseconds: milliseconds) { [weak self] in self?.becameEmpty() }
        emptied = { [loop] in
            loop.cancel(timer)
            done()
        }
    }

    private func becameEmpty() {
        if let emptied = emptied.take() { emptied() }
    }
}

@available(*, unavailable)
extension LoopNode: Sendable {}
