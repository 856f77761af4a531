import Balancer
import HTTP
import LiveUpdates
import Logging
import Reactor
import TLS
import Tokens
import Transport
import WebSocket

/// What every connection of the node is held to.
struct ConnectionPolicy: Sendable {
    let requestLimits: RequestLimits
    let webSocketLimits: WebSocketLimits
    let handshakeTimeoutMilliseconds: UInt64
    let pingIntervalMilliseconds: UInt64
    let pongTimeoutMilliseconds: UInt64
    /// 0: connections may last as long as they like.
    let maximumAgeMilliseconds: UInt64
    /// Connections whose tokens became invalid through no fault of theirs are closed spread over this time.
    let expulsionWindowMilliseconds: UInt64
    /// Requests that one connection may make, one after the other.
    let maximumRequestsPerConnection: Int
    let streams: StreamPolicy
    let security: TransportSecurity
    let balancer: BalancerPolicy
}

/// One loop of the node with its connections, its part of the fan-out and its counters. Confined to that loop.
final class ConnectionLoop {
    /// From our close frame to the peer's. A phone on a bad network needs a second or two; a peer that needs more is gone.
    static let closeTimeoutMilliseconds: UInt64 = 3_000
    /// After how long a client that is refused for a while may retry. Spread, or all clients that were refused in one second
    /// would retry in one second.
    static let retryAfterSeconds = 1...5
    /// The same for clients that are closed.
    static let retryMilliseconds = 1_000...5_000
    /// From an answer to the first byte of the next request on the same connection: longer than proxies keep idle
    /// connections (60 s mostly), so that they are the ones to close. A poll's wait is no part of it.
    static let idleRequestMilliseconds: UInt64 = 75_000

    /// A connection that is younger, and whose first request has not begun, may have sent it: the node that goes out of service
    /// reads and refuses it instead of cutting the connection.
    static let newcomerMilliseconds: UInt64 = 1_000
    /// Connections beyond an address's limit whose request is still read, so that the refusal can name its page. Further ones are
    /// refused at once, so silent sockets hold no more than these.
    static let maximumLateRefusals = 256

    /// Preflights that a browser may send on a connection without an admitted client: more than there are addresses. Each has a
    /// newcomer's time, so more of them could keep a connection open without a token.
    static let maximumPreflights = 16

    /// From the end of an idle connection to its peer's: some round trips. A node that ends waits for all of them.
    static let idleEndMilliseconds: UInt16 = 200
    /// How many bytes the client of an event stream may send after its request. They are ignored; a client that pipelines may
    /// send another request or two.
    static let maximumStrayBytes = 64 * 1024

    let eventLoop: EventLoop
    let index: Int
    /// Replaced as whole values when settings are reloaded, by ``adopt(_:_:)``. Code that must see a later change reads them here
    /// and keeps no copy.
    private(set) var policy: ConnectionPolicy
    private(set) var admission: Admission
    let logger: Logger
    let log: ConnectionLog
    let fanOut: LoopFanOut<Connection>
    let transports: TransportLoop
    let webSockets: WebSocketLoop
    let ingest: Mailbox<IngestMessage>
    /// The node's, of all loops.
    let quota: ConnectionQuota
    let lookups: Mailbox<TokenLookupRequest>
    /// Nil: there is no archive.
    let archive: ArchiveRequests?
    /// Without what the fan-out counts: see ``totals``.
    var counters = LoopCounters()
    /// What a session made of the bytes at hand; kept between calls for its memory alone.
    var events: [WebSocketEvent] = []
    /// Spreads what many would do at once.
    var spread = SpreadGenerator()
    /// See ``maximumLateRefusals``.
    var lateRefusals = 0

    private let backlog: LoopBacklog
    private(set) var connections = ConnectionTable()
    private var clock = SecondClock()
    var walk = Walk()
    /// Polls that are owed events go on being answered in the next tick.
    private var isAnswering = false
    /// Called once, when the last connection has gone.
    var emptied: (() -> Void)?
    /// The running drain; nil: the node stays in service.
    var drain: Drain?
    var expulsions = Expulsions()

    init(
        eventLoop: EventLoop, index: Int, policy: ConnectionPolicy, admission: Admission, log: ConnectionLog,
        ingest: Mailbox<IngestMessage>, lookups: Mailbox<TokenLookupRequest>, quota: ConnectionQuota,
        backlog: LoopBacklog,
        topics: [String], archive: ArchiveRequests? = nil
    ) {
        self.eventLoop = eventLoop
        self.index = index
        self.policy = policy
        self.admission = admission
        self.log = log
        logger = log.logger
        self.ingest = ingest
        self.quota = quota
        self.lookups = lookups
        self.archive = archive
        self.backlog = backlog
        fanOut = LoopFanOut(policy: policy.streams, topics: topics)
        var limits = TransportLimits()
        limits.handshakeMilliseconds = policy.handshakeTimeoutMilliseconds
        transports = TransportLoop(loop: eventLoop, limits: limits)
        webSockets = WebSocketLoop(
            limits: policy.webSocketLimits, payloads: .objects(maximumBytes: SentToken.maximumMessageBytes))
    }

    /// Goes on with another policy and admission. Connections stay; old and new ones follow the new values from here on. A
    /// deadline or a TLS handshake that has begun ends under the old ones. Connections whose static token is gone, or names
    /// another client now, are closed.
    func adopt(_ policy: ConnectionPolicy, _ admission: Admission) {
        let setsAge = policy.maximumAgeMilliseconds != self.policy.maximumAgeMilliseconds
        self.policy = policy
        self.admission = admission
        if setsAge { applyMaximumAges() }
        fanOut.policy = policy.streams
        transports.limits.handshakeMilliseconds = policy.handshakeTimeoutMilliseconds
        webSockets.limits = policy.webSocketLimits
        visitAllConnections()
    }

    /// All that was counted on this loop.
    var totals: LoopCounters {
        var totals = counters
        let tls = transports.counters
        totals.tlsFull = UInt64(tls.handshakes - tls.resumed)
        totals.tlsResumed = UInt64(tls.resumed)
        totals.tlsFailed = UInt64(tls.failedHandshakes)
        totals.deliveries = fanOut.ledger.counts.total
        for (why, count) in fanOut.resyncs { totals.resyncs[why.rawValue, default: 0] += count }
        return totals
    }

    // MARK: - The time

    func epochSeconds() -> Int64 { clock.seconds(eventLoop.tickNumber) }

    /// From now to a second since 1970; 0 when it has passed.
    func milliseconds(until epochSecond: Int64) -> UInt64 {
        let seconds = UInt64(clamping: max(0, epochSecond - epochSeconds()))
        let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        return overflow ? .max : milliseconds
    }

    /// A random time after which a client may reconnect.
    func retryMilliseconds() -> Int { Int.random(in: Self.retryMilliseconds, using: &spread) }

    /// The refusal with a random retry time, where its code asks for one; later than the time that it names.
    func withRetry(_ refusal: Refusal) -> Refusal {
        guard refusal.code.passes else { return refusal }
        var refusal = refusal
        let floor = refusal.retryAfterSeconds ?? 0
        refusal.retryAfterSeconds = floor + Int.random(in: Self.retryAfterSeconds, using: &spread)
        return refusal
    }

    func httpDate() -> String { clock.httpDate(eventLoop.tickNumber) }

    // MARK: - Connections

    /// Accepts this loop's share of an address. Only on the loop.
    ///
    /// - Parameter highestDescriptor: clients get no descriptor with a greater number.
    func listen(_ socket: ListeningSocket, highestDescriptor: Int32 = .max) throws(ReactorError) -> Listener {
        try Listener(
            socket, loop: eventLoop, highestDescriptor: highestDescriptor,
            accept: { self.accept($0, peer: ClientAddress($1)) },
            overflow: { self.refuseForWantOfDescriptors($0, peer: ClientAddress($1)) },
            trouble: { self.log.cannotAccept($0, now: self.eventLoop.now) })
    }

    /// There is no descriptor but one that is needed again at once: one send, without reading the request.
    /// A peer that begins with a TLS handshake is only closed.
    private func refuseForWantOfDescriptors(_ descriptor: consuming FileDescriptor, peer: ClientAddress) {
        guard policy.balancer.admits(peer) else { return count(.untrusted, peer) }
        guard case .plain = policy.security else { return counters.count(.descriptors) }
        counters.refusals[RefusalCode.overloaded.rawValue, default: 0] += 1
        descriptor.sendLastWords(
            withRetry(Refusal(.overloaded)).serialized(
                date: httpDate(), fields: admission.browsers.crossOrigin.commonFields))
    }

    func accept(_ descriptor: consuming FileDescriptor, peer: ClientAddress) {
        // The descriptor is closed with this call: not a byte of such a peer is read.
        guard policy.balancer.admits(peer) else { return count(.untrusted, peer) }
        let connection = connections.add { Connection(id: $0, loop: self, peer: peer) }
        counters.accepted += 1
        connection.start(descriptor)
    }

    func forget(_ connection: Connection, _ reason: TransportEnd) {
        connections.remove(connection.id)
        counters.count(reason)
        if connections.count == 0 { becameEmpty() }
    }

    // MARK: - What ingest sends

    func receive(_ message: FanOutMessage) {
        let now = eventLoop.now
        fanOut.moment = EventLoop.microseconds
        switch fanOut.receive(message, now: now, subscription: { connections[$0]?.subscription }) {
        case .nothing: break
        // The connection may have gone meanwhile; its unsubscription is still queued.
        case .joined(let id, let answer): connections[id]?.joined(answer)
        case .delivered(let events):
            if fanOut.owesAnswers, !isAnswering { answerPolls() }
            if backlog.remove(events) { ingest.post(.caughtUp) }
        case .walk: visitAllConnections()
        case .snapshotCursor(let id, let answer): connections[id]?.archiveAnswered(answer)
        case .archive(let id, let reply): connections[id]?.archiveAnswered(reply)
        }
    }

    /// Answers polls that are owed events for as long as a slice lasts. The others have their turns in the next ticks, and
    /// what the sockets and ingest have comes in between.
    private func answerPolls() {
        isAnswering = eventLoop.runSlice { fanOut.answerNext() }
        if isAnswering { eventLoop.executeNextTick { self.answerPolls() } }
    }
}

@available(*, unavailable)
extension ConnectionLoop: Sendable {}

/// Random numbers for delays, which are no secrets. Only the first one is asked of the system, since each question to it is a
/// system call. SplitMix64.
struct SpreadGenerator: RandomNumberGenerator {
    private var state = UInt64.random(in: .min ... .max)

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var number = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
        number = (number ^ number >> 27) &* 0x94D0_49BB_1331_11EB
        return number ^ number >> 31
    }
}

/// The wall clock as a loop sees it: read at most once a tick, and the text of `Date` made at most once a second.
private struct SecondClock {
    private var tick: UInt64?
    private var now: Int64 = 0
    private var dateOf: Int64 = .min
    private var date = ""

    /// Whole seconds since 1970.
    mutating func seconds(_ tick: UInt64) -> Int64 {
        if self.tick != tick {
            self.tick = tick
            // time(2) may lag behind by a tick of the kernel: a token would be good for that long after its end.
            now = WallClock.milliseconds / 1000
        }
        return now
    }

    /// RFC 9110 §5.6.7.
    mutating func httpDate(_ tick: UInt64) -> String {
        let seconds = seconds(tick)
        if dateOf != seconds {
            dateOf = seconds
            date = HTTPDate.text(secondsSince1970: Int(seconds))
        }
        return date
    }
}
