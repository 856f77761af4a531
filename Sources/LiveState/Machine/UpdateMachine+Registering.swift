/// Registering: first a fresh cursor, then a snapshot begun after the cursor came, then everything since.
extension UpdateMachine {
    mutating func loaded(_ stored: UpdateMetadata?) {
        guard state == .notLoaded else { return }
        commitRetryAt = nil
        commitRetry.reset()
        if !isInMemory { storeFailures = 0 }
        metadata = stored ?? UpdateMetadata()
        // The clock may have been set back since then: only the server knows how old the state is.
        metadata.lastSuccess = metadata.lastSuccess.map { min($0, now) }
        if metadata.lastSuccess == nil { metadata.finger = nil }
        state = .stale
        expire()
        guard metadata.finger != nil else {
            metadata.knownStale = nil
            return
        }
        pending.restore(metadata.knownStale ?? [], at: now)
        open()
    }

    /// Begins everything that is due.
    mutating func advance() {
        expire()
        if let tokenRetryAt, tokenRetryAt <= now, isForeground && hasNetwork {
            self.tokenRetryAt = nil
            effects.append(.requestToken)
        }
        let mayTry = isForeground && canAsk
        switch state {
        case .stale: if mayTry && registerAt.map({ $0 <= now }) != false { register() }
        case .registerFailed(let retryAt, _, _): if mayTry && retryAt <= now { register() }
        case .pollFailed(let retryAt, _, _): if mayTry && retryAt <= now { open() }
        case .idle(let nextPoll): if let nextPoll, nextPoll <= now, pollNumber == nil { poll() }
        case .notLoaded, .registering, .live: break
        }
        if mayReload {
            let mayRetry = isForeground || pollNumber != nil
            let begun = pending.begin(at: now, mayRetry: mayRetry, lastNumber: &lastNumber)
            effects += begun
        }
        beginCommit()
    }

    private mutating func register() {
        metadata.lastAttempt = now
        state = .registering
        if let fresh, now < fresh.came + settings.retention {
            let number = number()
            phase = .snapshot(number: number)
            effects.append(.requestSnapshot(number: number))
        } else {
            forgetFresh()
            let number = number()
            phase = .finger(number: number)
            effects.append(.requestFinger(number: number))
        }
    }

    mutating func finger(_ number: Int, _ at: String) {
        guard phase == .finger(number: number) else { return }
        fresh = (at, now)
        let next = self.number()
        phase = .snapshot(number: next)
        effects.append(.requestSnapshot(number: next))
    }

    /// A failure discards the cursor, and the events collected since.
    mutating func registerFailed(_ expected: Phase, _ cause: UpdateFailure) {
        guard phase == expected else { return }
        phase = nil
        forgetFresh()
        let wait: Milliseconds
        switch cause {
        case .request(.unauthorized):
            state = .stale
            return unauthorized()
        case .request(let failure): wait = retry.wait(for: failure)
        case .store, .overflow, .lost, .notAsked: wait = retry.wait()
        }
        failures += 1
        state = .registerFailed(retryAt: now + wait, failures: failures, cause: cause)
    }

    /// Makes the next registering request a cursor.
    mutating func forgetFresh() {
        fresh = nil
        if pending.removeAll() { effects.append(.dropReloads) }
        unfollow()
    }

    /// Gives up the cursor, and keeps the state.
    ///
    /// - Parameter resync: the cursor that came with a resync; the stream continues behind it.
    mutating func becomeStale(resync: String? = nil) {
        switch phase {
        case .finger(let number), .snapshot(let number): effects.append(.cancel(number: number))
        case .storing, nil: break
        }
        phase = nil
        if let number = pollNumber { effects.append(.cancel(number: number)) }
        pollNumber = nil
        if pending.removeAll() { effects.append(.dropReloads) }
        if commit?.metadata.finger != nil { commit?.isVoid = true }
        mustForgetFinger = mustForgetFinger || metadata.finger != nil || commit?.isVoid == true
        metadata.finger = nil
        metadata.knownStale = nil
        commitRetryAt = nil
        caughtUpAt = nil
        registerAt = nil
        fresh = resync.map { ($0, now) }
        if resync == nil { unfollow() }
        state = .stale
    }

    /// The state is too old: this is decided before a request is made, not after it failed.
    mutating func expire() {
        if let expiresAt, expiresAt <= now { becomeStale() }
    }

    /// The longest delay of registering after a resync, where many clients get the resync together.
    private static var maximumSpread: Milliseconds { 3_000 }

    /// All clients get a new epoch at once, so they wait a random time. So does every second of repeated resyncs.
    mutating func resync(_ at: String, _ isEpoch: Bool?) {
        pollNumber = nil
        resyncs = isCalm ? 1 : resyncs + 1
        becomeStale(resync: at)
        guard isEpoch == true || resyncs.isMultiple(of: 2) else { return }
        registerAt = now + resyncJitter.milliseconds(0, Self.maximumSpread)
    }

    /// After a 401 one new token is requested, and no other until something has succeeded.
    mutating func unauthorized() {
        guard hasToken, end == nil else { return }
        hasToken = false
        if hasAskedForToken {
            isUnauthorized = true
        } else {
            hasAskedForToken = true
            effects.append(.requestToken)
        }
    }
}
