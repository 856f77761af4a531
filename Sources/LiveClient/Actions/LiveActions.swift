import LiveState
import Reactor

/// What users do, brought to the server: at once or not at all (``perform(_:)``), or kept until it is there
/// (``set(_:_:to:from:)``).
///
/// Deferrable actions are shown at once, kept in the store in the same transaction, sent in batches after a few seconds, and
/// tried again for months. ``ActionQueue`` decides; this carries it out.
public actor LiveActions {
    /// What the app gives.
    public struct Functions: Sendable {
        /// Sends a batch in its order, each action with its key, and gives the result of each. It throws ``RequestError`` where
        /// there is one answer to all, or none.
        public var send: @Sendable ([DeferredAction]) async throws -> [ActionResult]
        /// Gets a new token, after a 401. It throws ``LiveClientError/unauthorized`` where nobody is signed in; after any other
        /// error it is called again, behind a wait.
        public var renewToken: @Sendable () async throws -> Void
        /// Is given what became of actions without the user having asked; in their order, and not to be blocked.
        public var report: @Sendable (ActionNews) -> Void

        /// What the app gives.
        public init(
            send: @escaping @Sendable ([DeferredAction]) async throws -> [ActionResult],
            renewToken: @escaping @Sendable () async throws -> Void,
            report: @escaping @Sendable (ActionNews) -> Void
        ) {
            self.send = send
            self.renewToken = renewToken
            self.report = report
        }
    }

    /// A batch without an answer for so long is given up and sent again: the server has its keys.
    static let sendDeadline: Milliseconds = 60_000
    /// What could not be written to the store is tried again so often.
    static let storeRetry: Milliseconds = 5_000

    let functions: Functions
    private let store: any ActionStore
    private let clock: @Sendable () -> Milliseconds
    private var queue: ActionQueue
    private let maximumRows: Int
    private var inbox: [(input: ActionQueue.Input, done: CheckedContinuation<Void, any Error>?)] = []
    /// What the store would not take; handed in again behind a wait.
    private var held: [ActionQueue.Input] = []
    private var heldUntil: Milliseconds = 0
    private var isWorking = false
    private var isClosed = false
    private var sending: Task<Void, Never>?
    private var timer: Task<Void, Never>?
    private(set) var isReachable = true

    /// Reads the store. What is in it is sent at once, where there is a network.
    ///
    /// - Parameter settings: their `keyPrefix` is replaced by a random one.
    public static func open(
        store: any ActionStore, settings: ActionQueue.Settings = ActionQueue.Settings(), functions: Functions
    ) async throws -> LiveActions {
        var settings = settings
        var random = SystemRandomNumberGenerator()
        settings.seed = .random(in: 0 ... .max, using: &random)
        settings.keyPrefix = (0..<2).map { _ in
            String(UInt64.random(in: 0 ... .max, using: &random), radix: 36)
        }.joined()
        return try await open(store: store, settings: settings, functions: functions, clock: steadyWallClock())
    }

    package static func open(
        store: any ActionStore, settings: ActionQueue.Settings, functions: Functions,
        clock: @escaping @Sendable () -> Milliseconds
    ) async throws -> LiveActions {
        let actions = LiveActions(store, settings, functions, clock)
        try await actions.hand(.loaded(actions: store.loadActions()))
        return actions
    }

    private init(
        _ store: any ActionStore, _ settings: ActionQueue.Settings, _ functions: Functions,
        _ clock: @escaping @Sendable () -> Milliseconds
    ) {
        self.store = store
        self.functions = functions
        self.clock = clock
        maximumRows = settings.maximumRows
        queue = ActionQueue(settings)
    }

    /// Unix time as it was at the start, and since then as it passes: it does not go back when the clock is set.
    private static func steadyWallClock() -> @Sendable () -> Milliseconds {
        let (wall, start) = (Milliseconds(WallClock.milliseconds), ContinuousClock.now)
        return { wall + Milliseconds((ContinuousClock.now - start) / .milliseconds(1)) }
    }

    /// What the server is not known to have, the oldest first.
    public var pending: [DeferredAction] { queue.view.pending }

    /// The status that a pending action gives a thing; nil: none, so what the server says is shown.
    public func pending(_ kind: String, _ id: String) -> String? { queue.pending(kind: kind, id: id) }

    /// Gives a thing a status. When this returns it is shown and kept.
    ///
    /// - Parameter before: the status that is shown until now; nil: not known.
    /// - Throws: ``DeferrableActionError``, or what the store throws: then nothing has changed.
    public func set(_ kind: String, _ id: String, to value: String, from before: String? = nil) async throws {
        try await hand(.set(kind: kind, id: id, value: value, before: before))
    }

    /// A status was read from the server and written to the local state: what is pending is put on top of it.
    ///
    /// - Parameter askedAt: when the read began, by ``now``.
    public func reloaded(_ kind: String, _ id: String, value: String, askedAt: Milliseconds? = nil) async throws {
        try await hand(.reloaded(kind: kind, id: id, value: value, askedAt: askedAt))
    }

    /// The time by which actions are kept, in milliseconds.
    public nonisolated var now: Milliseconds { clock() }

    /// Whether there is a network. Nothing is sent without one, and everything at once when it is back.
    public func networkChanged(isReachable: Bool) {
        self.isReachable = isReachable
        give(.network(isReachable: isReachable))
    }

    /// There is a new token, for example because the user has signed in again.
    public func tokenChanged() { give(.token) }

    /// Sends now what waits for others; for an app on its way to the background.
    public func flush() { give(.flush) }

    /// Stops. What is pending stays in the store.
    public func close() {
        isClosed = true
        timer?.cancel()
        sending?.cancel()
        for (_, done) in inbox { done?.resume(throwing: DeferrableActionError.closed) }
        inbox = []
        held = []
    }

    // MARK: - One input after another

    private func hand(_ input: ActionQueue.Input) async throws {
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            guard !isClosed else { return done.resume(throwing: DeferrableActionError.closed) }
            inbox.append((input, done))
            work()
        }
    }

    func give(_ input: ActionQueue.Input) {
        guard !isClosed else { return }
        inbox.append((input, nil))
        work()
    }

    private func work() {
        guard !isWorking else { return }
        isWorking = true
        Task { await self.drain() }
    }

    private func drain() async {
        while !isClosed, !inbox.isEmpty {
            let (input, done) = inbox.removeFirst()
            do {
                try await step(input)
                done?.resume()
            } catch {
                if let done { done.resume(throwing: error) } else { hold(input) }
            }
        }
        isWorking = false
        wait()
    }

    /// Writes what an input changes, then carries out the rest. What cannot be written has not happened.
    private func step(_ input: ActionQueue.Input) async throws {
        var next = queue
        let effects = next.handle(input, at: clock())
        for case .refused in effects { throw DeferrableActionError.full(maximumRows: maximumRows) }
        let changes = effects.compactMap(ActionChange.init)
        if !changes.isEmpty { try await store.commit(changes) }
        queue = next
        guard !isClosed else { return }
        for effect in effects {
            switch effect {
            case .send(let batch, let actions): send(batch, actions)
            case .requestToken: renewToken()
            case .rejected(let action, let status, let isReplaced):
                functions.report(.rejected(action, status: status, isReplaced: isReplaced))
            case .expired(let action): functions.report(.expired(action))
            case .unauthorized: functions.report(.unauthorized)
            case .persist, .delete, .apply, .undo, .refused: break
            }
        }
    }

    /// Keeps an input whose writes failed, the last of its kind, for later.
    private func hold(_ input: ActionQueue.Input) {
        heldUntil = clock() + Self.storeRetry
        switch input {
        case .wake: break
        case .network: held = held.filter { if case .network = $0 { false } else { true } } + [input]
        default: if !held.contains(input) { held.append(input) }
        }
    }

    private func wait() {
        timer?.cancel()
        guard !isClosed else { return }
        let isHeld = !held.isEmpty
        guard let due = isHeld ? heldUntil : queue.wakeAt.map({ max($0, heldUntil) }) else { return }
        let milliseconds = max(0, due - clock())
        timer = Task { [weak self] in
            guard (try? await Task.sleep(for: .milliseconds(milliseconds))) != nil else { return }
            await self?.wake()
        }
    }

    private func wake() {
        let again = held
        held = []
        for input in again { give(input) }
        give(.wake)
    }

    // MARK: - The world

    private func send(_ batch: Int, _ actions: [DeferredAction]) {
        let send = functions.send
        sending = Task { [weak self] in
            let input: ActionQueue.Input
            do {
                let results = try await Deadline.run(milliseconds: Self.sendDeadline) { try await send(actions) }
                input = .answered(batch: batch, results: results)
            } catch {
                let error = RequestError(error)
                input = .failed(batch: batch, status: error.status, retryAfter: error.retryAfter)
            }
            await self?.give(input)
        }
    }

    private func renewToken() {
        let renew = functions.renewToken
        Task { [weak self] in
            do {
                try await renew()
                await self?.give(.token)
            } catch {
                let isUnauthorized = RequestFailure(error) == .unauthorized
                await self?.give(.tokenFailed(isUnauthorized: isUnauthorized ? true : nil))
            }
        }
    }
}

extension LiveActions {
    /// Runs an immediate action: now, once, or not at all. It is never kept.
    ///
    /// - Parameter operation: the request. It throws ``RequestError``; after a 401 a new token is fetched and it is run once
    ///   more, for nothing was done.
    public func perform<Value: Sendable>(
        _ operation: @Sendable () async throws -> Value
    ) async throws(ImmediateActionError) -> Value {
        guard isReachable else { throw .notReachable }
        do {
            do {
                return try await operation()
            } catch {
                guard RequestFailure(error) == .unauthorized else { throw error }
                try await renewForImmediate()
                give(.token)
                return try await operation()
            }
        } catch {
            throw ImmediateActionError(error)
        }
    }

    /// The refused request has done nothing. Where no token comes for want of an answer, it can be offered again.
    private func renewForImmediate() async throws {
        do {
            try await functions.renewToken()
        } catch let error as CancellationError {
            throw error
        } catch {
            let isUnauthorized = RequestFailure(error) == .unauthorized
            throw isUnauthorized ? ImmediateActionError.unauthorized : .unavailable(status: 401, retryAfter: nil)
        }
    }
}
