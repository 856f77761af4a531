import Locks

/// Updates that a client has and its reader has not read yet. It passes them from the loop to a task.
///
/// Its size is limited because the stream pauses. At the limit it is full, and it notifies when space is free again. Updates
/// about the stream itself cannot be paused; they replace each other, so that a reader that never reads costs no memory.
final class UpdateBuffer: Sendable {
    private struct State {
        /// The first `taken` were given to the reader.
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

    /// Sets the function to call when half of the space is free again, after a push that returned false.
    func setRoom(_ room: @escaping @Sendable () -> Void) { state.withLock { $0.room = room } }

    /// Whether the stream should pause until there is space.
    var isFull: Bool { state.withLock { $0.isHoldingBack } }

    /// Drops the waiting updates: the reader fetches what it shows, and goes on from this cursor. Then `standing` follows: what
    /// the reader also has to know about the stream.
    func overrun(at cursor: LiveCursor?, standing: [LiveUpdate]) {
        state.withLock { state in
            state.updates = [LiveUpdate.resync(.behind, cursor)] + standing
            state.taken = 0
            state.isHoldingBack = false
        }
    }

    /// Adds an update. Returns false when the buffer is full.
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

    /// Removes the updates of a stream that brought no event, once that stream has ended too, and the end before it. The need to
    /// fetch remains: a resync is kept.
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

    /// Ends the buffer after what it holds, with or without an error.
    func finish(_ error: LiveClientError?) {
        let reader = state.withLock { state in
            guard state.ending == nil else { return CheckedContinuation<LiveUpdate?, any Error>?.none }
            state.ending = error.map { .failure($0) } ?? .success(())
            defer { state.reader = nil }
            return state.reader
        }
        if let error { reader?.resume(throwing: error) } else { reader?.resume(returning: nil) }
    }

    /// Waits for the next update; nil means the end.
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
            // Thrown once. A reader that asks again gets the end.
            state.ending = .success(())
            return (.failure(error), nil)
        case nil:
            precondition(state.reader == nil, "updates are for one reader")
            state.reader = continuation
            return (nil, nil)
        }
    }
}
