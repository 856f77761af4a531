/// What the app and its device do around the connection.
extension ConnectionMachine {
    mutating func start() {
        switch phase {
        case .unauthorized:
            (refusal, isTokenRefused) = (.none, false)
            begin()
        case .idle where !isStarted:
            isStarted = true
            begin()
        case .idle, .fetching, .opening, .open, .waiting, .ended: break
        }
    }

    mutating func stop() {
        if case .ended = phase { return }
        drop()
        phase = .ended(.stopped)
    }

    /// Ends what is open with a word, and what is being opened without one.
    private mutating func drop() {
        switch phase {
        case .opening(let id, _): effects.append(.abandon(id: id))
        case .open(let stream):
            effects.append(.close(id: stream.id))
            leave(stream, isCut: false)
        case .idle, .fetching, .waiting, .unauthorized, .ended: break
        }
    }

    mutating func enterBackground() {
        isForeground = false
        switch phase {
        case .unauthorized, .ended: return
        case .idle, .fetching, .opening, .open, .waiting: break
        }
        drop()
        phase = .idle
        (downSince, attempt) = (nil, 0)
    }

    mutating func enterForeground() {
        guard !isForeground else { return }
        isForeground = true
        switch phase {
        // Somebody is there again: one more attempt, with another token.
        case .unauthorized:
            (refusal, isTokenRefused) = (.refused, true)
            beginSoon()
        case .idle: if isStarted { beginSoon() }
        case .fetching, .opening, .open, .waiting, .ended: break
        }
    }

    mutating func changePath(_ isSatisfied: Bool, _ network: String) {
        let isOther = network != ladder.network && isSatisfied
        let isBack = isSatisfied && !isOnline
        isOnline = isSatisfied
        if isOther {
            ladder.enter(network)
            retry.reset()
        }
        switch phase {
        case .idle, .unauthorized, .ended: break
        case .open(let stream): test(stream)
        case .fetching: if isOther || isBack || !isSatisfied { beginSoon() }
        case .opening(let id, _):
            guard isOther || isBack || !isSatisfied else { return }
            effects.append(.abandon(id: id))
            beginSoon()
        case .waiting: beginSoon()
        }
    }

    /// What is waited for begins now, whoever has asked for the wait, and what is open is tested.
    mutating func refresh() {
        switch phase {
        case .open(let stream): test(stream)
        case .waiting:
            notBefore = nil
            beginSoon()
        case .idle, .fetching, .opening, .unauthorized, .ended: break
        }
    }

    /// The path under a stream has changed: a ping says whether it still carries. What cannot be pinged is opened
    /// again; where there is no network, when it is back.
    private mutating func test(_ stream: OpenStream) {
        guard stream.way == .webSocket else {
            effects.append(.abandon(id: stream.id))
            leave(stream, isCut: false)
            return beginSoon()
        }
        var stream = stream
        // Of several changes the first sets the end: a path that flaps does not put it off.
        stream.testUntil = stream.testUntil ?? now + Self.testLimit
        phase = .open(stream)
        effects.append(.ping(id: stream.id))
    }
}
