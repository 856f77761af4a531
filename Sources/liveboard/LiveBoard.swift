import LiveClient
import LiveState
import Reactor
import Terminal

/// Keeps a board as the server has it, and shows it: updates of the client, keys and time, one after the other.
actor LiveBoard {
    private var board: Board
    private let service: IncidentService
    private let display: Display
    private var retry = Retry(seed: UInt32(truncatingIfNeeded: WallClock.milliseconds))
    private var keys = KeyDecoder()
    /// Random enough to be told from those of another run.
    private let run = WallClock.milliseconds
    private var actions = 0

    init(_ session: IncidentService.Session, _ service: IncidentService, _ display: Display) {
        board = Board(account: session.account)
        self.service = service
        self.display = display
        board.facts.leftConnected = Self.now
    }

    private static var now: Milliseconds { Milliseconds(WallClock.milliseconds) }

    // MARK: - News

    /// Follows until the client gives up.
    func follow(_ client: LiveClient) async {
        do {
            for try await update in client.updates { await take(update) }
        } catch {
            board.message = "The connection has ended: \(error)"
            draw()
        }
    }

    private func take(_ update: LiveUpdate) async {
        switch update {
        case .connected, .beat: break
        case .live:
            change {
                $0.isCaughtUp = true
                $0.failures = 0
            }
        case .source(.stalled(let since)): change { $0.stalledSince = since ?? Self.now }
        case .source(.live): change { $0.stalledSince = nil }
        case .disconnected:
            change {
                $0.isCaughtUp = false
                $0.failures += 1
            }
        case .resync:
            board.isOld = board.isKnown
            draw()
            await untilDone { () async throws(ServiceFault) in try await self.fetchList() }
        case .event(let event):
            guard event.entity == "incident", board.wants(event.id, type: event.type) else { break }
            await untilDone { () async throws(ServiceFault) in try await self.fetch(event.id) }
        }
        draw()
    }

    private func change(_ edit: (inout Freshness.Facts) -> Void) {
        edit(&board.facts)
        settleFreshness()
    }

    /// Since when it is not connected.
    private func settleFreshness() {
        let now = Self.now
        if Freshness(board.facts, at: now) == .connected {
            board.facts.leftConnected = nil
        } else if board.facts.leftConnected == nil {
            board.facts.leftConnected = now
        }
    }

    /// What was announced is fetched before anything later is: until then the board says that it may be old.
    private func untilDone(_ work: () async throws(ServiceFault) -> Void) async {
        while true {
            do throws(ServiceFault) {
                try await work()
                retry.reset()
                if board.facts.hasFailedToApply { board.message = "" }
                return change { $0.hasFailedToApply = false }
            } catch {
                change { $0.hasFailedToApply = true }
                board.message = "It cannot be fetched: \(error.explanation)."
                draw()
                try? await Task.sleep(for: .milliseconds(retry.wait()))
            }
        }
    }

    private func fetchList() async throws(ServiceFault) {
        board.replace(try await service.list())
        if let opened = board.opened { try await fetch(opened) }
    }

    private func fetch(_ id: String) async throws(ServiceFault) {
        do throws(ServiceFault) {
            board.put(try await service.details(id))
        } catch {
            guard error == .status(404) else { throw error }
            board.remove(id)
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
            board.put(try await service.act(id, verb: verb, key: "liveboard-\(run)-\(actions)"))
            board.message = "\(id): \(verb)d."
        } catch {
            board.message = "\(id): could not \(verb): \(error.explanation)."
        }
        draw()
    }

    // MARK: - Drawing

    /// Also when only time has passed, or the terminal has another size.
    func draw() {
        display.show { BoardScreen.lines(board, columns: $0, rows: $1, now: Self.now) }
    }

    func drawAll() {
        display.forget()
        draw()
    }
}
