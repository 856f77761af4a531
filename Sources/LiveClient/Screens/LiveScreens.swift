import LiveState

/// The lists and details of one machine's things that the screens of an app show, fetched through one queue.
///
///     let screens = LiveScreens(api)
///     let states = await screens.makeList("open", of: "incident") { ListKey(rank: -$0.openedAt, text: $0.id) }
///     await screens.show("open", from: .beginning, .forward, count: 20)
///     for await state in states { render(state.items) }
///
/// A list loads the pages that its screen needs. A thing is fetched when it has changed and a screen needs it: once for any
/// number of changes, and at most four things at a time. A request is cancelled when nothing waits for it any more. See
/// <doc:WhatIsShown> and <doc:PartialKnowledge>.
public actor LiveScreens<API: ScreensAPI> {
    /// The API's type of a thing.
    public typealias Value = API.Value

    /// Settings that do not change during its life.
    public struct Settings: Sendable {
        /// The settings of each list.
        public var lists = PartialList.Settings()
        /// The settings of the queue.
        public var fetches = FetchQueue.Settings()
        /// The rules, and what is remembered of screens.
        public var relevance = Relevance.Settings()
        /// The time limit for a request to the API, in ms. After it the request is cancelled and counts as one without an answer;
        /// its later result is dropped.
        public var requestDeadline: Milliseconds = 60_000

        /// Makes the default settings.
        public init() {}
    }

    struct List {
        let entity: String
        var takesNew: Bool
        var key: @Sendable (Value) -> ListKey?
        /// The stream of states, the number of its reader, and whether there is a reader.
        var states: AsyncStream<ListState<Value>>.Continuation
        var number: Int
        var isRead = true
        /// The direction in which it was last shown.
        var isBackward = false
        /// How many items the screen needs.
        var count = 0
        /// The items that a person can see, as set by the app; nil: as many as the screen needs.
        var visible: [String]?
        var machine: PartialList
        var isShown = false
        /// Things that may belong in it and are fetched separately; true: that has failed, so a page was requested.
        var awaited: [Exact: Bool] = [:]
        /// Why the last page could not be loaded.
        var failure: RequestFailure?
        /// The name of the running request.
        var request: String?

        /// The ids of the items that a person can see in this stretch.
        func visibleIDs(of stretch: ListStretch?) -> [String] { visible ?? Array(stretch?.ids.prefix(count) ?? []) }

        func interest(_ ids: [String]) -> Interest { .list(entity: entity, ids: ids, takesNew: takesNew) }
    }

    struct Details {
        let thing: Thing
        /// The number of the reader.
        let number: Int
        let states: AsyncStream<DetailsState<Value>>.Continuation
        var failure: RequestFailure?
        var absence: ThingAbsence?
    }

    let api: API
    let settings: Settings
    /// The gate of the API.
    let gate: LiveGate
    /// The tokens of the client, if the API accepts them; nil: the API has its own.
    let clientTokens: LiveTokens?
    let now: @Sendable () -> Milliseconds
    let sleep: @Sendable (Milliseconds) async throws -> Void
    var relevance: Relevance
    var queue: FetchQueue
    var lists: [String: List] = [:]
    var details: [String: Details] = [:]
    var values: [Thing: Value] = [:]
    /// Those of the values that are more than a list's summary. A summary may be newer.
    var wholes: [Thing: Value] = [:]
    /// When there are more values than this, and more than twice the number of things to remember, some go: ``forgetValues()``.
    var maximumValues = 0
    /// What an earlier run has stored of lists that are not made yet, by name; `isOld`: changes of their things were not noted.
    var stored: [String: (list: StoredList<Value>, isOld: Bool)] = [:]
    var listChanged: (@Sendable () -> Void)?
    /// Whether all that is shown is the server's state, as far as a machine follows that (``LiveArea/onScreen``).
    public internal(set) var lastCompleteness = ScreenCompleteness()
    var completenessFollower: AsyncStream<ScreenCompleteness>.Continuation?
    /// The running requests, by name. A name that is missing here belongs to a cancelled request.
    var requests: [String: Task<Void, Never>] = [:]
    /// The waits before another attempt, by the name of the list; the name of the queue is empty.
    var waits: [String: Task<Void, Never>] = [:]
    /// Reloads without an answer yet, by number.
    var replies: [Int: CheckedContinuation<FoundThing<Value>?, any Error>] = [:]
    var lastReload = 0
    var lastPage = 0
    /// Counts readers of states.
    var lastShown = 0
    var isFingerHeld = false
    var isClosed = false
    /// The state of the API's token, and how many tokens there were.
    var token = TokenState.usable(isRenewed: false)
    var tokens = 0
    var tokenRetry = Retry(seed: .random(in: 0 ... .max))

    /// Makes screens that show nothing yet. It sets random seeds in the settings, so that clients wait for different times.
    ///
    /// - Parameters:
    ///   - gate: the gate of the API. Pass ``LiveClient/gate`` if the client's machine uses the same API.
    ///   - tokens: ``LiveClient/tokens`` of that client; nil: the API gets its tokens by itself.
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

    /// The numbers of fetches made, merged and avoided, and of answers that came too late.
    public var counts: FetchQueue.View { queue.view }

    /// Whether a person can see the thing now: its details, or its item in the visible part of a list. The visible part is as
    /// many items as the screen needs, from where it was shown, unless ``setVisible(_:in:)`` is more precise.
    public func isShowing(_ thing: Thing) -> Bool { relevance.isShowing(thing) }

    /// Whether a person saw the thing change, live, at most so many milliseconds ago: ``isShowing(_:)`` was true then.
    public func sawLive(_ thing: Thing, within: Milliseconds) -> Bool {
        relevance.sawLive(thing, within: within, at: now())
    }

    /// Fetches a changed thing for the screens that need it. The area of an update machine reloads things with it.
    ///
    /// - Parameter types: all that happened to it, in order.
    /// - Returns: what was found; nil if no screen needs it: its known value is then old.
    /// - Throws: `RequestFailure`, after which the machine tries again; `CancellationError` if the task was cancelled, or the
    ///   screens were closed.
    public func reload(_ thing: Thing, types: [String]) async throws -> FoundThing<Value>? {
        guard !isClosed else { throw CancellationError() }
        // Its fetch passes the gate by itself.
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

    /// The machine got a cursor, before it requests its snapshot, or lost it. At first there is none, and all is shown as old.
    ///
    /// Call it in ``LiveArea/fingerChanged(isHeld:)``. True while a cursor is held already means another, fresh one: what was
    /// known under the one before is old.
    public func setFinger(_ isHeld: Bool) {
        if isHeld && isFingerHeld { setFinger(false) }
        guard isHeld != isFingerHeld else { return }
        isFingerHeld = isHeld
        if !isHeld { forgetStored(of: nil) }
        ask(.finger(isHeld: isHeld))
        for name in lists.keys.sorted() { give(name, .finger(isHeld: isHeld)) }
        for shown in details.values { publishDetails(of: shown.thing) }
    }

    /// Sets whether the machine is live. At first it is not.
    public func setLive(_ isLive: Bool) { _ = relevance.handle(.live(isLive: isLive), at: now()) }

    /// Sets whether a person can see the app. At first it is visible.
    public func setVisible(_ isVisible: Bool) { _ = relevance.handle(.visible(isVisible: isVisible), at: now()) }

    /// Cancels all running requests, and ends all states.
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

    /// Ends what a screen shows: a list keeps its data, details end. Fetches that only this screen waited for are cancelled.
    public func hide(_ screen: String) {
        let shown = details.removeValue(forKey: screen)
        shown?.states.finish()
        _ = relevance.handle(.hide(screen: screen), at: now())
        if lists[screen]?.isShown == true { hideList(screen) }
        follow()
        // The fetch was cancelled with the details, but a list still waits for it.
        if let thing = shown?.thing, isAwaited(thing) { ask(.refresh(thing: thing)) }
    }
}
