/// Decides about the one connection of a client: when to try, with which token, by which transport, and when to give up.
///
/// Its owner carries out the effects. Each attempt has an `id`, and each request for a token a `request`. Their results return
/// with that number; a late result changes nothing. The owner keeps the cursor. An opened stream or a poll continues from the
/// newest delivered cursor, and a closed one delivers nothing more. So a change of the transport loses and duplicates nothing.
public struct ConnectionMachine: StateMachine {
    /// A token, or the answer to a poll, is given up after this time.
    static let tokenLimit: Milliseconds = 30_000
    /// The limit from a ping, after a change of the path, to the first sign of life.
    static let testLimit: Milliseconds = 2_000
    /// Long polls begin at least this long after each other, unless the server has more already.
    static let pollPause: Milliseconds = 1_000
    /// The least time between two renewals of the token of one stream. Without it, a token that lives less than a minute would be
    /// renewed without end.
    static let renewalPause: Milliseconds = 30_000
    /// A renewal that brought no new token is tried again after this time, at most this often.
    static let renewalRetry: Milliseconds = 15_000
    static let maximumRenewals = 5

    enum Phase: Sendable {
        case idle
        case fetching(request: Int, until: Milliseconds)
        case opening(id: Int, until: Milliseconds)
        case open(OpenStream)
        case waiting(until: Milliseconds?, why: WaitReason)
        case unauthorized
        case ended(ConnectionEnd)
    }

    /// Whether a token was refused, or had expired by the server's message, since the last stream that lasted. The next such
    /// message gets a slower answer, or ends the connection.
    enum Refusal {
        case none, refused, expired
    }

    let settings: Settings
    var phase = Phase.idle
    var fallback: TransportFallback
    /// The records of known transports that the owner keeps.
    private var remembered: [KnownWay]
    var retry: Retry
    var jitter: Jitter
    var refusal = Refusal.none
    /// Whether the server itself refused the token of the last attempt: then it must not be used again. A token that was never
    /// refused may be used again, however its attempt ended.
    var isTokenRefused = false
    /// The time of the last input.
    var now: Milliseconds = 0
    /// The effects of the current input.
    var effects: [Effect] = []
    var isStarted = false
    var isForeground = true
    var isOnline = true
    var lastRequest = 0
    var lastID = 0
    /// When the last attempt began.
    var lastAttemptAt: Milliseconds?
    /// Attempts since ``downSince``.
    var attempt = 0
    var downSince: Milliseconds?
    /// The server asked for no attempt before this time.
    var notBefore: Milliseconds?

    /// A connection that is not wanted yet.
    public init(_ settings: Settings) {
        var settings = settings
        settings.pollInterval = settings.pollInterval.limited(least: 1_000)
        self.settings = settings
        fallback = TransportFallback(ways: settings.ways, longestWait: settings.longPollWait, known: settings.known)
        remembered = fallback.known
        retry = Retry(seed: settings.seed)
        jitter = Jitter(seed: settings.seed &+ 1)
    }

    /// The state of the connection.
    public var view: View {
        let state: ConnectionState =
            switch phase {
            case .idle: .idle
            case .fetching, .opening: .connecting(since: downSince ?? now, attempt: attempt)
            case .open: .connected
            case .waiting(let until, let why): .waiting(until: until, why: why)
            case .unauthorized: .unauthorized
            case .ended(let error): .ended(error: error)
            }
        guard case .open(let stream) = phase else { return View(state: state, way: fallback.way, isTested: false) }
        return View(state: state, way: stream.way, isTested: stream.testUntil != nil)
    }

    /// When something is due.
    public var wakeAt: Milliseconds? {
        switch phase {
        case .idle, .unauthorized, .ended: nil
        case .fetching(_, let until), .opening(_, let until): until
        case .waiting(let until, _): until
        case .open(let stream): [stream.dueAt(settings), trialAt(stream)].compactMap { $0 }.min()
        }
    }

    /// Handles an input. The returned effects are to be carried out in order.
    public mutating func handle(_ input: Input, at now: Milliseconds) -> [Effect] {
        self.now = now
        effects = []
        switch input {
        case .start: start()
        case .stop: stop()
        case .background: enterBackground()
        case .foreground: enterForeground()
        case .refresh: refresh()
        case .path(let isSatisfied, let network): changePath(isSatisfied, network ?? "")
        case .token(let request, let isSame): receiveToken(request, isSame)
        case .tokenFailed(let request, let isUnauthorized): failToken(request, isUnauthorized)
        case .opened(let id): if isOpening(id), fallback.way.isStream { open(id) }
        case .alive(let id): receiveSign(id)
        case .polled(let id, let more): receivePoll(id, more)
        case .expiring(let id): renew(id)
        case .refused(let id, let status, let code, let retryAfter): refuse(id, status, code, retryAfter)
        case .closed(let id, let code, let retry): close(id, code, retry)
        case .lost(let id, let how): lose(id, how)
        case .wake: wake()
        }
        if fallback.known != remembered {
            remembered = fallback.known
            effects.append(.remember(known: remembered))
        }
        defer { effects = [] }
        return effects
    }

    // MARK: Attempts

    /// Begins an attempt if the app is in the foreground, and there is a network or the attempt is due without one.
    mutating func begin(isDue: Bool = false) {
        guard isForeground else { return become(.idle) }
        downSince = downSince ?? now
        guard isOnline || isDue else { return waitOffline() }
        attempt += 1
        lastAttemptAt = now
        fallback.begin(now: now)
        lastRequest += 1
        phase = .fetching(request: lastRequest, until: now + Self.tokenLimit)
        effects.append(.fetchToken(request: lastRequest, fresh: isTokenRefused))
    }

    /// Begins at once, but not before the server's time, and no sooner than the shortest wait: paths and pages change often.
    mutating func beginSoon() {
        downSince = downSince ?? now
        guard isForeground, isOnline else { return begin() }
        let spaced = lastAttemptAt.map { $0 + Retry.minimum } ?? now
        if let notBefore, notBefore > max(now, spaced) { return become(.waiting(until: notBefore, why: .asked)) }
        if spaced > now { return become(.waiting(until: spaced, why: .retry)) }
        begin()
    }

    /// Tries again after `wait`, if there is a network then.
    mutating func pause(_ wait: Milliseconds, _ why: WaitReason) {
        downSince = downSince ?? now
        if why == .asked { notBefore = now + wait }
        if isOnline { phase = .waiting(until: now + wait, why: why) } else { waitOffline() }
    }

    /// Waits for the network. The report that there is none may be wrong, if the settings allow for that.
    private mutating func waitOffline() {
        let until = settings.offlineRetry.map { max(now + $0, notBefore ?? 0) }
        phase = .waiting(until: until, why: .offline)
    }

    mutating func backOff() { pause(retry.wait(), .retry) }

    mutating func become(_ phase: Phase) { self.phase = phase }

    func isOpening(_ id: Int) -> Bool {
        if case .opening(id, _) = phase { true } else { false }
    }

    /// The open stream with this number, if there is one.
    func stream(_ id: Int) -> OpenStream? {
        if case .open(let stream) = phase, stream.id == id { stream } else { nil }
    }

    // MARK: Tokens

    private mutating func receiveToken(_ request: Int, _ isSame: Bool) {
        guard case .fetching(request, _) = phase else { return receiveRenewal(request, isSame) }
        if isSame, isTokenRefused {
            return refusal == .expired ? pause(retry.wait(), .token) : become(.unauthorized)
        }
        isTokenRefused = false
        lastID += 1
        let limit = fallback.isTrial ? settings.trialLimit : settings.openLimit
        phase = .opening(id: lastID, until: now + limit)
        switch fallback.way {
        case .webSocket, .eventStream: effects.append(.open(id: lastID, way: fallback.way))
        case .longPoll, .polling: effects.append(.poll(id: lastID, wait: 0))
        }
    }

    mutating func failToken(_ request: Int, _ isUnauthorized: Bool) {
        guard case .fetching(request, _) = phase else { return failRenewal(request) }
        if isUnauthorized { phase = .unauthorized } else { pause(retry.wait(), .token) }
    }
}
