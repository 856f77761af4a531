import LiveState

/// Keeps an area of an app's state equal to the server's: it carries out what ``UpdateMachine`` decides.
///
///     let machine = LiveMachine(area, store: store, client: client)
///     await machine.start()
///     for await view in await machine.views { sign.show(view.sign) }
///
/// Any number of machines share one ``LiveClient``; each holds its own cursor and has its own area of the store. A machine ends
/// with ``stop()``. If its client ends for good, it makes no more requests, and ``UpdateMachine/View/end`` gives the reason.
public actor LiveMachine<Area: LiveArea> {
    let area: Area
    let store: Area.Store
    let feed: any LiveFeed
    /// The gate of the app's API, which other machines, screens and actions use too.
    let gate: LiveGate
    /// The client's tokens; nil: the area's API gets its tokens by itself.
    let tokens: LiveTokens?
    /// The client's token at the start of each running request, by its number; and the token of the request that ended last.
    var askedTokens: [Int: String] = [:]
    var lastAsked: String?
    /// Entities whose things are reloaded by screens, which pass the gate and have a deadline themselves.
    var byScreens: Set<String> = []
    private let clock = AppClock()
    private var machine: UpdateMachine
    private var isStarted = false
    private var isStopped = false
    private var wakeTask: Task<Void, Never>?
    /// Watches whether the connection has ended for good.
    private var connectionTask: Task<Void, Never>?
    /// Watches whether the screens show the server's state.
    private var screensTask: Task<Void, Never>?

    /// Running requests, by their number.
    var requests: [Int: Task<Void, Never>] = [:]
    /// Reloads that wait for their turn.
    var waitingReloads: [(number: Int, thing: Thing, types: [String])] = []
    var runningReloads: Set<Int> = []
    let maximumReloads: Int
    /// The time limits for the app's functions and for the store.
    let requestDeadline: Milliseconds
    let storeDeadline: Milliseconds
    /// The error of the store; nil if there is none. ``views`` repeat the last view when it changes.
    ///
    /// If the store cannot be read, or not in time (``StoreError/noAnswer``), nothing is loaded yet, and it is read again after a
    /// wait. If a write is late, the known state goes no further: the machine waits for the running write, and does not write
    /// twice. If the store refused a write, the machine tries again after a wait. After three failures in a row the state
    /// continues in memory (``UpdateMachine/View/isInMemory``): it is shown, and not written, until a snapshot tries the store
    /// again. ``StoreError/corrupt(setAside:)`` remains until the recreated store has accepted a commit.
    public internal(set) var storeError: StoreError?
    /// The commit that the store has not answered yet.
    var committing: Int?
    /// What has arrived and is in no commit yet.
    var snapshot: Area.Snapshot?
    var reloads: [Thing: LiveReload<Area.Value>] = [:]
    /// Counts how often reloads were dropped, so that a failed commit does not put dropped ones back.
    var reloadGeneration = 0

    /// The cursor that was last reported to the area's lists.
    private var listFinger: String?
    /// Whether a cursor is held, as reported to the area or soon to be; the news not reported yet; and the running report.
    var isFingerHeld = false
    var fingerNews: [FingerNews] = []
    var fingerTelling: Telling?

    var following: Following?
    /// Counts readers. What an older reader still receives after a new one has begun is ignored.
    var lastReader = 0

    /// The callers that wait for the result of a refresh.
    private var refreshes: [CheckedContinuation<Void, Never>] = []
    /// Counts the inputs.
    private var inputs = 0
    private var followers: [Int: AsyncStream<UpdateMachine.View>.Continuation] = [:]
    private var lastFollower = 0
    private var lastView: UpdateMachine.View?

    package init(
        _ area: Area, store: Area.Store, feed: any LiveFeed, settings: UpdateMachine.Settings = .init(),
        maximumReloads: Int = 4, requestDeadline: Milliseconds = 60_000, storeDeadline: Milliseconds = 10_000,
        gate: LiveGate = LiveGate(), tokens: LiveTokens? = nil
    ) {
        precondition(maximumReloads >= 1, "at least one reload at once, not \(maximumReloads)")
        self.area = area
        self.store = store
        self.feed = feed
        self.gate = gate
        self.tokens = tokens
        self.maximumReloads = maximumReloads
        self.requestDeadline = requestDeadline
        self.storeDeadline = storeDeadline
        machine = UpdateMachine(settings)
    }

    /// What is known, and how far it can be trusted.
    public var view: UpdateMachine.View { machine.view }

    /// The current ``view``, then each later one. A follower that does not read loses the older ones, never the last.
    public var views: AsyncStream<UpdateMachine.View> {
        let (stream, continuation) = AsyncStream<UpdateMachine.View>.makeStream(bufferingPolicy: .bufferingNewest(1))
        guard !isStopped else {
            continuation.finish()
            return stream
        }
        lastFollower += 1
        let number = lastFollower
        followers[number] = continuation
        continuation.yield(machine.view)
        continuation.onTermination = { [weak self] _ in Task { await self?.leave(number) } }
        return stream
    }

    private func leave(_ number: Int) { followers[number] = nil }

    deinit {
        connectionTask?.cancel()
        screensTask?.cancel()
    }

    /// Reads the store, and continues from there. Call it once.
    public func start() {
        guard !isStarted, !isStopped else { return }
        isStarted = true
        handle(.start)
        connectionTask = Task { [weak self, states = feed.states] in
            for await case .ended(let error) in states { await self?.handle(.ended(error: error)) }
        }
        guard let screens = area.onScreen else { return }
        screensTask = Task { [weak self] in
            for await shown in await screens.completeness { await self?.note(shown) }
        }
    }

    private func note(_ shown: ScreenCompleteness) {
        handle(.shown(isComplete: shown.isComplete, hasFailed: shown.hasFailed))
    }

    /// Whether a refresh has all its results, on the screens too. False: they cannot be fetched now. Nil: they are being fetched.
    private func refreshEnded() async -> Bool? {
        if isStopped || view.refreshEnded == false { return false }
        guard view.state == .live, let shown = await area.onScreen?.lastCompleteness else { return view.refreshEnded }
        if shown.isComplete { return view.refreshEnded }
        // The machine has all of its own, but a screen cannot fetch what it shows.
        return shown.hasFailed && !shown.isLoading ? false : nil
    }

    /// The app is in the background.
    public func enterBackground() {
        handle(.background)
        area.lists?.keep()
    }

    /// The app is in the foreground again.
    public func enterForeground() { handle(.foreground) }

    /// Reports whether the system has a network.
    public func pathChanged(isSatisfied: Bool) {
        if isSatisfied { gate.networkIsBack() }
        handle(.network(isSatisfied: isSatisfied))
    }

    /// Reports that a user has signed in, or out.
    public func tokenChanged(isValid: Bool) { handle(.token(isValid: isValid)) }

    /// A person asks for a refresh: tests the connection, and fetches everything again, or at once what failed.
    ///
    /// - Returns: true when everything is fetched; false when it cannot be fetched now. ``views`` show why.
    @discardableResult
    public func refresh() async -> Bool {
        guard isStarted, !isStopped else { return false }
        gate.refresh()
        feed.refresh()
        handle(.refresh)
        await area.onScreen?.retryNow()
        while true {
            let before = inputs
            if let isThere = await refreshEnded() { return isThere }
            // Check again if an input arrived meanwhile; otherwise wait for one.
            if before == inputs && !isStopped { await withCheckedContinuation { refreshes.append($0) } }
        }
    }

    private func wakeRefreshes() {
        for refresh in refreshes { refresh.resume() }
        refreshes = []
    }

    /// A person opens a thing: if it could not be reloaded (``LiveReload/knownStale(_:)``), it is requested now.
    public func check(_ thing: Thing) { handle(.check(thing: thing)) }

    /// Ends the machine. Running requests are cancelled; a commit that has begun is finished.
    public func stop() {
        isStopped = true
        wakeTask?.cancel()
        connectionTask?.cancel()
        screensTask?.cancel()
        for request in requests.values { request.cancel() }
        requests = [:]
        waitingReloads = []
        fingerNews = []
        area.lists?.close()
        unfollow()
        for follower in followers.values { follower.finish() }
        followers = [:]
        wakeRefreshes()
    }

    var now: Milliseconds { clock.now }

    /// Passes an input to the machine, and carries out its effects.
    func handle(_ input: UpdateMachine.Input) {
        guard !isStopped else { return }
        let effects = machine.handle(input, at: clock.now)
        let view = machine.view
        noteFinger(effects, view.state)
        if view.metadata.finger != listFinger {
            listFinger = view.metadata.finger
            area.lists?.fingerMoved(to: listFinger)
        }
        for effect in effects { perform(effect) }
        if view != lastView {
            lastView = view
            publish()
        }
        inputs += 1
        wakeRefreshes()
        schedule()
    }

    func publish() { for follower in followers.values { follower.yield(machine.view) } }

    private func schedule() {
        wakeTask?.cancel()
        wakeTask = nil
        guard let wakeAt = machine.wakeAt else { return }
        let wait = max(wakeAt - clock.now, 0)
        wakeTask = Task { [weak self] in
            guard (try? await Task.sleep(for: .milliseconds(wait))) != nil else { return }
            await self?.handle(.wake)
        }
    }

    private func perform(_ effect: UpdateMachine.Effect) {
        switch effect {
        case .load: load()
        case .requestFinger(let number): requestFinger(number)
        case .requestSnapshot(let number): requestSnapshot(number)
        case .cancel(let number): cancel(number)
        case .follow(let number, let since): follow(number, LiveCursor(since))
        case .unfollow: unfollow()
        case .poll(let number, let since): poll(number, LiveCursor(since))
        case .reload(let number, let thing, let types):
            waitingReloads.append((number, thing, types))
            beginReloads()
        case .dropReloads: dropReloads()
        case .commit(let number, let metadata, let isSnapshot, let changes):
            commit(number, metadata, isSnapshot, changes)
        case .requestToken: requestToken()
        }
    }
}
