import Glibc
import HTTP
import LiveClientReactor
import Options
import Reactor
import Terminal
import Transport
import WebSocket

/// livecat at work: one connection, the input from standard input, the output to the screen, and the end. It lives on a loop.
final class Cat {
    /// The limit of messages read from standard input that wait for the connection; one read may come on top.
    static let maximumPendingBytes = 1 << 20
    /// The time limit for the end after a signal: the answer to a close, and a second for the last writes.
    static let maximumGoodbyeMilliseconds: UInt64 = 6_000

    let settings: CatSettings
    let loop: EventLoop
    let screen: Screen
    let output: Output
    let input: Input
    let connection: PersistentConnection<Cat>
    /// For the prompt; nil if there is none.
    let terminal: TerminalMode?
    let inputIsTerminal: Bool

    var splitter = LineSplitter(maximumLineBytes: ClientLimits().maximumMessageBytes)
    /// Lines that were read and not sent yet.
    var lines: ArraySlice<[UInt8]> = []
    var closesAfterLines = false
    var inputProblem: ExitStatus?
    /// We wanted the end, so the status is 0 with any answer of the server.
    var isEnding = false
    var wasOpened = false
    var reading: CatReading
    /// The time of the request for the page that is awaited.
    var requestedAt: UInt64 = 0
    /// The request for the next page, which waits until standard output accepts more.
    var owesRequest: (url: WebSocketURL, isSameOrigin: Bool)?
    var waitTimer: Timer?
    /// Set while the token is about to end and the file contains no other one yet.
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

    /// Closes the connection. The second call does not wait for the answer.
    func interrupted() {
        if isEnding { return quit(.success) }
        endByItself()
        loop.schedule(afterMilliseconds: Self.maximumGoodbyeMilliseconds) { self.quit(.success) }
    }

    func endByItself(_ code: CloseCode = .normal, reason: String = "") {
        guard !isEnding else { return }
        isEnding = true
        connection.close(code, reason: reason)
        // A paused read now would also delay the server's answer.
        connection.resumeReading()
    }

    /// Nothing reads standard output any more, so livecat ends too, without a notice.
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

    /// Ends at once, even if something is not written yet.
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
