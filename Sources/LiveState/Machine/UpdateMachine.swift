/// Keeps an area of state as the server has it, and reports how far it can be trusted (CLIENT.md, "Update machine").
///
/// To register, it gets a fresh cursor, then the app's snapshot, then everything since that cursor. It collects events in
/// batches, and has each thing that they name reloaded. The state and the cursor move together. If events are lost, it becomes
/// stale; it is never silently wrong.
public struct UpdateMachine: StateMachine {
    let settings: Settings
    var state = State.notLoaded
    var metadata = UpdateMetadata()

    // What is around it.
    var isForeground = true
    var hasNetwork = true
    var hasToken = true
    /// A new token was requested since the last success: another 401 stops the machine.
    var hasAskedForToken = false
    var isUnauthorized = false
    /// Waits after requests for a new token that had no answer.
    var tokenRetry: Retry
    var tokenRetryAt: Milliseconds?
    /// Why nothing is requested any more.
    var end: ConnectionEnd?

    // Registering.
    /// What registering waits for now.
    enum Phase: Equatable, Sendable {
        case finger(number: Int)
        case snapshot(number: Int)
        /// The snapshot is there, and becomes the state with the next commit.
        case storing
    }
    var phase: Phase?
    /// The cursor of the running snapshot, or the cursor from a resync for the next one.
    var fresh: (at: String, came: Milliseconds)?

    // The stream.
    var followNumber: Int?
    /// When all missed events had been delivered.
    var caughtUpAt: Milliseconds?
    var stalledSince: Milliseconds?
    /// Since when the screens differ from the server, and whether the missing things could not be fetched.
    var incompleteSince: Milliseconds?
    var hasFailedToShow = false
    /// When a snapshot became the state.
    var snapshotAt: Milliseconds?
    var pollNumber: Int?
    /// Spreads the polls of clients in time.
    var pollJitter: Jitter
    /// Failed attempts since the last success.
    var failures = 0
    var retry: Retry
    /// Resyncs in a row, and when registering for them begins; nil: at once.
    var resyncs = 0
    var registerAt: Milliseconds?
    /// Spreads in time the clients that get a resync together.
    var resyncJitter: Jitter

    // What is not in the state yet.
    var pending: PendingEvents
    var commit: Commit?
    /// The store has a cursor that the machine has given up.
    var mustForgetFinger = false
    var commitRetry: Retry
    var commitRetryAt: Milliseconds?
    /// Failures of the store in a row, in reading or writing.
    var storeFailures = 0
    /// The store cannot be read or written: commits are shown, and not written.
    var isInMemory = false
    /// Waits after snapshots that more events followed than may wait.
    var overflowRetry: Retry

    var leftConnected: Milliseconds?
    var now: Milliseconds = 0
    var effects: [Effect] = []
    var lastNumber = 0
    /// A request before the newest token came proves nothing about that token.
    var lastNumberBeforeToken = 0

    /// Before ``Input/start`` it does nothing.
    public init(_ settings: Settings) {
        var settings = settings
        settings.retention = settings.retention.limited()
        settings.pollInterval = settings.pollInterval?.limited(least: 1)
        settings.patience = settings.patience.limited()
        self.settings = settings
        retry = Retry(seed: settings.seed)
        commitRetry = Retry(seed: settings.seed &+ 1)
        pending = PendingEvents(seed: settings.seed &+ 2)
        overflowRetry = Retry(seed: settings.seed &+ 3)
        tokenRetry = Retry(seed: settings.seed &+ 4)
        pollJitter = Jitter(seed: settings.seed &+ 5)
        resyncJitter = Jitter(seed: settings.seed &+ 6)
    }

    /// Handles one input.
    public mutating func handle(_ input: Input, at now: Milliseconds) -> [Effect] {
        self.now = now
        take(input)
        if state != .notLoaded { advance() } else { loadAgain() }
        let isConnected = Freshness(facts, at: now) == .connected
        leftConnected = isConnected ? nil : leftConnected ?? now
        defer { effects = [] }
        return effects
    }

    private mutating func take(_ input: Input) {
        switch input {
        case .start: if state == .notLoaded { effects.append(.load) }
        case .loaded(let stored): loaded(stored)
        case .loadFailed: loadFailed()
        case .storeLost: storeLost()
        case .wake: break
        case .foreground: foreground()
        case .background: background()
        case .network(let isSatisfied): network(isSatisfied)
        case .token(let isValid): token(isValid)
        case .tokenFailed: tokenFailed()
        case .ended(let error): ended(error)
        case .refresh: refresh()
        case .shown(let isComplete, let hasFailed):
            incompleteSince = isComplete ? nil : incompleteSince ?? now
            hasFailedToShow = hasFailed
        case .check(let thing): pending.check(thing, at: now)
        case .finger(let number, let at): finger(number, at)
        case .fingerFailed(let number, let failure): registerFailed(.finger(number: number), .request(failure: failure))
        case .snapshot(let number): if phase == .snapshot(number: number) { phase = .storing }
        case .snapshotFailed(let number, let failure):
            registerFailed(.snapshot(number: number), .request(failure: failure))
        case .events(let number, let events, let at): if number == followNumber { collect(events, at) }
        case .live(let number, let at): if number == followNumber { caughtUp(at) }
        case .resync(let number, let at, let isEpoch): if number == followNumber { resync(at, isEpoch) }
        case .source(let number, let since): if number == followNumber { stalledSince = since }
        case .lost(let number, let after): if number == followNumber { lost(after) }
        case .page(let number, let events, let at, let more): page(number, events, at, more)
        case .pageResync(let number, let at, let isEpoch): if number == pollNumber { resync(at, isEpoch) }
        case .pageFailed(let number, let failure): pageFailed(number, failure)
        case .reloaded(let number, let outcome): pending.reloaded(number, outcome)
        case .reloadFailed(let number, let failure): reloadFailed(number, failure)
        case .committed(let number): committed(number)
        case .commitFailed(let number): commitFailed(number)
        }
    }

    private mutating func reloadFailed(_ number: Int, _ failure: RequestFailure) {
        guard pending.failed(number, failure, at: now) else { return }
        if failure == .unauthorized && number > lastNumberBeforeToken { unauthorized() }
    }

    /// A number for the next request.
    mutating func number() -> Int {
        lastNumber += 1
        return lastNumber
    }

    /// Whether a request may succeed.
    var canAsk: Bool { hasNetwork && hasToken && end == nil }

    var facts: Freshness.Facts {
        var facts = Freshness.Facts()
        facts.isCaughtUp = state == .live && caughtUpAt != nil
        facts.hasNetwork = hasNetwork && end == nil
        facts.end = end
        facts.hasToken = hasToken
        facts.isForeground = isForeground
        facts.failures = failures
        facts.unappliedSince = [pending.unappliedSince, incompleteSince].compactMap { $0 }.min()
        facts.patience = settings.patience
        facts.hasFailedToApply = pending.hasFailed || commitRetry.failures > 0 || hasFailedToShow
        facts.stalledSince = stalledSince
        facts.leftConnected = leftConnected
        return facts
    }

    /// What is visible from outside now.
    public var view: View {
        View(
            state: state, freshness: Freshness(facts, at: now), sign: Freshness.sign(facts, at: now),
            metadata: metadata,
            pending: pending.count, isUnauthorized: isUnauthorized, end: end, isInMemory: isInMemory)
    }

    /// When the next attempt, poll or change of the sign is due. Nil: only another input changes anything.
    public var wakeAt: Milliseconds? {
        var times = [Freshness.nextChange(facts, after: now), commit == nil ? commitRetryAt : nil, expiresAt]
        if isForeground && hasNetwork { times.append(tokenRetryAt) }
        if isForeground && canAsk { times.append(state.retryAt ?? (state == .stale ? registerAt : nil)) }
        if isForeground && canAsk && mayReload { times.append(pending.retryAt) }
        if case .idle(let nextPoll) = state, pollNumber == nil { times.append(nextPoll) }
        return times.compactMap { $0 }.min()
    }

    /// When the server no longer keeps the events after the cursor held.
    var expiresAt: Milliseconds? {
        guard metadata.finger != nil, let lastSuccess = metadata.lastSuccess else { return nil }
        return lastSuccess + settings.retention
    }

    /// Reloads begin only when the snapshot that precedes them is in the state.
    var mayReload: Bool { metadata.finger != nil && canAsk }
}

extension UpdateMachine.State {
    var retryAt: Milliseconds? {
        switch self {
        case .registerFailed(let retryAt, _, _), .pollFailed(let retryAt, _, _): retryAt
        case .notLoaded, .stale, .registering, .live, .idle: nil
        }
    }

    /// The same state, with another time of the next attempt.
    func retrying(at now: Milliseconds) -> Self {
        switch self {
        case .registerFailed(_, let failures, let cause):
            .registerFailed(retryAt: now, failures: failures, cause: cause)
        case .pollFailed(_, let failures, let cause): .pollFailed(retryAt: now, failures: failures, cause: cause)
        case .notLoaded, .stale, .registering, .live, .idle: self
        }
    }
}
