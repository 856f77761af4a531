import LiveState

/// What users do, brought to the server: at once or not at all (``perform(_:)``), or kept until it is there
/// (``set(_:_:to:from:)``).
///
/// Deferrable actions are shown at once, kept in the store in the same transaction, sent in batches after a few seconds, and
/// tried again for months. ``ActionQueue`` decides; this carries it out.
public actor LiveActions {
    /// What could not be written to the store is tried again so often.
    static let storeRetry: Milliseconds = 5_000

    let functions: Functions
    /// Of the API that actions are sent to.
    let gate: LiveGate
    /// Of the client whose tokens the API takes; nil: it has its own.
    let tokens: LiveTokens?
    /// The one that counted when the last batch was sent.
    var refusedToken: String?
    private let store: any ActionStore
    private let clock: @Sendable () -> Milliseconds
    private var queue: ActionQueue
    private let maximumRows: Int
    let requestDeadline: Milliseconds
    private let storeDeadline: Milliseconds
    /// What is to be handled, in its order; `isDone` is asked when its turn comes.
    private var inbox: [(input: ActionQueue.Input, call: Int?, isDone: IsDone?)] = []
    /// Whoever waits for an input, by the number of the call.
    private var calls: [Int: CheckedContinuation<Void, any Error>] = [:]
    private var lastCall = 0
    /// What the store would not take; handed in again behind a wait.
    private var held: [ActionQueue.Input] = []
    private var heldUntil: Milliseconds = 0
    private var isWorking = false
    private var isClosed = false
    var sending: Task<Void, Never>?
    private var timer: Task<Void, Never>?
    private var followers: [Int: AsyncStream<[DeferredAction]>.Continuation] = [:]
    private var lastFollower = 0
    private(set) var isReachable = true

    /// Reads the store. What is in it is sent at once, where there is a network.
    ///
    /// - Parameters:
    ///   - settings: their `keyPrefix` is replaced by a random one.
    ///   - requestDeadline: a batch without an answer for so long, in ms, is given up and sent again: the server has its keys. So
    ///     long a new token may take, too.
    ///   - storeDeadline: so long the store may take to be read, or to write what is waited for, in ms.
    ///   - gate: of the API; that of the client whose machine asks the same API, ``LiveClient/gate``.
    ///   - tokens: of that client, ``LiveClient/tokens``; nil: ``Functions/renewToken`` gets another one.
    /// - Throws: ``StoreError/noAnswer`` where the store took longer, or what the store throws. Open it again behind a wait.
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
            // What is still being written changes nothing beyond the store.
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

    /// Unix time as it was at the start, and since then as it passes: it does not go back when the clock is set.
    private static func steadyWallClock() -> @Sendable () -> Milliseconds {
        let clock = AppClock()
        return { clock.now }
    }

    /// What the server is not known to have, the oldest first: of which kind and thing, the value to show, and since when. It
    /// stays while the store takes or gives nothing.
    public var pending: [DeferredAction] { queue.view.pending }

    /// ``pending``, and each that follows until ``close()``. A follower that does not read misses the older ones, never the last.
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

    /// The status that a pending action gives a thing; nil: none, so what the server says is shown.
    public func pending(_ kind: String, _ id: String) -> String? { queue.pending(kind: kind, id: id) }

    /// Gives a thing a status. When this returns it is shown and kept.
    ///
    /// - Parameter before: the status that is shown until now; nil: not known.
    /// - Throws: ``DeferrableActionError``, or what the store throws: then nothing has changed. ``StoreError/noAnswer`` where the
    ///   store took longer than its deadline: then it is not known whether the status is kept, and ``pending`` has it once it is.
    ///   The same one again is kept once.
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
        if isReachable { gate.networkIsBack() }
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
        for (_, call, _) in inbox { end(call, .failure(DeferrableActionError.closed)) }
        inbox = []
        held = []
        for follower in followers.values { follower.finish() }
        followers = [:]
    }

    // MARK: - One input after another

    /// Whether what is pending already makes an input needless.
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

    /// Waits no longer. What has not begun will not; what is being written may be written, so it is neither undone nor done again.
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

    /// Writes what an input changes, then carries out the rest. What cannot be written has not happened.
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

    /// A store that was corrupt and has begun anew has no actions: it gets those that are known first.
    private func keep(_ changes: [ActionChange]) async throws {
        do {
            try await store.commit(changes)
        } catch StoreError.corrupt {
            try await store.commit(queue.view.pending.map { .persist($0) } + changes)
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
}
