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
    /// Handed to one socket before it has taken any of it.
    let maximumPendingBytes: Int
    let maximumLagMilliseconds: UInt64
    let pingIntervalMilliseconds: UInt64
    let pongTimeoutMilliseconds: UInt64
    let changedIntervalMilliseconds: UInt64
    /// After so long without a message a stream with cursors gets a fresh one, unless it asked for another time.
    let quietMilliseconds: UInt64
    let security: TransportSecurity
}

/// One loop of the node with its connections, its part of the fan-out and its counters. Confined to that loop.
final class ConnectionLoop {
    /// From our close frame to the peer's. A phone on a bad network needs a second or two; who needs more is gone.
    static let closeTimeoutMilliseconds: UInt64 = 3_000
    /// What refusals of a node that is not at its best ask for; clients add jitter.
    static let retryAfterSeconds = 5
    /// Between two requests on one connection: longer than the longest poll, so that clients and proxies are the ones to
    /// close.
    static let idleRequestMilliseconds: UInt64 = 75_000

    let eventLoop: EventLoop
    let index: Int
    let policy: ConnectionPolicy
    let admission: Admission
    let logger: Logger
    let fanOut = LoopFanOut()
    let transports: TransportLoop
    var counters = LoopCounters()
    /// Nil until something was told of it.
    private(set) var sourceState: SourceState?
    /// What a session made of the bytes at hand; kept between calls for its memory alone.
    var events: [WebSocketEvent] = []

    private let ingest: Mailbox<IngestMessage>
    private let backlog: LoopBacklog
    private var connections: [UInt64: Connection] = [:]
    private var nextNumber: UInt64 = 0
    private var clock = WallClock()
    private var isClosing = false
    private var emptied: (() -> Void)?

    init(
        eventLoop: EventLoop, index: Int, policy: ConnectionPolicy, admission: Admission, logger: Logger,
        ingest: Mailbox<IngestMessage>, backlog: LoopBacklog
    ) {
        self.eventLoop = eventLoop
        self.index = index
        self.policy = policy
        self.admission = admission
        self.logger = logger
        self.ingest = ingest
        self.backlog = backlog
        var limits = TransportLimits()
        limits.handshakeMilliseconds = policy.handshakeTimeoutMilliseconds
        transports = TransportLoop(loop: eventLoop, limits: limits)
    }

    var connectionCount: Int { connections.count }

    func epochSeconds() -> Int64 { clock.seconds(eventLoop.tickNumber) }
    /// From now to a second since 1970; 0 when it has passed.
    func milliseconds(until epochSecond: Int64) -> UInt64 {
        let seconds = UInt64(clamping: max(0, epochSecond - epochSeconds()))
        let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        return overflow ? .max : milliseconds
    }

    func httpDate() -> String { clock.httpDate(eventLoop.tickNumber) }

    func accept(_ descriptor: consuming FileDescriptor, peer: String) {
        let connection = Connection(id: ConnectionID(number: nextNumber), loop: self, peer: peer)
        nextNumber += 1
        connections[connection.id.number] = connection
        counters.accepted += 1
        connection.start(descriptor)
        if isClosing { connection.close(.goingAway) }
    }

    func forget(_ connection: Connection, _ reason: TransportEnd) {
        connections[connection.id.number] = nil
        counters.count(reason)
        if connections.isEmpty { becameEmpty() }
    }

    // MARK: - Between ingest and the connections

    private func subscriber(_ connection: Connection) -> Subscriber {
        Subscriber(account: connection.account, loop: index, connection: connection.id)
    }

    func subscribe(_ connection: Connection, _ request: JoinRequest) {
        ingest.post(.subscribe(subscriber(connection), request))
    }

    func unsubscribe(_ connection: Connection, withCursors: Bool) {
        ingest.post(.unsubscribe(subscriber(connection), withCursors: withCursors))
    }

    func read(_ connection: Connection, _ request: ReadRequest) {
        ingest.post(.read(subscriber(connection), request))
    }

    func askFreshCursor(_ connection: Connection) {
        ingest.post(.freshCursor(subscriber(connection)))
    }

    func receive(_ messages: [FanOutMessage]) {
        var worked = 0
        for message in messages {
            switch message {
            case .joined(let id, let answer):
                fanOut.advance(to: answer.sequence)
                // It may have gone meanwhile; its unsubscription is on the way.
                connection(id)?.joined(answer)
            case .page(let id, let answer):
                fanOut.advance(to: answer.sequence)
                connection(id)?.took(answer)
            case .fresh(let id, let cursor): connection(id)?.tookFresh(cursor)
            case .events(let batch, let sequence):
                counters.deliveries += UInt64(fanOut.deliver(batch, sequence: sequence, now: eventLoop.now))
                worked += batch.reduce(0) { $0 + $1.events.count }
            case .reset(let why, let sequence, let cursors): reset(why, sequence, cursors)
            case .source(let state):
                sourceState = state
                for connection in connections.values { connection.stream?.tellSource() }
            }
        }
        if worked > 0, backlog.remove(worked) { ingest.post(.caughtUp) }
    }

    /// The connection that asked, if it is still there and has not asked anew.
    private func connection(_ id: ConnectionID) -> Connection? {
        guard let connection = connections[id.number], connection.id == id else { return nil }
        return connection
    }

    private func reset(_ why: ResyncReason, _ sequence: UInt64, _ cursors: [Account: CursorText]) {
        fanOut.advance(to: sequence)
        fanOut.reset()
        for connection in Array(connections.values) {
            guard connection.isSubscribed, let cursor = cursors[connection.account] else { continue }
            connection.reset(why, at: cursor)
        }
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
        let timer = eventLoop.schedule(afterMilliseconds: milliseconds) { [weak self] in self?.becameEmpty() }
        emptied = { [eventLoop] in
            eventLoop.cancel(timer)
            done()
        }
    }

    private func becameEmpty() {
        if let emptied = emptied.take() { emptied() }
    }
}

@available(*, unavailable)
extension ConnectionLoop: Sendable {}
