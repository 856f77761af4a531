import LiveState

/// The lists and details that the screens of an app show of one machine's things, fetched through one queue.
///
///     let screens = LiveScreens(api)
///     let states = await screens.makeList("open", of: "incident") { ListKey(rank: -$0.openedAt, text: $0.id) }
///     await screens.show("open", from: .beginning, .forward, count: 20)
///     for await state in states { render(state.items) }
///
/// A list loads the pages that its screen has use for; a thing is fetched when it changed and a screen needs it, once for
/// however many changes, and at most four at a time. What nobody waits for any more is cancelled. See <doc:WhatIsShown> and
/// <doc:PartialKnowledge>.
public actor LiveScreens<API: ScreensAPI> {
    /// What the API gives for a thing.
    public typealias Value = API.Value

    /// What is fixed for its life.
    public struct Settings: Sendable {
        /// Of each list.
        public var lists = PartialList.Settings()
        /// Of the queue.
        public var fetches = FetchQueue.Settings()
        /// Rules, and what is remembered of screens.
        public var relevance = Relevance.Settings()
        /// So long a request of the API may take, in ms. Then it is cancelled and counts as one without an answer; what it still
        /// brings is dropped.
        public var requestDeadline: Milliseconds = 60_000

        /// The defaults.
        public init() {}
    }

    struct List {
        let entity: String
        var takesNew: Bool
        var key: @Sendable (Value) -> ListKey?
        /// Where the states go, which reader that is, and whether it is there.
        var states: AsyncStream<ListState<Value>>.Continuation
        var number: Int
        var isRead = true
        /// How it was shown last.
        var isBackward = false
        /// How many items the screen has use for.
        var count = 0
        /// What the app says that a person can see; nil: as many items as the screen has use for.
        var visible: [String]?
        var machine: PartialList
        var isShown = false
        /// Things that should perhaps be in it and are fetched by themselves; true: that has failed, so a page was asked for.
        var awaited: [Exact: Bool] = [:]
        /// Why the last page did not come.
        var failure: RequestFailure?
        /// The name of the request that is on its way.
        var request: String?

        /// What a person can see of it, where it is so long.
        func visibleIDs(of stretch: ListStretch?) -> [String] { visible ?? Array(stretch?.ids.prefix(count) ?? []) }

        func interest(_ ids: [String]) -> Interest { .list(entity: entity, ids: ids, takesNew: takesNew) }
    }

    struct Details {
        let thing: Thing
        /// Which reader it is.
        let number: Int
        let states: AsyncStream<DetailsState<Value>>.Continuation
        var failure: RequestFailure?
        var absence: ThingAbsence?
    }

    let api: API
    let settings: Settings
    /// Of the API.
    let gate: LiveGate
    /// Of the client whose tokens the API takes; nil: it has its own.
    let clientTokens: LiveTokens?
    let now: @Sendable () -> Milliseconds
    let sleep: @Sendable (Milliseconds) async throws -> Void
    var relevance: Relevance
    var queue: FetchQueue
    var lists: [String: List] = [:]
    var details: [String: Details] = [:]
    var values: [Thing: Value] = [:]
    /// Of them those that are more than a list's summary; such a summary may be newer.
    var wholes: [Thing: Value] = [:]
    /// When more values are kept than so many, and than twice as many as things are remembered, some go: ``forgetValues()``.
    var maximumValues = 0
    /// What an earlier run has kept of lists that are not made yet, by name; `isOld`: nobody has noted for them what happened.
    var stored: [String: (list: StoredList<Value>, isOld: Bool)] = [:]
    var listChanged: (@Sendable () -> Void)?
    /// Whether all that is shown is as the server has it, as far as a machine follows that (``LiveArea/onScreen``).
    public internal(set) var lastCompleteness = ScreenCompleteness()
    var completenessFollower: AsyncStream<ScreenCompleteness>.Continuation?
    /// What is on its way, by name. A name that is no more here is of something that was given up.
    var requests: [String: Task<Void, Never>] = [:]
    /// What waits to try again, by the name of its list; that of the queue is empty.
    var waits: [String: Task<Void, Never>] = [:]
    /// Reloads that are not answered, by number.
    var replies: [Int: CheckedContinuation<FoundThing<Value>?, any Error>] = [:]
    var lastReload = 0
    var lastPage = 0
    /// Counts readers of states.
    var lastShown = 0
    var isFingerHeld = false
    var isClosed = false
    /// What is known of the API's token, and how many there were.
    var token = TokenState.usable(isRenewed: false)
    var tokens = 0
    var tokenRetry = Retry(seed: .random(in: 0 ... .max))

    /// Makes screens that show nothing yet. The seeds of the settings are drawn here: clients wait for different times.
    ///
    /// - Parameters:
    ///   - gate: of the API; that of the client whose machine asks the same API, ``LiveClient/gate``.
    ///   - tokens: of that client, ``LiveClient/tokens``; nil: the API gets its tokens by itself.
    public init(_ api: API, settings: Settings = Settings(), gate: LiveGate = LiveGate(), tokens: LiveTokens? = nil) {
        let clock = ContinuousClock()
        let start = clock.now
        var settings = settings
        settings.lists.seed = .random(in: 0 ... .max)
        settings.fetches.seed = .random(in: 0 ... .max)
        self.init(
            api, settings: settings, gate: gate, tokens: tokens,
            now: { Milliseconds((clock.now - start) / .milliseconds(1)) },
            sleep: { try await clock.sleep(for: .milliseconds($0)) })
    }

    init(
        _ api: API, settings: Settings, gate: LiveGate = LiveGate(), tokens: LiveTokens? = nil,
        now: @escaping @Sendable () -> Milliseconds, sleep: @escaping @Sendable (Milliseconds) async throws -> Void
    ) {
        self.api = api
        self.settings = settings
        self.gate = gate
        clientTokens = tokens
        self.now = now
        self.sleep = sleep
        relevance = Relevance(settings.relevance)
        queue = FetchQueue(settings.fetches)
    }

    deinit {
        for task in requests.values { task.cancel() }
        for task in waits.values { task.cancel() }
    }

    /// Fetches made, merged and avoided, and answers that came too late.
    public var counts: FetchQueue.View { queue.view }

    /// Whether a person can see the thing now: its details, or its place in the visible part of a list. Of a list that is as many
    /// items as its screen has use for, from where it was shown, unless ``setVisible(_:in:)`` says it better.
    public func isShowing(_ thing: Thing) -> Bool { relevance.isShowing(thing) }

    /// Whether a person saw the thing change, live, at most so many milliseconds ago: ``isShowing(_:)`` was true then.
    public func sawLive(_ thing: Thing, within: Milliseconds) -> Bool {
        relevance.sawLive(thing, within: within, at: now())
    }

    /// Fetches a changed thing for the screens that need it: what an update machine's area does to reload it.
    ///
    /// - Parameter types: all that happened to it, in its order.
    /// - Returns: what was found; nil when no screen needs it, and what is known of it is old now.
    /// - Throws: `RequestFailure`, after which the machine tries again; `CancellationError` when the task was cancelled, or the
    ///   screens were closed.
    public func reload(_ thing: Thing, types: [String]) async throws -> FoundThing<Value>? {
        guard !isClosed else { throw CancellationError() }
        // What is fetched for it passes the gate by itself.
        GatedCall.current?.giveBack()
        lastReload += 1
        let number = lastReload
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { reply in
                replies[number] = reply
                change(number, thing, types)
            }
        } onCancel: {
            Task { [weak self] in await self?.dropReload(number) }
        }
    }

    private func change(_ number: Int, _ thing: Thing, _ types: [String]) {
        for (name, list) in lists where list.entity == thing.entity { noteEvent(name, thing, types) }
        forgetStored(of: thing.entity)
        for effect in relevance.handle(.changed(number: number, thing: thing, types: types), at: now()) {
            switch effect {
            case .remove(let thing, let screens):
                for name in screens {
                    lists[name]?.awaited[Exact(thing.id)] = nil
                    give(name, .removed(id: thing.id))
                }
            case .fetch(let number, let thing):
                let isRefused = ask(.reload(number: number, thing: thing)).contains {
                    if case .reloadFailed(number, _) = $0 { true } else { false }
                }
                if isRefused { noteRefusal(thing) }
            case .pass(let number, let thing): ask(.pass(number: number, thing: thing))
            }
        }
        publishDetails(of: thing)
    }

    private func dropReload(_ number: Int) {
        guard let reply = replies.removeValue(forKey: number) else { return }
        reply.resume(throwing: CancellationError())
        guard replies.isEmpty else { return }
        ask(.dropReloads)
        for name in lists.keys { lists[name]?.awaited = [:] }
    }

    /// The machine got a finger, before it asks for its snapshot; or lost it. At first it has none, and all is shown as old.
    ///
    /// Call it in ``LiveArea/fingerChanged(isHeld:)``. True while one is held already is another, fresh one: what was known by the
    /// one before is old.
    public func setFinger(_ isHeld: Bool) {
        if isHeld && isFingerHeld { setFinger(false) }
        guard isHeld != isFingerHeld else { return }
        isFingerHeld = isHeld
        if !isHeld { forgetStored(of: nil) }
        ask(.finger(isHeld: isHeld))
        for name in lists.keys.sorted() { give(name, .finger(isHeld: isHeld)) }
        for shown in details.values { publishDetails(of: shown.thing) }
    }

    /// Whether the machine is live. At first it is not.
    public func setLive(_ isLive: Bool) { _ = relevance.handle(.live(isLive: isLive), at: now()) }

    /// Whether a person can see the app. At first one can.
    public func setVisible(_ isVisible: Bool) { _ = relevance.handle(.visible(isVisible: isVisible), at: now()) }

    /// Gives up all that is on its way, and ends all states.
    public func close() {
        isClosed = true
        for task in requests.values { task.cancel() }
        for task in waits.values { task.cancel() }
        for reply in replies.values { reply.resume(throwing: CancellationError()) }
        (requests, waits, replies) = ([:], [:], [:])
        for list in lists.values { list.states.finish() }
        for shown in details.values { shown.states.finish() }
        completenessFollower?.finish()
    }

    /// Ends what a screen shows: a list keeps what it knows, details end. What only this screen waited for is given up.
    public func hide(_ screen: String) {
        let shown = details.removeValue(forKey: screen)
        shown?.states.finish()
        _ = relevance.handle(.hide(screen: screen), at: now())
        if lists[screen]?.isShown == true { hideList(screen) }
        follow()
        // Given up with the details, and a list waits for it still.
        if let thing = shown?.thing, isAwaited(thing) { ask(.refresh(thing: thing)) }
    }
}
