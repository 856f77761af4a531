import LiveState

/// Sends what users do to the server: at once or not at all (``perform(_:)``), or stored until the server has it
/// (``set(_:_:to:from:)``).
///
/// Deferrable actions are shown at once and stored in the same transaction. They are sent in batches after a few seconds, and
/// tried again for months. ``ActionQueue`` makes the decisions, and this actor carries them out.
public actor LiveActions {
    /// The wait before a failed write to the store is tried again.
    static let storeRetry: Milliseconds = 5_000

    let functions: Functions
    /// The gate of the API that actions are sent to.
    let gate: LiveGate
    /// The tokens of the client, if the API accepts them; nil: the API has its own.
    let tokens: LiveTokens?
    /// The token that was current when the last batch was sent.
    var refusedToken: String?
    private let store: any ActionStore
    private let clock: @Sendable () -> Milliseconds
    private var queue: ActionQueue
    private let maximumRows: Int
    let requestDeadline: Milliseconds
    private let storeDeadline: Milliseconds
    /// The inputs to handle, in order. `isDone` is called when the input's turn comes.
    private var inbox: [(input: ActionQueue.Input, call: Int?, isDone: IsDone?)] = []
    /// The callers that wait for an input, by the number of the call.
    private var calls: [Int: CheckedContinuation<Void, any Error>] = [:]
    private var lastCall = 0
    /// Inputs whose writes the store refused. They are handled again after a wait.
    private var held: [ActionQueue.Input] = []
    private var heldUntil: Milliseconds = 0
    private var isWorking = false
    private var isClosed = false
    var sending: Task<Void, Never>?
    private var timer: Task<Void, Never>?
    private var followers: [Int: AsyncStream<[DeferredAction]>.Continuation] = [:]
    private var lastFollower = 0
    private(set) var isReachable = true

    /// Reads the store. The actions in it are sent at once if there is a network.
    ///
    /// - Parameters:
    ///   - settings: their `keyPrefix` is replaced by a random one.
    ///   - requestDeadline: the time limit for a batch's answer, in ms. After it the batch is cancelled and sent again, because
    ///     the server knows its keys. It is also the limit for a new token.
    ///   - storeDeadline: the time limit for reading the store, and for a write that a caller waits for, in ms.
    ///   - gate: the gate of the API. Pass ``LiveClient/gate`` if the client's machine uses the same API.
    ///   - tokens: ``LiveClient/tokens`` of that client; nil: ``Functions/renewToken`` gets another token.
    /// - Throws: ``StoreError/noAnswer`` if the store was too slow, or what the store throws. Open it again after a wait.
    public static func open(
        store: any ActionStore, settings: ActionQueue.Settings = ActionQueue.Settings(),
        requestDeadline: Milliseconds = 60_000, storeDeadline: Milliseconds = 10_000, gate: LiveGate = LiveGate(),
        tokens: LiveTokens? = nil, functions: Functions
    ) async throws -> LiveActions {
        var settings = settings
        var random = SystemRandomNumberGenerator()
        settings.seed = .random(in: 0 ... .max, using: &random)
        settings.keyPrefix = (0..<2).map { _ in
            String(UInt64.random(in: 0 ... .max, using: &random), radix: 36)
        }.joined()
        return try await open(
            store: store, settings: settings, requestDeadline: requestDeadline, storeDeadline: storeDeadline,
            gate: gate, tokens: tokens, functions: functions, clock: steadyWallClock())
    }

    package static func open(
        store: any ActionStore, settings: ActionQueue.Settings, requestDeadline: Milliseconds = 60_000,
        storeDeadline: Milliseconds = 10_000, gate: LiveGate = LiveGate(), tokens: LiveTokens? = nil,
        functions: Functions, clock: @escaping @Sendable () -> Milliseconds
    ) async throws -> LiveActions {
        let actions = LiveActions(store, settings, requestDeadline, storeDeadline, gate, tokens, functions, clock)
        let kept = try await Deadline.run(milliseconds: storeDeadline, late: StoreError.noAnswer) {
            try await store.loadActions()
        }
        do {
            try await actions.hand(.loaded(actions: kept))
        } catch {
            // A write that is still running changes only the store.
            await actions.close()
            throw error
        }
        return actions
    }

    private init(
        _ store: any ActionStore, _ settings: ActionQueue.Settings, _ requestDeadline: Milliseconds,
        _ storeDeadline: Milliseconds, _ gate: LiveGate, _ tokens: LiveTokens?, _ functions: Functions,
        _ clock: @escaping @Sendable () -> Milliseconds
    ) {
        self.gate = gate
        self.tokens = tokens
        self.store = store
        self.requestDeadline = requestDeadline
        self.storeDeadline = storeDeadline
        self.functions = functions
        self.clock = clock
        maximumRows = settings.maximumRows
        queue = ActionQueue(settings)
    }

    /// Unix time at the start plus the time that has passed since then. It does not go back when the clock is set.
    private static func steadyWallClock() -> @Sendable () -> Milliseconds {
        let clock = AppClock()
        return { clock.now }
    }

    /// The statuses that the server may not have yet, the oldest first: kind, thing, the value to show, and since when. An action
    /// remains here while the store does not answer.
    public var pending: [DeferredAction] { queue.view.pending }

    /// The current ``pending``, then each later value until ``close()``. A slow follower loses older ones, never the last.
    public var pendings: AsyncStream<[DeferredAction]> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: [DeferredAction].self, bufferingPolicy: .bufferingNewest(1))
        continuation.yield(pending)
        guard !isClosed else {
            continuation.finish()
            return stream
        }
        lastFollower += 1
        let number = lastFollower
        followers[number] = continuation
        continuation.onTermination = { [weak self] _ in Task { await self?.leave(number) } }
        return stream
    }

    private func leave(_ number: Int) { followers[number] = nil }

    /// The status that a pending action gives a thing. Nil: there is none, so the server's value is shown.
    public func pending(_ kind: String, _ id: String) -> String? { queue.pending(kind: kind, id: id) }

    /// Sets the status of a thing. When this returns, the status is shown and stored.
    ///
    /// - Parameter before: the status that was shown until now; nil if it is not known.
    /// - Throws: ``DeferrableActionError``, or what the store throws; then nothing has changed. ``StoreError/noAnswer`` if the
    ///   store missed its deadline. Then it is unknown whether the status is stored; ``pending`` contains it once it is. If the
    ///   app sets the same status again, it is stored once.
    public func set(_ kind: String, _ id: String, to value: String, from before: String? = nil) async throws {
        try await hand(.set(kind: kind, id: id, value: value, before: before))
    }

    /// Reports a status that was read from the server and written to the local state. Pending changes are applied on top.
    ///
    /// - Parameter askedAt: when the read began, by ``now``.
    public func reloaded(_ kind: String, _ id: String, value: String, askedAt: Milliseconds? = nil) async throws {
        try await hand(.reloaded(kind: kind, id: id, value: value, askedAt: askedAt))
    }

    /// The time by which actions are stored, in milliseconds.
    public nonisolated var now: Milliseconds { clock() }

    /// Reports whether there is a network. Nothing is sent without one, and everything at once when it returns.
    public func networkChanged(isReachable: Bool) {
        self.isReachable = isReachable
        if isReachable { gate.networkIsBack() }
        give(.network(isReachable: isReachable))
    }

    /// Reports a new token, for example because the user has signed in again.
    public func tokenChanged() { give(.token) }

    /// Sends now what waits to be sent in a batch. Call it when the app goes to the background.
    public func flush() { give(.flush) }

    /// Stops. Pending actions remain in the store.
    public func close() {
        isClosed = true
        timer?.cancel()
        sending?.cancel()
        for (_, call, _) in inbox { end(call, .failure(DeferrableActionError.closed)) }
        inbox = []
        held = []
        for follower in followers.values { follower.finish() }
        followers = [:]
    }

    // MARK: - One input after another

    /// Whether the pending actions already make an input unnecessary.
    typealias IsDone = @Sendable (_ pending: [DeferredAction]) -> Bool

    func hand(_ input: ActionQueue.Input, unless isDone: IsDone? = nil) async throws {
        lastCall += 1
        let (call, deadline) = (lastCall, storeDeadline)
        let alarm = Task { [weak self] in
            guard (try? await Task.sleep(for: .milliseconds(deadline.limited()))) != nil else { return }
            await self?.giveUp(call)
        }
        defer { alarm.cancel() }
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            guard !isClosed else { return done.resume(throwing: DeferrableActionError.closed) }
            calls[call] = done
            inbox.append((input, call, isDone))
            work()
        }
    }

    /// An input that has not begun is dropped. A running write may succeed, so it is neither undone nor repeated.
    private func giveUp(_ call: Int) {
        inbox.removeAll { $0.call == call }
        end(call, .failure(StoreError.noAnswer))
    }

    private func end(_ call: Int?, _ result: Result<Void, any Error>) {
        if let call { calls.removeValue(forKey: call)?.resume(with: result) }
    }

    func give(_ input: ActionQueue.Input) {
        guard !isClosed else { return }
        inbox.append((input, nil, nil))
        work()
    }

    private func work() {
        guard !isWorking else { return }
        isWorking = true
        Task { await self.drain() }
    }

    private func drain() async {
        while !isClosed, !inbox.isEmpty {
            let (input, call, isDone) = inbox.removeFirst()
            do {
                if isDone?(pending) != true { try await step(input) }
                end(call, .success(()))
            } catch {
                if call == nil { hold(input) } else { end(call, .failure(error)) }
            }
        }
        isWorking = false
        wait()
    }

    /// Writes the changes of an input, then carries out its other effects. If the write fails, the input counts as not handled.
    private func step(_ input: ActionQueue.Input) async throws {
        var next = queue
        let effects = next.handle(input, at: clock())
        for case .refused in effects { throw DeferrableActionError.full(maximumRows: maximumRows) }
        let changes = effects.compactMap(ActionChange.init)
        if !changes.isEmpty { try await keep(changes) }
        let before = followers.isEmpty ? [] : pending
        queue = next
        guard !isClosed else { return }
        if !followers.isEmpty, case let pending = pending, pending != before {
            for follower in followers.values { follower.yield(pending) }
        }
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

    /// After a corrupt store has been recreated, it contains no actions: first it gets those that are known.
    private func keep(_ changes: [ActionChange]) async throws {
        do {
            try await store.commit(changes)
        } catch StoreError.corrupt {
            try await store.commit(queue.view.pending.map { .persist($0) } + changes)
        }
    }

    /// Keeps an input whose writes failed for later. Of several network inputs only the last is kept.
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
}
