/// A stream that is open, or the long polls that replace one.
struct OpenStream: Sendable {
    /// The running long poll, or the pause before the next.
    enum Poll: Sendable {
        case underWay(since: Milliseconds, wait: Milliseconds, until: Milliseconds)
        case due(at: Milliseconds)
    }

    /// The renewal of the token, until the new one is sent to the server.
    struct Renewal: Sendable {
        /// The number of the request for the token.
        var request: Int?
        var dueAt: Milliseconds?
        var sentAt: Milliseconds?
        /// Failed tries.
        var tries = 0
    }

    let id: Int
    let way: ConnectionWay
    /// The network on which the stream was opened. How the stream ends proves nothing about another network.
    let network: String
    let openedAt: Milliseconds
    var aliveAt: Milliseconds
    var testUntil: Milliseconds?
    var poll: Poll?
    var renewal = Renewal()

    /// What is due first, except a trial.
    func dueAt(_ settings: ConnectionMachine.Settings) -> Milliseconds? {
        let next: Milliseconds? =
            switch poll {
            case .underWay(_, _, let until): until
            case .due(let at): at
            case nil: aliveAt + settings.silenceLimit
            }
        return [next, testUntil, renewal.dueAt].compactMap { $0 }.min()
    }
}

/// While a stream is open.
extension ConnectionMachine {
    /// When better transports are tried again instead of this one.
    func trialAt(_ stream: OpenStream) -> Milliseconds? {
        isOnline && stream.network == fallback.network && stream.way == fallback.way ? fallback.trialAt : nil
    }

    mutating func open(_ id: Int) {
        fallback.opened(now: now, &jitter)
        (downSince, attempt, notBefore) = (nil, 0, nil)
        phase = .open(
            OpenStream(id: id, way: fallback.way, network: fallback.network, openedAt: now, aliveAt: now))
    }

    mutating func receiveSign(_ id: Int) {
        guard var stream = stream(id) else { return }
        stream.aliveAt = now
        stream.testUntil = nil
        phase = .open(stream)
    }

    // MARK: Polls

    mutating func receivePoll(_ id: Int, _ more: Bool) {
        if isOpening(id) {
            guard !fallback.way.isStream else { return }
            guard fallback.way == .polling else {
                open(id)
                return nextPoll(more)
            }
            if more { return pollAgain(id) }
            fallback.opened(now: now, &jitter)
            retry.reset()
            (downSince, attempt, notBefore, refusal) = (nil, 0, nil, .none)
            let interval = settings.pollInterval
            let next = now + jitter.milliseconds(interval * 9 / 10, interval * 11 / 10)
            // Better transports are tried again when that is due, not with the next poll.
            phase = .waiting(until: min(next, fallback.trialAt ?? next), why: .poll)
            return
        }
        guard let stream = stream(id), case .underWay(_, let wait, _) = stream.poll else { return }
        if wait > 0 { fallback.waitAnswered() }
        nextPoll(more)
    }

    private mutating func pollAgain(_ id: Int) {
        phase = .opening(id: id, until: now + settings.openLimit)
        effects.append(.poll(id: id, wait: 0))
    }

    /// Polls again: at once if there is more already, otherwise after a pause, so that fast answers make no loop.
    private mutating func nextPoll(_ more: Bool) {
        guard case .open(var stream) = phase else { return }
        if !more, case .underWay(let since, _, _) = stream.poll, since + Self.pollPause > now {
            stream.poll = .due(at: since + Self.pollPause)
            phase = .open(stream)
        } else {
            sendPoll(wait: more ? 0 : fallback.wait)
        }
    }

    private mutating func sendPoll(wait: Milliseconds) {
        guard case .open(var stream) = phase else { return }
        stream.poll = .underWay(since: now, wait: wait, until: now + wait + settings.openLimit)
        phase = .open(stream)
        effects.append(.poll(id: stream.id, wait: wait))
    }

    // MARK: The next token

    mutating func renew(_ id: Int) {
        guard var stream = stream(id), stream.way == .webSocket, stream.renewal.request == nil else { return }
        stream.renewal.tries = 0
        let soonest = stream.renewal.sentAt.map { $0 + Self.renewalPause } ?? now
        stream.renewal.dueAt = max(now, soonest)
        phase = .open(stream)
        fetchRenewal()
    }

    private mutating func fetchRenewal() {
        guard case .open(var stream) = phase, let due = stream.renewal.dueAt, due <= now else { return }
        lastRequest += 1
        stream.renewal.request = lastRequest
        stream.renewal.dueAt = now + Self.tokenLimit
        phase = .open(stream)
        effects.append(.fetchToken(request: lastRequest, fresh: true))
    }

    mutating func receiveRenewal(_ request: Int, _ isSame: Bool) {
        guard case .open(var stream) = phase, stream.renewal.request == request else { return }
        if isSame { return failRenewal(request) }
        stream.renewal = OpenStream.Renewal(sentAt: now)
        phase = .open(stream)
        effects.append(.sendToken(id: stream.id))
    }

    mutating func failRenewal(_ request: Int) {
        guard case .open(var stream) = phase, stream.renewal.request == request else { return }
        stream.renewal.request = nil
        stream.renewal.tries += 1
        stream.renewal.dueAt = stream.renewal.tries < Self.maximumRenewals ? now + Self.renewalRetry : nil
        phase = .open(stream)
    }

    // MARK: What is due

    mutating func wake() {
        switch phase {
        case .idle, .unauthorized, .ended: break
        case .fetching(let request, let until): if until <= now { failToken(request, false) }
        case .opening(let id, let until): if until <= now { giveUp(id) }
        case .waiting(let until, let why): if let until, until <= now { begin(isDue: why == .offline) }
        case .open(let stream): wake(stream)
        }
    }

    private mutating func giveUp(_ id: Int) {
        effects.append(.abandon(id: id))
        lose(id, .silent)
    }

    private mutating func wake(_ stream: OpenStream) {
        if let testUntil = stream.testUntil, testUntil <= now {
            effects.append(.abandon(id: stream.id))
            leave(stream, isCut: false)
            return beginSoon()
        }
        if let trialAt = trialAt(stream), trialAt <= now {
            effects.append(.close(id: stream.id))
            leave(stream, isCut: false)
            return begin()
        }
        switch stream.poll {
        case .due(let at): if at <= now { sendPoll(wait: fallback.wait) }
        case .underWay(_, _, let until): if until <= now { return giveUp(stream.id) }
        case nil: if stream.aliveAt + settings.silenceLimit <= now { return giveUp(stream.id) }
        }
        guard let dueAt = stream.renewal.dueAt, dueAt <= now else { return }
        if let request = stream.renewal.request { failRenewal(request) } else { fetchRenewal() }
    }
}
