import Glibc
import HTTP
import LiveClientReactor
import Options
import Reactor
import Terminal
import Transport
import WebSocket

/// livecat at work: one connection, what comes from standard input, what goes to the screen, and how it ends. Lives on
/// a loop.
final class Cat {
    /// Messages read from standard input that wait for the connection are bounded by this and one read.
    static let maximumPendingBytes = 1 << 20
    /// How long the end may take after a signal: the answer to a close, and a second for what is being written.
    static let maximumGoodbyeMilliseconds: UInt64 = 6_000

    let settings: CatSettings
    let loop: EventLoop
    let screen: Screen
    let output: Output
    let input: Input
    let connection: PersistentConnection<Cat>
    /// For the prompt; nil where there is none.
    let terminal: TerminalMode?
    let inputIsTerminal: Bool

    var splitter = LineSplitter(maximumLineBytes: ClientLimits().maximumMessageBytes)
    /// Read and not sent yet.
    var lines: ArraySlice<[UInt8]> = []
    var closesAfterLines = false
    var inputProblem: ExitStatus?
    /// We wanted the end: the status is 0 whatever the server makes of it.
    var isEnding = false
    var wasOpened = false
    var reading: CatReading
    /// When the page was asked for that is awaited.
    var requestedAt: UInt64 = 0
    /// The next page waits until standard output has room.
    var owesRequest: (url: WebSocketURL, isSameOrigin: Bool)?
    var waitTimer: Timer?
    /// While the token is about to end and the file has no other one yet.
    var renewalTimer: Timer?
    var renewalPace = RenewalPace()
    private var signals: [SignalWatch] = []

    init(_ settings: CatSettings, loop: EventLoop, surroundings: Surroundings) throws(ReactorError) {
        self.settings = settings
        self.loop = loop
        output = try Output(loop: loop, cursorFile: settings.cursorFile)
        reading = CatReading(settings)
        input = try Input(loop: loop)
        let appearance = Appearance(settings, in: surroundings)
        screen = Screen(appearance, write: output.write)
        connection = PersistentConnection<Cat>(
            settings.connection, maximumRedirects: settings.maximumRedirects, reconnects: settings.reconnects,
            asksAgain: settings.asksAgain, policy: ReconnectPolicy(hasFixedToken: settings.hasFixedToken),
            on: TransportLoop(loop: loop))
        terminal = appearance.isInteractive ? TerminalMode() : nil
        inputIsTerminal = surroundings.inputIsTerminal
    }

    func start() {
        for number in [SIGINT, SIGTERM, SIGHUP] {
            signals.append(SignalWatch(number, loop: loop) { self.interrupted() })
        }
        if terminal != nil {
            signals.append(SignalWatch(SIGCONT, loop: loop) { self.continued() })
        }
        output.drained = { self.outputDrained() }
        output.cursorFailed = { self.endByItself() }
        output.failed = { error in self.outputFailed(error) }
        input.received = { piece in self.take(piece) }
        if let milliseconds = settings.durationMilliseconds {
            loop.schedule(afterMilliseconds: milliseconds) { self.endByItself() }
        }
        connection.start(self)
    }

    private func outputDrained() {
        connection.resumeReading()
        guard let (url, isSameOrigin) = owesRequest else { return }
        owesRequest = nil
        connectionPrepares(url, isSameOrigin: isSameOrigin)
    }

    // MARK: The end

    /// Says goodbye; a second time it does not wait for the answer.
    func interrupted() {
        if isEnding { return quit(.success) }
        endByItself()
        loop.schedule(afterMilliseconds: Self.maximumGoodbyeMilliseconds) { self.quit(.success) }
    }

    func endByItself(_ code: CloseCode = .normal, reason: String = "") {
        guard !isEnding else { return }
        isEnding = true
        connection.close(code, reason: reason)
        // What holds back the server now would hold back its answer.
        connection.resumeReading()
    }

    /// The reader of standard output has gone: so do we, without a word.
    private func outputFailed(_ error: Int32) {
        if error != EPIPE {
            screen.notice("error: cannot write to standard output: \(SystemFailure.text(of: error))", .error)
            inputProblem = .output
        }
        endByItself()
    }

    func finish(_ status: ExitStatus) {
        screen.removePrompt()
        let (notice, status) = reading.end(status)
        perform(notice.map { [$0] } ?? [])
        terminal?.restore()
        output.finish(inputProblem ?? status)
    }

    /// Ends at once, whatever is not written.
    private func quit(_ status: ExitStatus) {
        terminal?.restore()
        exit(status.code)
    }

    private func continued() {
        guard screen.editor != nil else { return }
        terminal?.enterRaw()
        screen.drawPrompt()
    }
}

@available(*, unavailable) extension Cat: Sendable {}
