import LiveClient
import LiveState
import Reactor
import Terminal

/// Where a board is shown.
protocol BoardDisplay: Sendable {
    func show(_ lines: (_ columns: Int, _ rows: Int) -> [String])
    /// What it shows is not known any more.
    func forget()
}

/// Keeps a board as the server has it, and shows it: updates of the client, answers, keys and time.
///
/// News is read at once, whatever is being fetched: what it asks for waits in ``PendingFetches``.
actor LiveBoard {
    private(set) var board: Board
    private let source: any IncidentSource
    private let display: any BoardDisplay
    private var pending = PendingFetches()
    /// The stream is open, and what was missed was delivered.
    private var isLive = false
    private var retry = Retry(seed: UInt32(truncatingIfNeeded: WallClock.milliseconds))
    private var isRetrying = false
    /// What the message said of the last failed fetch.
    private var fault = ""
    private var keys = KeyDecoder()
    /// Random enough to be told from those of another run.
    private let run = WallClock.milliseconds
    private var actions = 0

    init(of account: String, from source: any IncidentSource, on display: any BoardDisplay) {
        board = Board(account: account)
        self.source = source
        self.display = display
        board.facts.leftConnected = Self.now
    }

    private static var now: Milliseconds { Milliseconds(WallClock.milliseconds) }

    // MARK: - News

    /// Follows until the client gives up.
    func follow(_ client: LiveClient) async {
        var why = "the client was closed"
        do {
            for try await update in client.updates { take(update) }
        } catch {
            why = "\(error)"
        }
        isLive = false
        board.end(why: why)
        draw()
    }

    /// Waits for nothing: a loss behind news is shown while that is still being fetched.
    func take(_ update: LiveUpdate) {
        switch update {
        case .connected, .beat: break
        case .live:
            isLive = true
            board.facts.failures = 0
        case .source(.stalled(let since)): board.facts.stalledSince = since ?? Self.now
        case .source(.live): board.facts.stalledSince = nil
        case .disconnected:
            isLive = false
            board.facts.failures += 1
        case .resync: pending.addList(at: Self.now)
        case .event(let event):
            guard event.entity == "incident" else { break }
            pending.add(event.id, isCreated: event.type == "created", at: Self.now)
        }
        goOn()
    }

    /// Begins the next fetch, if none runs.
    private func goOn() {
        let board = board
        let next = pending.begin { entry in
            guard case .incident(let id) = entry.fetch else { return true }
            return board.wants(id, isCreated: entry.isCreated, isChanged: entry.isChanged)
        }
        if let next { Task { await self.perform(next) } }
        draw()
    }

    private func perform(_ next: PendingFetches.Fetch) async {
        do throws(ServiceFault) {
            switch next {
            case .list: board.replace(try await source.list())
            case .incident(let id): try await fetch(id)
            }
            pending.succeed()
            // A list leaves out what only details have.
            if next == .list, let opened = board.opened { pending.add(opened, isCreated: false, at: Self.now) }
            if !pending.hasFailed {
                retry.reset()
                if board.message == fault { board.message = "" }
            }
        } catch {
            pending.fail()
            fault = "It cannot be fetched: \(error.explanation)."
            board.message = fault
            tryAgainLater()
        }
        goOn()
    }

    private func tryAgainLater() {
        guard !isRetrying else { return }
        isRetrying = true
        let wait = retry.wait()
        Task {
            try? await Task.sleep(for: .milliseconds(wait))
            isRetrying = false
            pending.retry()
            goOn()
        }
    }

    private func fetch(_ id: String) async throws(ServiceFault) {
        do throws(ServiceFault) {
            board.put(try await source.details(id))
        } catch {
            guard let why = error.absence else { throw error }
            board.remove(id, because: why)
        }
    }

    /// What the sign is made of, and since when it is not connected.
    private func settle() {
        let now = Self.now
        board.isOld = board.isKnown && pending.needsList
        board.facts.isCaughtUp = isLive && !pending.needsList
        board.facts.unappliedSince = pending.since
        board.facts.hasFailedToApply = pending.hasFailed
        if Freshness(board.facts, at: now) == .connected {
            board.facts.leftConnected = nil
        } else if board.facts.leftConnected == nil {
            board.facts.leftConnected = now
        }
    }

    // MARK: - Keys

    /// - Returns: false when it is to end.
    func type(_ bytes: [UInt8]) -> Bool {
        for key in keys.decode(bytes) {
            switch board.press(key) {
            case .quit: return false
            case .open(let id): Task { await self.open(id) }
            case .act(let id, let verb): Task { await self.act(id, verb) }
            case nil: break
            }
        }
        let limit = BoardScreen.maximumScroll(board, columns: TerminalMode.columns, rows: TerminalMode.rows)
        board.scroll = min(board.scroll, limit)
        draw()
        return true
    }

    private func open(_ id: String) async {
        do throws(ServiceFault) {
            try await fetch(id)
        } catch {
            board.message = "The details cannot be fetched: \(error.explanation)."
        }
        draw()
    }

    /// Runs now, and fails with a reason: it is not kept.
    private func act(_ id: String, _ verb: String) async {
        actions += 1
        do throws(ServiceFault) {
            board.put(try await source.act(id, verb: verb, key: "liveboard-\(run)-\(actions)"))
            board.message = "\(id): \(verb)d."
        } catch {
            board.message = "\(id): could not \(verb): \(error.explanation)."
        }
        draw()
    }

    // MARK: - Drawing

    /// Also when only time has passed, or the terminal has another size.
    func draw() {
        settle()
        display.show { BoardScreen.lines(board, columns: $0, rows: $1, now: Self.now) }
    }

    func drawAll() {
        display.forget()
        draw()
    }
}
