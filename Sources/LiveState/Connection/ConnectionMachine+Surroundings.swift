/// Inputs from the app and its device.
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

    /// Ends an open stream with a close notice, and an attempt without one.
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
        // A person uses the app again: try once more, with another token.
        case .unauthorized:
            (refusal, isTokenRefused) = (.refused, true)
            beginSoon()
        case .idle: if isStarted { beginSoon() }
        case .fetching, .opening, .open, .waiting, .ended: break
        }
    }

    mutating func changePath(_ isSatisfied: Bool, _ network: String) {
        let isOther = network != fallback.network && isSatisfied
        let isBack = isSatisfied && !isOnline
        isOnline = isSatisfied
        if isOther {
            fallback.enter(network)
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

    /// Begins whatever waits, also a wait that the server asked for, and tests an open stream.
    mutating func refresh() {
        switch phase {
        case .open(let stream): test(stream)
        case .waiting:
            notBefore = nil
            beginSoon()
        case .idle, .fetching, .opening, .unauthorized, .ended: break
        }
    }

    /// The path under a stream has changed: a ping checks whether it still works. A stream without pings is opened again; without
    /// a network, when the network is back.
    private mutating func test(_ stream: OpenStream) {
        guard stream.way == .webSocket else {
            effects.append(.abandon(id: stream.id))
            leave(stream, isCut: false)
            return beginSoon()
        }
        var stream = stream
        // After several changes the first sets the deadline: a path that changes often does not postpone it.
        stream.testUntil = stream.testUntil ?? now + Self.testLimit
        phase = .open(stream)
        effects.append(.ping(id: stream.id))
    }
}
