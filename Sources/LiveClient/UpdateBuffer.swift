import Locks

/// Updates that a client has and its reader has not read yet: the way from the loop to a task.
///
/// Bounded by holding back: from the limit on it is full, and new room is notified. Updates about the stream itself are
/// not held back; they replace each other, so that a reader who never comes costs no memory.
final class UpdateBuffer: Sendable {
    private struct State {
        /// The first `taken` were given away.
        var updates: [LiveUpdate] = []
        var taken = 0
        var reader: CheckedContinuation<LiveUpdate?, any Error>?
        var ending: Result<Void, LiveClientError>?
        var isHoldingBack = false
        var room: (@Sendable () -> Void)?

        var count: Int { updates.count - taken }
    }

    private let maximumUpdates: Int
    private let state = Lock(State())

    init(maximumUpdates: Int) {
        precondition(maximumUpdates >= 1, "a client buffers at least one update, not \(maximumUpdates)")
        self.maximumUpdates = maximumUpdates
    }

    /// What is called when half of the room is free again, after a push that said false.
    func setRoom(_ room: @escaping @Sendable () -> Void) { state.withLock { $0.room = room } }

    /// Whether what can be held back should be, until there is room.
    var isFull: Bool { state.withLock { $0.isHoldingBack } }

    /// Drops what waits: its reader fetches what it shows, and goes on from here. `standing` follows: what it has
    /// to know of the stream besides.
    func overrun(at cursor: LiveCursor?, standing: [LiveUpdate]) {
        state.withLock { state in
            state.updates = [LiveUpdate.resync(.behind, cursor)] + standing
            state.taken = 0
            state.isHoldingBack = false
        }
    }

    /// Adds an update. False: it is full.
    @discardableResult func push(_ update: LiveUpdate) -> Bool {
        let (reader, mayGoOn) = state.withLock { state in
            guard state.ending == nil else { return (CheckedContinuation<LiveUpdate?, any Error>?.none, true) }
            if let reader = state.reader {
                state.reader = nil
                return (reader, true)
            }
            if case .disconnected = update { Self.forgetStream(&state) }
            state.updates.append(update)
            state.isHoldingBack = state.isHoldingBack || state.count >= maximumUpdates
            return (nil, !state.isHoldingBack)
        }
        reader?.resume(returning: update)
        return mayGoOn
    }

    /// A stream that brought no event, and the end before it, are history once that stream has ended too. But that
    /// something has to be fetched stays true.
    private static func forgetStream(_ state: inout State) {
        var resync: LiveUpdate?
        loop: while state.count > 0, let last = state.updates.last {
            switch last {
            case .event: break loop
            case .resync: resync = resync ?? last
            case .connected, .live, .beat, .source, .read, .disconnected: break
            }
            state.updates.removeLast()
        }
        if let resync { state.updates.append(resync) }
    }

    /// Ends it behind what it holds; with an error, or without.
    func finish(_ error: LiveClientError?) {
        let reader = state.withLock { state in
            guard state.ending == nil else { return CheckedContinuation<LiveUpdate?, any Error>?.none }
            state.ending = error.map { .failure($0) } ?? .success(())
            defer { state.reader = nil }
            return state.reader
        }
        if let error { reader?.resume(throwing: error) } else { reader?.resume(returning: nil) }
    }

    /// Waits for the next update; nil is the end.
    func next() async throws -> LiveUpdate? {
        try await withCheckedThrowingContinuation { continuation in
            let (answer, room) = state.withLock { state in take(continuation, &state) }
            if let answer { continuation.resume(with: answer) }
            room?()
        }
    }

    private func take(
        _ continuation: CheckedContinuation<LiveUpdate?, any Error>, _ state: inout State
    ) -> (answer: Result<LiveUpdate?, any Error>?, room: (@Sendable () -> Void)?) {
        if state.count > 0 {
            let update = state.updates[state.taken]
            state.taken += 1
            if state.taken > maximumUpdates || state.count == 0 {
                state.updates.removeFirst(state.taken)
                state.taken = 0
            }
            guard state.isHoldingBack, state.count <= maximumUpdates / 2 else { return (.success(update), nil) }
            state.isHoldingBack = false
            return (.success(update), state.room)
        }
        switch state.ending {
        case .success: return (.success(nil), nil)
        case .failure(let error):
            // Given once; a reader that asks again gets the end.
            state.ending = .success(())
            return (.failure(error), nil)
        case nil:
            precondition(state.reader == nil, "updates are for one reader")
            state.reader = continuation
            return (nil, nil)
        }
    }
}
