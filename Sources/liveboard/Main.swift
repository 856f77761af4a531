import Glibc
import LiveClient
import Options
import Reactor
import Synchronization
import Terminal

/// The terminal's screen while the program runs: its own, which goes with it.
final class Display: BoardDisplay {
    private let mode: TerminalMode
    /// What it shows.
    private let shown = Mutex<[String]?>(nil)

    /// Nil where there is no terminal.
    init?() {
        guard TerminalMode.isTerminal(STDOUT_FILENO), let mode = TerminalMode() else { return nil }
        self.mode = mode
    }

    func begin() {
        mode.enterRaw()
        // The other screen, without a cursor (xterm's private modes 1049 and 25).
        StandardOutput.write("\u{1B}[?1049h\u{1B}[?25l")
        forget()
    }

    /// What it shows is not known any more.
    func forget() { shown.withLock { $0 = nil } }

    /// Writes the lines where they are others. Each draw asks for the size, so the terminal may have another at any time.
    func show(_ lines: (_ columns: Int, _ rows: Int) -> [String]) {
        let lines = lines(TerminalMode.columns, TerminalMode.rows)
        shown.withLock { shown in
            guard shown != lines else { return }
            shown = lines
            StandardOutput.write("\u{1B}[H" + lines.map { $0 + "\u{1B}[K" }.joined(separator: "\n") + "\u{1B}[J")
        }
    }

    func end() {
        StandardOutput.write("\u{1B}[?25h\u{1B}[?1049l")
        mode.restore()
    }
}

/// liveboard: the demo's incidents in a terminal, as they change.
@main struct Main {
    /// How often the sign is asked whether time has changed it, and the terminal whether it has another size.
    private static let tick = Duration.milliseconds(250)
    /// One read of the keyboard.
    private static let maximumKeyBytes = 1024

    static let table = Command(
        "liveboard", summary: "show the incidents of a livegate demo in a terminal, as they change",
        details: [
            "A list and details that change by themselves, on the client library. Keys: up and down or j and k choose, "
                + "enter shows details, left goes back, a acknowledges, r resolves, q quits."
        ],
        operands: [
            Operand("URL", isRequired: false, help: "the page that the demo prints (default http://127.0.0.1:8081/)")
        ],
        statuses: [
            (.success, "it was ended"), (.unavailable, "there is no demo at this address"),
            (.wrongUse, "wrong use, or no terminal"),
        ])

    static func main() async {
        let arguments = table.parseOrExit()
        guard let display = Display() else { table.exitWrongUse("standard input and output are no terminal") }
        var base = arguments.operands.first ?? "http://127.0.0.1:8081/"
        while base.hasSuffix("/") { base.removeLast() }
        do {
            let service = try IncidentService(base: base)
            let session = try await service.renewedSession()
            var configuration = LiveClientConfiguration(url: "\(session.gateway)/live/v1")
            configuration.entities = ["incident"]
            let client = try LiveClient(configuration) { try await service.renewedSession().token }
            try await run(LiveBoard(of: session.account, from: service, on: display), client, display)
        } catch {
            let why = (error as? ServiceFault)?.explanation ?? "\(error)"
            StandardError.line("liveboard: no demo at \(base): \(why)")
            exit(ExitStatus.unavailable.code)
        }
    }

    private static func run(_ board: LiveBoard, _ client: LiveClient, _ display: Display) async throws {
        let loop = try EventLoop(label: "signals")
        display.begin()
        let ended = AsyncStream.makeStream(of: Void.self)
        let signals = [SIGINT, SIGTERM, SIGHUP].map { number in
            SignalWatch(number, loop: loop) { ended.continuation.finish() }
        }
        let changes = [SIGWINCH, SIGCONT].map { number in
            SignalWatch(number, loop: loop) {
                // Who was stopped finds the terminal as the shell had it.
                if number == SIGCONT { display.begin() }
                Task { await board.drawAll() }
            }
        }
        Task { await board.follow(client) }
        Task {
            while true {
                await board.draw()
                try await Task.sleep(for: tick)
            }
        }
        let keyboard = try EventLoop(label: "keyboard")
        let typed = AsyncStream.makeStream(of: [UInt8].self)
        keyboard.execute {
            while let bytes = InputBytes.read(maximumBytes: maximumKeyBytes) { typed.continuation.yield(bytes) }
            typed.continuation.finish()
        }
        Task {
            for await bytes in typed.stream { guard await board.type(bytes) else { break } }
            ended.continuation.finish()
        }
        for await _ in ended.stream {}
        for signal in signals + changes { signal.cancel() }
        display.end()
        exit(ExitStatus.success.code)
    }
}
