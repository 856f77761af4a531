import LiveState

/// Keeps an area of an app's state as the server has it: carries out what ``UpdateMachine`` decides.
///
///     let machine = LiveMachine(area, store: store, client: client)
///     await machine.start()
///     for await view in await machine.views { sign.show(view.sign) }
///
/// Any number of machines share one ``LiveClient``; each has its own finger and its own area of the store. It ends with
/// ``stop()``. Where its client ends for good it asks for nothing more, and ``UpdateMachine/View/end`` says why.
public actor LiveMachine<Area: LiveArea> {
    let area: Area
    let store: Area.Store
    let feed: any LiveFeed
    /// Of the app's API, which other machines, screens and actions ask too.
    let gate: LiveGate
    /// Of the client; nil: the area's API gets its tokens by itself.
    let tokens: LiveTokens?
    /// The client's token when a request began that is under way, by its number; and that of what ended last.
    var askedTokens: [Int: String] = [:]
    var lastAsked: String?
    /// Entities whose things are reloaded by screens, which have the gate and a deadline of their own.
    var byScreens: Set<String> = []
    private let clock = AppClock()
    private var machine: UpdateMachine
    private var isStarted = false
    private var isStopped = false
    private var wakeTask: Task<Void, Never>?
    /// Watches whether the connection has ended for good.
    private var connectionTask: Task<Void, Never>?
    /// Watches whether what screens show is as the server has it.
    private var screensTask: Task<Void, Never>?

    /// Requests under way, by their number.
    var requests: [Int: Task<Void, Never>] = [:]
    /// Reloads that wait for their turn.
    var waitingReloads: [(number: Int, thing: Thing, types: [String])] = []
    var runningReloads: Set<Int> = []
    let maximumReloads: Int
    /// How long the app's functions and the store may take.
    let requestDeadline: Milliseconds
    let storeDeadline: Milliseconds
    /// What is wrong with the store; nil: nothing. ``views`` repeat the last view when it changes.
    ///
    /// Where it cannot be read, or not in time (``StoreError/noAnswer``), nothing is loaded yet, and it is read again behind a
    /// wait. Where it does not write in time, what is known goes no further: the machine waits for what is being written, and
    /// does not write it twice. Where it refused what was written, that is tried again behind a wait. After three failures in a row
    /// state goes on in memory (``UpdateMachine/View/isInMemory``): it is shown, and not written, until a snapshot tries the store
    /// again. ``StoreError/corrupt(setAside:)`` stays until the store that has begun anew has taken a commit.
    public internal(set) var storeError: StoreError?
    /// The commit that the store has not answered.
    var committing: Int?
    /// What came and is in no commit yet.
    var snapshot: Area.Snapshot?
    var reloads: [Thing: LiveReload<Area.Value>] = [:]
    /// Counts how often reloads were dropped: what a commit took before is not put back.
    var reloadGeneration = 0

    /// The finger that the area's lists were told of last.
    private var listFinger: String?
    /// Whether the area is told, or about to be told, that there is a finger; what it was not told yet, in order; and what tells.
    var isFingerHeld = false
    var fingerNews: [FingerNews] = []
    var fingerTelling: Telling?

    var following: Following?
    /// Counts readers: what one still brings after another was begun is passed over.
    var lastReader = 0

    /// Those who wait for what a refresh has asked for.
    private var refreshes: [CheckedContinuation<Void, Never>] = []
    /// Counts what has happened.
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

    /// ``view``, and each that follows. A follower that does not read misses the older ones, never the last.
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

    /// Reads the store, and goes on from there. Called once.
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

    /// Whether what a refresh has asked for is there, on the screens too; false: it cannot be had now; nil: it is on its way.
    private func refreshEnded() async -> Bool? {
        if isStopped || view.refreshEnded == false { return false }
        guard view.state == .live, let shown = await area.onScreen?.lastCompleteness else { return view.refreshEnded }
        if shown.isComplete { return view.refreshEnded }
        // The machine has all of its own, and a screen cannot have what it shows.
        return shown.hasFailed && !shown.isLoading ? false : nil
    }

    /// The app is out of sight.
    public func enterBackground() {
        handle(.background)
        area.lists?.keep()
    }

    /// The app is in sight again.
    public func enterForeground() { handle(.foreground) }

    /// Whether there is a network, as the system says.
    public func pathChanged(isSatisfied: Bool) {
        if isSatisfied { gate.networkIsBack() }
        handle(.network(isSatisfied: isSatisfied))
    }

    /// Somebody has signed in, or out.
    public func tokenChanged(isValid: Bool) { handle(.token(isValid: isValid)) }

    /// Somebody pulls the screen: tests the connection, and fetches everything again, or what failed at once.
    ///
    /// - Returns: when all of it is there (true), or cannot be had now: ``views`` say why.
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
            // Something has happened meanwhile, or will.
            if before == inputs && !isStopped { await withCheckedContinuation { refreshes.append($0) } }
        }
    }

    private func wakeRefreshes() {
        for refresh in refreshes { refresh.resume() }
        refreshes = []
    }

    /// Somebody looks at a thing: where it could not be reloaded (``LiveReload/knownStale(_:)``), it is asked for now.
    public func check(_ thing: Thing) { handle(.check(thing: thing)) }

    /// Ends it. What is under way is cancelled; a commit that has begun is finished.
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

    /// Hands in what has happened, and does what the machine says.
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
