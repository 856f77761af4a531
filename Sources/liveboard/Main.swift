import Glibc
import LiveClientReactor
import Options
import Reactor
import Terminal

/// liveboard: shows the demo's incidents in a terminal, as they change.
@main struct Main {
    /// The size of one read of the keyboard.
    private static let maximumKeyBytes = 1024

    static let store = SingleOption(
        "store", .file(),
        help:
            "keep in this file what is known and what was done: the next start shows it at once, and sends what could "
            + "not be sent. For one board at a time (default: nothing is kept)")
    static let gateway = SingleOption(
        "gateway", .text("URL"), help: "connect to this gateway instead of the one that the page names")
    static let noColor = Flag("no-color", help: "no colours")

    static let table = Command(
        "liveboard", summary: "show the incidents of a livegate demo in a terminal, as they change",
        details: [
            "Shows a list and details that update by themselves, with the client library: only what is shown is fetched. Works "
                + "in a terminal of any size, which may change at any time.",
            "The top line shows on the right whether the list is current: connected, connecting since, cannot connect since. "
                + "On the left it shows the time of an old state. After a status, * marks a change that was not sent yet, and ~ "
                + "a value that may be old.",
            "Acknowledging and resolving work without a network too: they are kept, sent when the server is reachable, and "
                + "undone where it refuses them. A note needs the server now.",
            "Keys: up and down or j and k choose, enter shows details, left goes back, a acknowledges, r resolves, n in the "
                + "details writes a note, u asks for everything again, q quits.",
        ],
        options: [store, gateway, noColor],
        operands: [
            Operand("URL", isRequired: false, help: "the page that the demo prints (default http://127.0.0.1:8081/)")
        ],
        statuses: [
            (.success, "it was ended"), (.unavailable, "there is no demo at this address"),
            (.badInput, "the file of --store is another's"), (.wrongUse, "wrong use, or no terminal"),
        ],
        sections: [
            ManualSection(
                "Environment",
                [.entry("NO_COLOR", "not empty: no colours"), .entry("TERM", "dumb: no colours")])
        ],
        documentsItself: true)

    static func main() async {
        let arguments = table.parseOrExit()
        guard let display = Display(isColored: allowsColor(arguments)) else {
            table.exitWrongUse("standard input and output are no terminal")
        }
        var base = arguments.operands.first ?? "http://127.0.0.1:8081/"
        while base.hasSuffix("/") { base.removeLast() }
        do {
            let service = try IncidentService(base: base, gateway: arguments[gateway])
            let path = arguments[store] ?? BoardFile.inMemory
            let known = path == BoardFile.inMemory ? nil : try await BoardFile.account(in: path, of: base)
            let account: String
            if let known { account = known } else { account = try await service.enter().account }
            await service.expect(account)
            let file = try await BoardFile.open(path, account: account, server: base)
            let (start, epoch) = (ContinuousClock.now, Milliseconds(WallClock.milliseconds))
            let now = { @Sendable in epoch + Milliseconds((ContinuousClock.now - start) / .milliseconds(1)) }
            let board = LiveBoard(
                of: account, from: service, in: file, on: display, now: now,
                clock: { LocalTime.text($0, now: now()) })
            try await run(board, service, display, isKept: path != BoardFile.inMemory)
        } catch let error as RequestError {
            end("no demo at \(base): \(error.explanation)", .unavailable)
        } catch let error as StoreError {
            end("\(arguments[store] ?? "memory"): \(error)", .badInput)
        } catch {
            end("\(error)", .unavailable)
        }
    }

    private static func end(_ why: String, _ status: ExitStatus) -> Never {
        StandardError.line("liveboard: \(why)")
        exit(status.code)
    }

    private static func allowsColor(_ arguments: Arguments) -> Bool {
        let variables = ProcessEnvironment.variables
        return !arguments[noColor] && !variables.contains { $0.name == "NO_COLOR" && !$0.value.isEmpty }
            && !variables.contains { $0.name == "TERM" && $0.value == "dumb" }
    }

    /// Asks for the session until there is an answer, and then follows.
    private static func follow(_ board: LiveBoard, _ service: IncidentService) async {
        var retry = Retry(seed: .random(in: 0 ... .max))
        while true {
            do {
                let session = try await service.enter()
                var configuration = LiveClientConfiguration(url: "\(session.gateway)/live/v1")
                configuration.entities = [Incident.entity]
                let client = try LiveClient(configuration) {
                    try await board.token(for: session.gateway) { try await service.enter() }
                }
                return await board.follow(client)
            } catch let error as LiveClientError {
                return await board.end(why: "\(error)")
            } catch let error as RequestError where error.status == 401 {
                return await board.endAccount()
            } catch {
                let wait = retry.wait()
                await board.wait(failures: retry.failures)
                try? await Task.sleep(for: .milliseconds(wait))
            }
        }
    }

    private static func run(
        _ board: LiveBoard, _ service: IncidentService, _ display: Display, isKept: Bool
    ) async throws {
        let loop = try EventLoop(label: "signals")
        display.begin()
        do {
            try await board.begin()
        } catch {
            await display.end()
            throw error
        }
        let ended = AsyncStream.makeStream(of: Void.self)
        let signals = [SIGINT, SIGTERM, SIGHUP].map { number in
            SignalWatch(number, loop: loop) { ended.continuation.finish() }
        }
        let changes = [SIGWINCH, SIGCONT].map { number in
            SignalWatch(number, loop: loop) {
                // After a stop, the terminal is in the state that the shell has set.
                if number == SIGCONT { display.begin() }
                Task { await board.drawAll() }
            }
        }
        Task { await follow(board, service) }
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
        if !isKept { await board.sendLast() }
        await display.end()
        exit(ExitStatus.success.code)
    }
}

// The account that is signed in, which may change while the board runs.
extension LiveBoard {
    /// Returns a token for the connection to this gateway.
    ///
    /// - Throws: `LiveClientError.unauthorized` if the page signs in another account, or none: then it is useless to wait for a
    ///   token.
    func token(
        for gateway: String, _ enter: @Sendable () async throws -> IncidentService.Session
    ) async throws -> String {
        do {
            let renewed = try await enter()
            if renewed.gateway != gateway { end(why: "the gateway is \(renewed.gateway) now, start again") }
            return renewed.token
        } catch let error as RequestError where error.status == 401 {
            endAccount()
            throw LiveClientError.unauthorized
        }
    }

    /// Ends the board, because another account is signed in now than the one that is shown.
    func endAccount() {
        let account = board.account
        end(
            why: "the page lets in as another account",
            advice: "Quit and start again; a file of --store is \(account)'s: name another.")
    }
}
