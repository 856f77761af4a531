/// The surroundings of the machine, and the stream that it follows.
extension UpdateMachine {
    mutating func foreground() {
        guard !isForeground else { return }
        isForeground = true
        // People who return are not shown a sign about the time in the background.
        leftConnected = nil
        expire()
        retryNow()
        guard case .idle = state else { return }
        if let number = pollNumber { effects.append(.cancel(number: number)) }
        pollNumber = nil
        open()
    }

    mutating func background() {
        guard isForeground else { return }
        isForeground = false
        switch state {
        case .registering where phase != .storing: becomeStale()
        case .live, .pollFailed:
            unfollow()
            rest()
        case .notLoaded, .stale, .registering, .registerFailed, .idle: unfollow()
        }
    }

    mutating func network(_ isSatisfied: Bool) {
        defer { hasNetwork = isSatisfied }
        if isSatisfied && !hasNetwork { retryNow() }
    }

    mutating func token(_ isValid: Bool) {
        tokenRetryAt = nil
        guard isValid else {
            hasToken = false
            isUnauthorized = true
            return
        }
        if isUnauthorized { hasAskedForToken = false }
        isUnauthorized = false
        hasToken = true
        tokenRetry.reset()
        lastNumberBeforeToken = lastNumber
        retryNow()
    }

    mutating func tokenFailed() {
        guard !hasToken, !isUnauthorized, end == nil else { return }
        tokenRetryAt = now + tokenRetry.wait()
    }

    /// This is final: what is known stays, and requests of the connection are given up.
    mutating func ended(_ error: ConnectionEnd) {
        guard end == nil else { return }
        end = error
        tokenRetryAt = nil
        switch state {
        case .registering where phase != .storing: becomeStale()
        case .live:
            unfollow()
            open()
        case .idle:
            if let number = pollNumber { effects.append(.cancel(number: number)) }
            pollNumber = nil
            rest()
        case .notLoaded, .stale, .registering, .registerFailed, .pollFailed: unfollow()
        }
    }

    mutating func refresh() {
        if tokenRetryAt != nil { tokenRetryAt = now }
        guard isForeground && canAsk else { return }
        retryNow()
        if state == .live { fetchAgain() }
    }

    /// Has everything fetched again. The stream stays open: a snapshot that begins now contains what came so far. What comes from
    /// now on follows the snapshot.
    mutating func fetchAgain() {
        guard followNumber != nil, let cursor = pending.lastCursor ?? metadata.finger else { return becomeStale() }
        let (caughtUpAt, came) = (caughtUpAt, metadata.lastSuccess ?? now)
        becomeStale(resync: cursor)
        self.caughtUpAt = caughtUpAt
        // While missed events are outstanding, the cursor is as old as the state.
        if caughtUpAt == nil { fresh?.came = came }
    }

    private mutating func retryNow() {
        state = state.retrying(at: now)
        pending.retryNow(at: now)
        registerAt = nil
        if commitRetryAt != nil { commitRetryAt = now }
        if tokenRetryAt != nil { tokenRetryAt = now }
    }

    /// Continues from the cursor held: with a stream in the foreground, by polls or not at all in the background.
    mutating func open() {
        guard isForeground else { return rest() }
        guard canAsk else {
            state = .pollFailed(retryAt: now, failures: failures, cause: .notAsked)
            return
        }
        state = .live
        guard followNumber == nil, let since = pending.lastCursor ?? metadata.finger else { return }
        let number = number()
        followNumber = number
        metadata.lastAttempt = now
        effects.append(.follow(number: number, since: since))
    }

    /// Up to a tenth later than the interval, so that clients that went to the background together do not poll together for ever.
    private mutating func rest(asked: Milliseconds = 0) {
        guard end == nil, let interval = settings.pollInterval else {
            state = .idle(nextPoll: nil)
            return
        }
        let spread = pollJitter.milliseconds(0, interval / 10)
        state = .idle(nextPoll: now + max(interval + spread, asked))
    }

    mutating func unfollow() {
        guard followNumber != nil else { return }
        effects.append(.unfollow)
        closed()
    }

    private mutating func closed() {
        followNumber = nil
        caughtUpAt = nil
        stalledSince = nil
    }

    mutating func collect(_ events: [ThingEvent], _ at: String) {
        // A snapshot that has not begun will contain these events.
        if awaitsSnapshot {
            fresh = (at, now)
            return
        }
        let ours = settings.entities.isEmpty ? events : events.filter { settings.entities.contains($0.thing.entity) }
        pending.add(ours, at, now: now, committing: commit?.batches ?? 0)
        if pending.count > settings.maximumPending { overflow() }
    }

    /// Whether the stream is open and a snapshot will begin, which will contain what comes until then.
    private var awaitsSnapshot: Bool {
        guard followNumber != nil else { return false }
        return switch state {
        case .stale, .registerFailed: true
        case .notLoaded, .registering, .live, .pollFailed, .idle: false
        }
    }

    /// One snapshot costs less than so many reloads. But repeated snapshots, by all clients of a busy account, come when the API
    /// is slow already. So only the first begins at once.
    private mutating func overflow() {
        if isCalm { overflowRetry.reset() }
        let isFirst = overflowRetry.failures == 0
        let wait = overflowRetry.wait()
        fetchAgain()
        if !isFirst { state = .registerFailed(retryAt: now + wait, failures: failures, cause: .overflow) }
    }

    /// Whether for a long time nothing had to be fetched as a whole.
    var isCalm: Bool {
        guard state == .live, let caughtUpAt else { return false }
        return now - max(caughtUpAt, snapshotAt ?? caughtUpAt) >= Retry.calm
    }

    mutating func caughtUp(_ at: String) {
        caughtUpAt = caughtUpAt ?? now
        failures = 0
        collect([], at)
    }

    mutating func lost(_ after: Milliseconds?) {
        if let caughtUpAt, now - caughtUpAt >= Retry.calm { retry.reset() }
        closed()
        // A machine that registers continues where the stream ended, once the snapshot is there.
        guard state == .live else { return }
        failures += 1
        state = .pollFailed(retryAt: now + retry.wait(asked: after), failures: failures, cause: .lost)
    }

    mutating func poll() {
        rest()
        guard canAsk, let since = pending.lastCursor ?? metadata.finger else { return }
        let number = number()
        pollNumber = number
        metadata.lastAttempt = now
        pending.retryNow(at: now)
        effects.append(.poll(number: number, since: since))
    }

    mutating func page(_ number: Int, _ events: [ThingEvent], _ at: String, _ more: Bool) {
        guard number == pollNumber else { return }
        pollNumber = nil
        collect(events, at)
        if more && metadata.finger != nil { poll() }
    }

    mutating func pageFailed(_ number: Int, _ failure: RequestFailure) {
        guard number == pollNumber else { return }
        pollNumber = nil
        switch failure {
        case .unauthorized: if number > lastNumberBeforeToken { unauthorized() }
        // The server cannot read the cursor: to ask again would change nothing.
        case .rejected(400): becomeStale()
        case .retry(let after?):
            var retry = Retry(seed: pollJitter.next())
            rest(asked: retry.wait(retryAfter: after))
        case .rejected, .unreadable, .retry: break
        }
    }
}
