import LiveState
import Locks

/// All that an app has of one account under one life: its client, its store, and its collections, machines, screens and actions.
///
///     let session = try await LiveSession.open(configuration, account: account, folder: folder) { _ in try await accessToken() }
///     let incidents = LiveCollection<Incident>("incident", in: session, snapshot: api.list, reload: api.incident)
///     await session.run()
///
/// What belongs to it starts with ``run()``, or when it is added later. ``run()`` lasts as long as its task, and closes everything
/// at its end. ``enterForeground()``, ``enterBackground()``, ``pathChanged(isSatisfied:network:)`` and ``tokenChanged(isValid:)``
/// go to each part, in the order of the calls.
public final class LiveSession: Sendable {
    /// What is to be done, in order.
    private enum Change: Equatable {
        case start(Int)
        case foreground(Bool)
        case path(isSatisfied: Bool)
        case token(isValid: Bool)

        /// Only the last of these counts.
        func isReplaced(by later: Self) -> Bool {
            switch (self, later) {
            case (.foreground, .foreground), (.path, .path), (.token, .token): true
            default: false
            }
        }
    }

    private struct State {
        var parts: [Int: SessionPart] = [:]
        var lastPart = 0
        var changes: [Change] = []
        var hasRun = false
        var isEnding = false
        var isSigningOut = false
        /// What was stopped before a sign-out was known of, in order, and the actions that were not sent then.
        var stopped: [SessionPart]?
        var pending: [DeferredAction] = []
    }

    /// The connection.
    public let client: LiveClient
    /// The file.
    public let store: SQLiteStore
    /// Where machines get their events from; nil: from the client.
    private let feed: (any LiveFeed)?
    private let state = Lock(State())
    /// Has an element when there are changes.
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    private let end = Telling()
    /// The file's path, and what waits for it; nil where the app has opened the store.
    private let file: (path: String, released: Telling)?

    /// A session of this client and this store, which are closed with it. The store may have tables of the app's.
    public convenience init(client: LiveClient, store: SQLiteStore) {
        self.init(client: client, store: store, feed: nil)
    }

    init(
        client: LiveClient, store: SQLiteStore, feed: (any LiveFeed)?, file: (path: String, released: Telling)? = nil
    ) {
        (self.client, self.store, self.feed, self.file) = (client, store, feed, file)
        (wakes, wake) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Makes a client, and opens the account's file, in which there are no tables but the SDK's.
    ///
    /// - Parameters:
    ///   - account: the account, and the person where it matters, as the app calls them. Each account has a file of its own at each
    ///     server.
    ///   - folder: has the files; it has to be there.
    ///   - token: as of `LiveClient.init`.
    /// - Throws: ``LiveClientError`` for an address that cannot be used, ``StoreError`` for a file that cannot be opened.
    public static func open(
        _ configuration: LiveClientConfiguration, account: String, folder: String,
        token: @escaping @Sendable (TokenQuestion) async throws -> String
    ) async throws -> LiveSession {
        let client = try LiveClient(configuration, token: token)
        let identity = SQLiteStore.Identity(schema: 1, account: account, server: configuration.url)
        let path = "\(folder)/\(identity.fileName)"
        let released = try await SessionFiles.acquire(path)
        do {
            let store = try await SQLiteStore.open(path: path, identity: identity) { _ in }
            return LiveSession(client: client, store: store, feed: nil, file: (path, released))
        } catch {
            SessionFiles.release(path, released)
            throw error
        }
    }

    deinit { releaseFile() }

    private func releaseFile() {
        if let file { SessionFiles.release(file.path, file.released) }
    }

    // MARK: What belongs to it

    /// The session starts and stops the machine, and passes on what happens to the app.
    /// A second one of the same area would overwrite what the first has stored, so the program stops.
    public func add<Area: LiveArea>(_ machine: LiveMachine<Area>) {
        let number = add(SessionPart(machine))
        precondition(number != nil || hasEnded, "the session has a machine of the area \(machine.area.name)")
    }

    private var hasEnded: Bool { state.withLock { $0.isEnding } }

    /// The session closes the screens, after the machines. The app itself sets which of them are visible.
    public func add<API: ScreensAPI>(_ screens: LiveScreens<API>) {
        var part = SessionPart(order: .screens)
        part.pathChanged = { if $0 { await screens.retryNow() } }
        part.tokenChanged = { if $0 { await screens.tokenChanged() } }
        part.stop = { _ in await screens.close() }
        _ = add(part)
    }

    /// The session closes the actions, after machines and screens, and passes on what happens to the app. When the app goes to the
    /// background, they are sent.
    public func add(_ actions: LiveActions) {
        var part = SessionPart(order: .actions)
        part.setForeground = { if !$0 { await actions.flush() } }
        part.pathChanged = { await actions.networkChanged(isReachable: $0) }
        part.tokenChanged = { if $0 { await actions.tokenChanged() } }
        part.stop = { _ in await actions.close() }
        _ = add(part)
    }

    /// Adds what starts and stops with the session. Nil: it has one of this name, or has ended.
    package func add(_ part: SessionPart) -> Int? {
        let number = state.withLock { state -> Int? in
            let isTaken = part.name != nil && state.parts.values.contains { $0.name == part.name }
            guard !isTaken, !state.isEnding else { return nil }
            state.lastPart += 1
            state.parts[state.lastPart] = part
            return state.lastPart
        }
        if let number { enqueue(.start(number)) }
        return number
    }

    /// It belongs to the session no longer, and is not stopped.
    package func remove(_ number: Int) {
        state.withLock { state in
            state.parts[number] = nil
            state.changes.removeAll { $0 == .start(number) }
        }
    }

    /// A machine over the session's client, in its store. It is not added.
    package func machine<Area: LiveArea>(_ area: Area, settings: UpdateMachine.Settings) -> LiveMachine<Area>
    where Area.Store == SQLiteStore {
        guard let feed else { return LiveMachine(area, store: store, client: client, settings: settings) }
        return LiveMachine(
            area, store: store, feed: feed, settings: settings, gate: client.gate, tokens: client.tokens)
    }

    // MARK: Its life

    /// Keeps everything live until its task is cancelled, or ``close()`` or ``signOut(keep:)`` is called. Then it closes
    /// everything. It runs once: a second call returns at once.
    public func run() async {
        let mayRun = state.withLock { state in
            guard !state.hasRun, !state.isEnding else { return false }
            state.hasRun = true
            return true
        }
        guard mayRun else { return }
        var surroundings = Surroundings()
        for await _ in wakes {
            while !Task.isCancelled, let change = nextChange() { await handle(change, &surroundings) }
        }
        // Not in this task: it may be cancelled, and what is closed has to be waited for.
        await Task { await self.shutDown() }.value
    }

    /// The app is in the foreground again.
    public func enterForeground() {
        client.enterForeground()
        enqueue(.foreground(true))
    }

    /// The app is in the background: the connection is closed, and pending actions are sent.
    public func enterBackground() {
        client.enterBackground()
        enqueue(.foreground(false))
    }

    /// The path to the network has changed; from `NWPathMonitor` or its like.
    ///
    /// - Parameters:
    ///   - isSatisfied: whether there is a network.
    ///   - network: as of ``LiveClient/pathChanged(isSatisfied:network:)``.
    public func pathChanged(isSatisfied: Bool, network: String? = nil) {
        client.pathChanged(isSatisfied: isSatisfied, network: network)
        enqueue(.path(isSatisfied: isSatisfied))
    }

    /// Somebody has signed in again, or the app knows that its token is of no use any more.
    public func tokenChanged(isValid: Bool) { enqueue(.token(isValid: isValid)) }

    /// Closes everything, in this order: collections and machines, screens, actions, client, store. What is stored stays.
    public func close() async { await finish() }

    /// Somebody signs out: closes everything. Collections show nothing any more.
    ///
    /// - Parameter keep: false deletes the file, once no later session has it: nothing of the account is left on the device.
    /// - Returns: what stays, or what was deleted without being sent.
    @discardableResult
    public func signOut(keep: Bool) async throws -> SignedOut {
        state.withLock { $0.isSigningOut = true }
        await finish()
        let (stopped, pending) = state.withLock { ($0.stopped.take(), $0.pending) }
        defer { releaseFile() }
        // It was closed before: collections do not know yet that nothing is to be shown any more.
        guard let stopped else { return try await store.signOut(keep: keep) }
        for part in stopped { await part.stop(true) }
        let leave = { try await self.store.signOut(keep: keep, pending: pending) }
        return if let file, !keep { try await SessionFiles.hold(file.path, leave) } else { try await leave() }
    }

    // MARK: One change after another

    private func enqueue(_ change: Change) {
        state.withLock { state in
            state.changes.removeAll { $0.isReplaced(by: change) }
            state.changes.append(change)
        }
        wake.yield()
    }

    private func nextChange() -> Change? {
        state.withLock { $0.changes.isEmpty ? nil : $0.changes.removeFirst() }
    }

    /// The state that each part was given last.
    private struct Surroundings {
        var isForeground = true
        var isSatisfied = true
        var started: Set<Int> = []
    }

    private func handle(_ change: Change, _ surroundings: inout Surroundings) async {
        switch change {
        case .start(let number):
            guard let part = state.withLock({ $0.parts[number] }) else { return }
            surroundings.started.insert(number)
            await part.start()
            if !surroundings.isSatisfied { await part.pathChanged(false) }
            if !surroundings.isForeground { await part.setForeground(false) }
        case .foreground(let isForeground):
            surroundings.isForeground = isForeground
            for part in parts(surroundings.started) { await part.setForeground(isForeground) }
        case .path(let isSatisfied):
            surroundings.isSatisfied = isSatisfied
            for part in parts(surroundings.started) { await part.pathChanged(isSatisfied) }
        case .token(let isValid):
            for part in parts(surroundings.started) { await part.tokenChanged(isValid) }
        }
    }

    private func parts(_ numbers: Set<Int>) -> [SessionPart] {
        state.withLock { state in numbers.sorted().compactMap { state.parts[$0] } }
    }

    // MARK: Its end

    private func finish() async {
        let isMine = state.withLock { state in
            defer { state.isEnding = true }
            return !state.isEnding && !state.hasRun
        }
        wake.finish()
        if isMine { await shutDown() }
        // Also where this task is cancelled.
        await Task { try? await end.wait() }.value
    }

    /// What asks for something is stopped before what it asks.
    private func shutDown() async {
        let (parts, isSigningOut) = state.withLock { state in
            state.isEnding = true
            let ordered = state.parts.sorted { one, other in
                (one.value.order.rawValue, other.key) < (other.value.order.rawValue, one.key)
            }
            state.parts = [:]
            return (ordered.map(\.value), state.isSigningOut)
        }
        for part in parts { await part.stop(isSigningOut) }
        await client.close()
        if !isSigningOut {
            let pending = try? await store.pendingActions()
            state.withLock { ($0.stopped, $0.pending) = (parts, pending ?? []) }
            await store.close()
            releaseFile()
        }
        end.end()
    }
}
