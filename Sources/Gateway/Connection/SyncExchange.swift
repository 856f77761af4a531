import HTTP
import LiveUpdates
import Reactor

/// One request to `/sync/v1`, from its admission to its answer: a page at once, or the first event that comes.
///
/// While it waits it costs a place among the account's watchers and a timer. Confined to its loop.
final class SyncExchange {
    /// What a client may send ahead of the answer: some requests, as pipelining allows.
    static let maximumEarlyBytes = 32 * 1024

    private let parameters: SyncParameters
    private let keepsAlive: Bool
    private unowned let connection: Connection
    private unowned let loop: ConnectionLoop
    private let account: Account
    private var early: [UInt8]
    /// Ingest has answered the subscription.
    private(set) var isJoined = false
    private var position: StreamPosition?
    private var isWatching = false
    private var isReading = false
    /// An event has come since the page was asked for.
    private var isDue = false
    /// The client has waited as long as it wanted to.
    private var isOver = false
    private var timer: Timer?

    init(
        _ parameters: SyncParameters, keepsAlive: Bool, early: [UInt8], account: Account, connection: Connection,
        loop: ConnectionLoop
    ) {
        self.parameters = parameters
        self.keepsAlive = keepsAlive
        self.early = early
        self.account = account
        self.connection = connection
        self.loop = loop
    }

    func keepEarly(_ bytes: Span<UInt8>) {
        for index in bytes.indices { early.append(bytes[index]) }
        // Its end would go unnoticed until the answer; whoever sends so much ahead is no phone.
        if early.count > Self.maximumEarlyBytes { connection.transport?.pauseReading() }
    }

    func begin() {
        loop.subscribe(connection, JoinRequest(since: parameters.since, page: pageRequest))
    }

    func joined(_ answer: JoinAnswer) {
        isJoined = true
        switch answer.outcome {
        case .refused(let why): refuse(why, answer.fresh)
        case .now: reply(SyncPage().finished(at: answer.fresh.bytes, more: false))
        case .resumed(let page, _): took(page)
        }
    }

    private var pageRequest: PageRequest {
        PageRequest(limit: parameters.limit, entities: parameters.entities, withCursors: true)
    }

    private func read() {
        guard let position, !isReading else { return }
        isReading = true
        isDue = false
        loop.read(connection, ReadRequest(position: position, page: pageRequest))
    }

    func took(_ page: PageAnswer) {
        isReading = false
        guard case .page(let events, let position, let isComplete) = page.answer else {
            return refuse(.expired, page.fresh)
        }
        if events.isEmpty, isComplete, parameters.waitMilliseconds > 0, !isOver {
            self.position = position
            return wait()
        }
        if isComplete { return reply(page: events, at: page.fresh.bytes, false) }
        guard let last = events.last else { preconditionFailure("a page that is neither the last nor has an event") }
        reply(page: events, at: last.at, true)
    }

    private func reply(page events: [LoggedEvent], at cursor: [UInt8], _ more: Bool) {
        var page = SyncPage()
        for event in events { page.append(event.event, at: event.at, ts: event.timestamp) }
        reply(page.finished(at: cursor, more: more))
    }

    // MARK: - Waiting

    private func wait() {
        if isWatching {
            // What came while the page was on its way did not pass the filter.
            if isDue { read() }
            return
        }
        isWatching = true
        loop.fanOut.watch(connection, account: account)
        let patience = min(parameters.waitMilliseconds, connection.tokenMilliseconds)
        timer = loop.eventLoop.schedule(afterMilliseconds: patience) { [weak self] in
            guard let self else { return }
            timer = nil
            isOver = true
            // A page that is on its way brings a cursor of its own.
            if !isReading { loop.askFreshCursor(connection) }
        }
    }

    func eventsCame(_ events: [LoggedEvent]) {
        guard events.contains(where: { parameters.entities?.passes($0.event.entity) ?? true }) else { return }
        isDue = true
        read()
    }

    /// The time is up; what came before the cursor would have been seen.
    func tookFresh(_ cursor: CursorText) {
        if !isReading { reply(page: [], at: cursor.bytes, false) }
    }

    func reset(_ why: ResyncReason, at: CursorText) { refuse(why, at) }

    // MARK: - The answer

    private func refuse(_ why: ResyncReason, _ fresh: CursorText) {
        let refusal = SyncAnswer.refusal(of: why, fresh: fresh.bytes)
        connection.count(refusal: refusal.code.rawValue, status: refusal.status)
        answer(SyncAnswer.refused(refusal, date: loop.httpDate(), keepsAlive: keepsAlive))
    }

    private func reply(_ body: [UInt8]) {
        answer(SyncAnswer.page(body, date: loop.httpDate(), keepsAlive: keepsAlive))
    }

    private func answer(_ bytes: [UInt8]) {
        let connection = connection
        connection.endSync(answer: bytes, next: keepsAlive ? early : nil)
    }

    /// Takes the exchange out of everything. Whatever ingest still answers finds another exchange or none.
    func end() {
        if let timer = timer.take() { loop.eventLoop.cancel(timer) }
        if isWatching { loop.fanOut.unwatch(connection, account: account) }
        isWatching = false
        loop.unsubscribe(connection, withCursors: false)
    }
}

@available(*, unavailable)
extension SyncExchange: Sendable {}

extension Connection {
    func beginSync(_ parameters: SyncParameters, keepsAlive: Bool, _ early: Span<UInt8>) {
        var rest: [UInt8] = []
        for index in early.indices { rest.append(early[index]) }
        phase = .syncing
        let exchange = SyncExchange(
            parameters, keepsAlive: keepsAlive, early: rest, account: account, connection: self, loop: loop)
        sync = exchange
        exchange.begin()
    }

    /// - Parameter next: what the client has said already of its next request; nil where the connection ends.
    func endSync(answer: [UInt8], next: [UInt8]?) {
        guard let next else { return finish(writing: answer) }
        sync?.end()
        sync = nil
        transport?.write(answer)
        awaitNextRequest(early: next)
    }

    /// Until the token ends; without an end, for ever.
    var tokenMilliseconds: UInt64 {
        identity?.expiresAt.map { loop.milliseconds(until: $0) } ?? .max
    }
}
