/// Decides about the one connection of a client: when to try, with which token, by which way, and when to give up.
///
/// Its owner carries out the effects. Each attempt has an `id` and each wish for a token a `request`; what comes of
/// them comes back with that number, and what comes late changes nothing. The owner keeps the cursor: whatever is
/// opened or polled goes on from the newest that was delivered, and what it closes delivers nothing any more, so that
/// a change of way loses and doubles nothing.
public struct ConnectionMachine: StateMachine {
    /// A token or an answer to a poll that takes longer than this is given up.
    static let tokenLimit: Milliseconds = 30_000
    /// From a ping after a change of path to whatever comes.
    static let testLimit: Milliseconds = 2_000
    /// Long polls begin no faster after each other, unless there is more already.
    static let pollPause: Milliseconds = 1_000
    /// Between two renewals of the token of one stream: a token that lives for less than a minute would be renewed
    /// without end.
    static let renewalPause: Milliseconds = 30_000
    /// A renewal that brought no new token is tried again after so long, so often.
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

    /// Whether a token was refused, or said to have expired, since the last stream that lasted: the next such word is
    /// answered more slowly, or with the end.
    enum Refusal {
        case none, refused, expired
    }

    let settings: Settings
    var phase = Phase.idle
    var ladder: WayLadder
    /// What the owner keeps of ``ladder``.
    private var remembered: [KnownWay]
    var retry: Retry
    var jitter: Jitter
    var refusal = Refusal.none
    /// Whether the server refused the token of the last attempt itself: it is not to be used again. One that was never
    /// refused may be, however its attempt ended.
    var isTokenRefused = false
    /// Of the last input.
    var now: Milliseconds = 0
    /// Of the input that is being handled.
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
    /// The server's word: no attempt before that.
    var notBefore: Milliseconds?

    /// A connection that nobody wants yet.
    public init(_ settings: Settings) {
        var settings = settings
        settings.pollInterval = settings.pollInterval.limited(least: 1_000)
        self.settings = settings
        ladder = WayLadder(ways: settings.ways, longestWait: settings.longPollWait, known: settings.known)
        remembered = ladder.known
        retry = Retry(seed: settings.seed)
        jitter = Jitter(seed: settings.seed &+ 1)
    }

    /// Where it stands.
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
        guard case .open(let stream) = phase else { return View(state: state, way: ladder.way, isTested: false) }
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

    /// Handles what happens; what it answers is to be done in its order.
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
        case .opened(let id): if isOpening(id), ladder.way.isStream { open(id) }
        case .alive(let id): receiveSign(id)
        case .polled(let id, let more): receivePoll(id, more)
        case .expiring(let id): renew(id)
        case .refused(let id, let status, let code, let retryAfter): refuse(id, status, code, retryAfter)
        case .closed(let id, let code, let retry): close(id, code, retry)
        case .lost(let id, let how): lose(id, how)
        case .wake: wake()
        }
        if ladder.known != remembered {
            remembered = ladder.known
            effects.append(.remember(known: remembered))
        }
        defer { effects = [] }
        return effects
    }

    // MARK: Attempts

    /// Begins an attempt, if one may be made: in the foreground and with a network, or where it is due although there is none.
    mutating func begin(isDue: Bool = false) {
        guard isForeground else { return become(.idle) }
        downSince = downSince ?? now
        guard isOnline || isDue else { return waitOffline() }
        attempt += 1
        lastAttemptAt = now
        ladder.begin(now: now)
        lastRequest += 1
        phase = .fetching(request: lastRequest, until: now + Self.tokenLimit)
        effects.append(.fetchToken(request: lastRequest, fresh: isTokenRefused))
    }

    /// Begins at once, but not before the server's word, and no faster than the shortest wait: paths and pages flap.
    mutating func beginSoon() {
        downSince = downSince ?? now
        guard isForeground, isOnline else { return begin() }
        let spaced = lastAttemptAt.map { $0 + Retry.minimum } ?? now
        if let notBefore, notBefore > max(now, spaced) { return become(.waiting(until: notBefore, why: .asked)) }
        if spaced > now { return become(.waiting(until: spaced, why: .retry)) }
        begin()
    }

    /// Comes back after `wait`, when there is a network then.
    mutating func pause(_ wait: Milliseconds, _ why: WaitReason) {
        downSince = downSince ?? now
        if why == .asked { notBefore = now + wait }
        if isOnline { phase = .waiting(until: now + wait, why: why) } else { waitOffline() }
    }

    /// Waits for the network. Who says that there is none may be wrong, if the settings say so.
    private mutating func waitOffline() {
        let until = settings.offlineRetry.map { max(now + $0, notBefore ?? 0) }
        phase = .waiting(until: until, why: .offline)
    }

    mutating func backOff() { pause(retry.wait(), .retry) }

    mutating func become(_ phase: Phase) { self.phase = phase }

    func isOpening(_ id: Int) -> Bool {
        if case .opening(id, _) = phase { true } else { false }
    }

    /// The open stream, where it is this one.
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
        let limit = ladder.isTrial ? settings.trialLimit : settings.openLimit
        phase = .opening(id: lastID, until: now + limit)
        switch ladder.way {
        case .webSocket, .eventStream: effects.append(.open(id: lastID, way: ladder.way))
        case .longPoll, .polling: effects.append(.poll(id: lastID, wait: 0))
        }
    }

    mutating func failToken(_ request: Int, _ isUnauthorized: Bool) {
        guard case .fetching(request, _) = phase else { return failRenewal(request) }
        if isUnauthorized { phase = .unauthorized } else { pause(retry.wait(), .token) }
    }
}
