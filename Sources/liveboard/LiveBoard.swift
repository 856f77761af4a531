import LiveClient
import Terminal

/// Where a board is shown.
protocol BoardDisplay: Sendable {
    var size: (columns: Int, rows: Int) { get }
    func show(_ lines: (_ columns: Int, _ rows: Int) -> [BoardLine])
    /// Marks the content of the display as unknown.
    func forget()
}

/// Keeps a board equal to the state of the client library, and shows it: states of screens and machine, keys and time.
///
/// The state is only in the library: its machine writes state and cursor together to the file, its screens decide what is
/// fetched, and its actions store what the user did.
actor LiveBoard {
    static let list = "list"
    static let detailsScreen = "details"
    /// The number of incidents in a page of the list.
    static let pageLimit = 25
    /// How often the end waits, if no file stores them, until the last actions are sent.
    private static let lastSends = 40
    private static let lastSendPause = Duration.milliseconds(50)

    private(set) var board: Board
    private let service: IncidentService
    private let display: any BoardDisplay
    private let store: SQLiteStore
    private let clock: @Sendable (Milliseconds) -> String
    private let now: @Sendable () -> Milliseconds
    private let storeDeadline: Milliseconds
    private let screens: LiveScreens<IncidentService>
    private var machine: LiveMachine<IncidentArea>?
    private var outbox: Outbox?
    private var keys = KeyDecoder()
    private var wanted = 0
    private var detailsTask: Task<Void, Never>?
    private var wakeTask: Task<Void, Never>?
    /// The last note that may not have been added: the same text again has the same key.
    private var lastNote: (id: String, content: String, key: String)?
    private let run = UInt64.random(in: 0 ... .max)
    private var notes = 0

    init(
        of account: String, from service: IncidentService, in store: SQLiteStore, on display: any BoardDisplay,
        now: @escaping @Sendable () -> Milliseconds, clock: @escaping @Sendable (Milliseconds) -> String,
        storeDeadline: Milliseconds = 10_000
    ) {
        self.storeDeadline = storeDeadline
        board = Board(account: account)
        self.service = service
        self.store = store
        self.display = display
        self.now = now
        self.clock = clock
        var settings = LiveScreens<IncidentService>.Settings()
        settings.lists.pageLimit = Self.pageLimit
        screens = LiveScreens(service, settings: settings)
    }

    // MARK: - The beginning

    /// Shows the state of the last run, and sends what that could not send. It needs no network.
    func begin() async throws {
        board.sign.freshness = .connecting(since: now())
        let area = area()
        try? await area.restore(from: store)
        let (news, newsSource) = AsyncStream.makeStream(of: ActionNews.self)
        outbox = try await Outbox.open(
            store, service,
            Outbox.Reports(
                changed: { [weak self] changes in await self?.keep(changes) },
                done: { [weak self] incident in await self?.answered(incident) },
                news: { newsSource.yield($0) }))
        Task { [weak self] in for await piece in news { await self?.report(piece) } }
        let states = await screens.makeList(Self.list, of: Incident.entity) { $0.key }
        Task { [weak self] in for await state in states { await self?.take(state) } }
        await wantList()
        draw()
    }

    private func area() -> IncidentArea {
        IncidentArea(service: service, screens: screens) { [weak self] incidents, asOf in
            await self?.restore(incidents, asOf)
        }
    }

    /// Reports that there was no answer yet, and so no address of a gateway.
    func wait(failures: Int) {
        guard machine == nil, case .connecting(let since)? = board.sign.freshness else { return draw() }
        if failures >= Freshness.failuresUntilCannotConnect { board.sign.freshness = .cannotConnect(since: since) }
        draw()
    }

    /// Follows until the program ends, from the stored state on.
    func follow(_ client: LiveClient) async {
        var settings = UpdateMachine.Settings()
        settings.entities = [Incident.entity]
        let machine = LiveMachine(
            area(), store: store, client: client, settings: settings, storeDeadline: storeDeadline)
        self.machine = machine
        Task { [weak self] in
            for await case .ended(let error) in client.states { await self?.end(why: "\(error)") }
        }
        await machine.start()
        for await view in await machine.views { await take(view) }
    }

    /// Reports that no more news will arrive. The shown state remains, and is marked as old.
    ///
    /// - Parameter advice: what the user can do about it.
    func end(why: String, advice: String? = nil) {
        board.sign.ending = board.sign.ending ?? why
        board.advice = advice ?? board.advice
        draw()
    }

    // MARK: - What is known

    private func restore(_ incidents: [Incident], _ asOf: Milliseconds?) {
        board.restore(incidents)
        board.sign.asOf = board.sign.asOf ?? asOf
        draw()
    }

    private func take(_ view: UpdateMachine.View) async {
        board.storeError = await machine?.storeError
        guard view.state != .notLoaded else {
            // There was an answer, so the failed attempts before no longer count.
            if case .cannotConnect(let since)? = board.sign.freshness {
                board.sign.freshness = .connecting(since: since)
            }
            return draw()
        }
        let wasConnected = board.sign.freshness == .connected
        board.sign.freshness = view.freshness
        board.sign.shown = view.sign
        board.sign.asOf = view.metadata.lastSuccess ?? board.sign.asOf
        board.sign.refusedSince = view.isUnauthorized ? board.sign.refusedSince ?? now() : nil
        // Also when a request was refused for good while the client continues.
        if let error = view.end { end(why: "\(error)") }
        draw()
        if view.freshness == .connected, !wasConnected { await outbox?.networkIsBack() }
    }

    private func take(_ state: ListState<Incident>) async {
        board.list = state
        await wantList()
        draw()
    }

    private func take(_ state: DetailsState<Incident>) {
        guard state.thing.id == board.opened else { return }
        board.details = state
        draw()
    }

    /// Asks for the list as far down as it is visible.
    private func wantList() async {
        guard board.opened == nil else { return }
        let count = BoardScreen.wantedIncidents(board, rows: display.size.rows)
        guard count != wanted else { return }
        wanted = count
        await screens.show(Self.list, from: .beginning, .forward, count: count)
    }

    private func open(_ id: String) async {
        await screens.hide(Self.list)
        wanted = 0
        let thing = Incident.thing(id)
        let states = await screens.showDetails(Self.detailsScreen, of: thing)
        detailsTask = Task { [weak self] in for await state in states { await self?.take(state) } }
        // A page of the list has no notes.
        await screens.refresh(thing)
    }

    private func close() async {
        detailsTask?.cancel()
        await screens.hide(Self.detailsScreen)
        await wantList()
    }

    // MARK: - What the user does

    private func keep(_ changes: [ActionChange]) {
        board.keep(changes)
        draw()
    }

    private func answered(_ incident: Incident) {
        board.answered(incident)
        draw()
    }

    private func report(_ news: ActionNews) {
        switch news {
        case .rejected(let action, let status, false):
            board.message = "Your change of \(action.id) is undone: \(RequestError(status: status).explanation)."
        case .expired(let action): board.message = "Your change of \(action.id) is undone: it was kept too long."
        case .unauthorized: board.message = "Your changes wait: the server does not let you in. u asks again."
        // If the user has chosen another status since, nothing is undone.
        case .rejected: break
        }
        draw()
    }

    /// - Returns: false when the program has to end.
    func type(_ bytes: [UInt8]) async -> Bool {
        for key in keys.decode(bytes) {
            switch board.press(key) {
            case .quit: return false
            case .open(let id): await open(id)
            case .close: await close()
            case .set(let id, let status, let before): await set(id, status, before)
            case .addNote(let id, let content): Task { await self.addNote(id, content) }
            case .refresh: Task { await self.refresh() }
            case nil: break
            }
        }
        let size = display.size
        board.scroll = min(
            board.scroll, BoardScreen.maximumScroll(board, columns: size.columns, rows: size.rows))
        await wantList()
        draw()
        return true
    }

    private func set(_ id: String, _ status: String, _ before: String) async {
        do {
            try await outbox?.set(id, to: status, from: before)
        } catch StoreError.noAnswer {
            board.message = "The store does not answer. Your change of \(id) is kept once it shows with *."
        } catch {
            board.message = "Your change of \(id) was not saved: \(error)."
        }
    }

    private func addNote(_ id: String, _ content: String) async {
        guard let outbox else { return }
        if lastNote.map({ $0.id != id || $0.content != content }) ?? true {
            notes += 1
            lastNote = (id, content, "liveboard-\(String(run, radix: 36))-\(notes)")
        }
        guard let key = lastNote?.key else { return }
        do throws(ImmediateActionError) {
            try await outbox.addNote(id, content, key: key)
            lastNote = nil
            board.message = "The note was added."
        } catch {
            board.message = "The note was not added: \(error.explanation)."
            board.giveBack(content, of: id)
        }
        draw()
    }

    private func refresh() async {
        if (try? await service.enter()) != nil, machine != nil, board.advice != nil {
            // The page signs in this account again.
            (board.sign.ending, board.advice) = (nil, nil)
        }
        await outbox?.tokenChanged()
        let wasRefused = board.sign.refusedSince != nil
        // Both, so that a running request with the token before does not count for this one.
        let areScreensRefused = await screens.isUnauthorized
        if wasRefused || areScreensRefused { await screens.tokenChanged() }
        if wasRefused { await machine?.tokenChanged(isValid: true) }
        await machine?.refresh()
        if let opened = board.opened { await screens.refresh(Incident.thing(opened)) }
    }

    /// Sends the last actions, if no file stores them.
    func sendLast() async {
        await outbox?.flush()
        for _ in 0..<Self.lastSends where !board.pending.isEmpty { try? await Task.sleep(for: Self.lastSendPause) }
    }

    // MARK: - Drawing

    func draw() {
        board.sign.settle(isFetching: board.isFetching, at: now(), clock: clock)
        display.show { BoardScreen.lines(board, columns: $0, rows: $1, clock: clock) }
        wakeTask?.cancel()
        guard let wakeAt = board.sign.wakeAt else { return }
        let wait = max(0, wakeAt - now())
        wakeTask = Task { [weak self] in
            guard (try? await Task.sleep(for: .milliseconds(wait))) != nil else { return }
            await self?.draw()
        }
    }

    /// The terminal has another size, or another program has drawn on it.
    func drawAll() async {
        display.forget()
        draw()
        await wantList()
    }
}
