import CloseCodes
import LiveClient
import LiveState

/// The task of a ``SocketChannel``: a `URLSessionWebSocketTask`, except in tests.
protocol SocketTask: AnyObject {
    /// The server's close frame, if one arrived; 1005 for an empty one.
    var closeFrame: (code: Int, reason: [UInt8])? { get }
    /// The answer to the handshake, if one arrived.
    var answerHead: AnswerHead? { get }

    func resume()
    func cancel()
    /// Sends a close frame with 1000, and ends the task once it is answered.
    func close()
    /// Sends a message. The handler gets the reason if that fails.
    func send(_ text: String, _ completion: @escaping @Sendable (TaskFailure?) -> Void)
    /// Waits for one message; nil for one that is not text.
    func receive(_ completion: @escaping @Sendable (Result<String?, TaskFailure>) -> Void)
    /// Sends a ping and waits for its pong.
    func ping(_ completion: @escaping @Sendable (TaskFailure?) -> Void)
}

/// A WebSocket over URLSession. It lives on its loop.
///
/// URLSession completes a waiting receive with an error, and calls its delegate with the close frame. After both it reports the
/// end of the task. Which of the first two comes first is not documented, so the end of the task decides.
final class SocketChannel: LiveChannel, TaskOwner {
    /// From the beginning to the answer of the handshake.
    static let openMilliseconds: UInt64 = 10_000
    /// From our close frame to the end of the task.
    static let closeMilliseconds: UInt64 = 5_000
    /// From a message that could not be received to the end of the task, which should have come.
    static let endMilliseconds: UInt64 = 2_000

    /// A deadline that is later than this means that the process was suspended: the server may have answered.
    static let suspendedMilliseconds: UInt64 = 1_000
    /// RFC 6455 §7.4.1: these are never in a close frame. URLSession uses them for a lost connection.
    private static let localCodes: Set<UInt16> = [1006, 1015]

    private let loop: any ClientLoop
    private let request: StreamRequest
    private let task: any SocketTask
    private var report: ((ChannelEvent) -> Void)?
    /// The deadline of opening, and then of ending.
    private var deadline: LoopTimer?
    private var pingTimer: LoopTimer?
    private var isOpened = false
    private var isPaused = false
    private var isReceiving = false
    /// Why the last message could not be received.
    private var failure: TaskFailure?
    private var closeFrame: (code: Int, reason: [UInt8])?
    /// Called when our close is done.
    private var done: (() -> Void)?

    init(
        _ request: StreamRequest, _ task: any SocketTask, on loop: any ClientLoop,
        _ report: @escaping (ChannelEvent) -> Void
    ) {
        (self.request, self.task, self.loop, self.report) = (request, task, loop, report)
        let late = loop.now + Self.openMilliseconds + Self.suspendedMilliseconds
        deadline = loop.wait(milliseconds: Self.openMilliseconds) { [weak self] in
            guard let self else { return }
            self.end(
                self.loop.now > late
                    ? .lost(.cut, "the app was suspended before the answer")
                    : .lost(.silent, "no answer within \(Self.openMilliseconds) ms"))
        }
        task.resume()
    }

    func receive(_ event: TaskEvent) {
        switch event {
        case .opened: open()
        case .closed(let code, let reason): closeFrame = (code, reason)
        case .completed(let failure): end(completed(failure ?? self.failure))
        case .answered, .received: break
        }
    }

    private func open() {
        guard report != nil, !isOpened else { return }
        isOpened = true
        deadline.take()?.cancel()
        report?(.opened)
        schedulePing()
        receiveNext()
    }

    // MARK: Messages

    private func receiveNext() {
        guard isOpened, !isPaused, !isReceiving, failure == nil, report != nil else { return }
        isReceiving = true
        let bound = weakly()
        task.receive { result in bound.loop.execute { bound.value.channel?.received(result) } }
    }

    /// A lost task may never call its handlers, and keeps them.
    private func weakly() -> Confined<WeakChannel> { Confined(WeakChannel(channel: self), loop: loop) }

    private func received(_ result: Result<String?, TaskFailure>) {
        isReceiving = false
        switch result {
        case .success(let text?): report?(.message(Array(text.utf8)))
        case .success: report?(.alive)
        case .failure(let failure): return fail(failure)
        }
        receiveNext()
    }

    private func fail(_ failure: TaskFailure) {
        guard self.failure == nil else { return }
        self.failure = failure
        guard report != nil else { return }
        deadline.take()?.cancel()
        deadline = loop.wait(milliseconds: Self.endMilliseconds) { [weak self] in
            guard let self else { return }
            self.end(self.completed(failure))
        }
    }

    func send(_ text: [UInt8]) {
        guard isOpened, failure == nil, report != nil else { return }
        let bound = weakly()
        task.send(String(decoding: text, as: UTF8.self)) { failure in
            guard let failure else { return }
            bound.loop.execute { bound.value.channel?.fail(failure) }
        }
    }

    func ping() {
        guard isOpened, report != nil else { return }
        let bound = weakly()
        // The end of the task reports a ping that fails.
        task.ping { failure in
            guard failure == nil else { return }
            bound.loop.execute { bound.value.channel?.report?(.alive) }
        }
    }

    private func schedulePing() {
        pingTimer = loop.wait(milliseconds: request.pingMilliseconds) { [weak self] in
            guard let self, self.report != nil else { return }
            // Its pong would not be read.
            if !self.isPaused { self.ping() }
            self.schedulePing()
        }
    }

    func pauseReading() { isPaused = true }

    func resumeReading() {
        isPaused = false
        receiveNext()
    }

    // MARK: Ending

    private func completed(_ failure: TaskFailure?) -> ChannelEnding {
        if let (code, reason) = closeFrame ?? task.closeFrame, let code = UInt16(exactly: code),
            !Self.localCodes.contains(code)
        {
            return .closed(CloseCode(rawValue: code), reason: String(decoding: reason, as: UTF8.self))
        }
        if isOpened { return .lost(.cut, failure?.text ?? "the connection ended without a close") }
        guard let head = task.answerHead else {
            // A library without WebSockets reports the address as unsupported; other transports may work.
            if let failure, failure.code == .unsupportedURL { return .lost(.blocked, failure.text) }
            #if os(watchOS)
                // watchOS blocks WebSockets but for calls and audio (TN3135), and event streams work.
                return .lost(.blocked, failure?.text ?? "no answer")
            #else
                return failure?.ending(wasAnswered: false) ?? .lost(.cut, "no answer")
            #endif
        }
        // For a refusal, URLSession provides no body.
        if head.status != 101 { return .refused(head.answer([], isTruncated: true)) }
        return .lost(.blocked, failure?.text ?? "the handshake failed")
    }

    private func end(_ ending: ChannelEnding) {
        for timer in [deadline.take(), pingTimer.take()] { timer?.cancel() }
        task.cancel()
        report.take()?(.ended(ending))
        done.take()?()
    }

    func end(withWord: Bool, _ done: @escaping () -> Void) {
        report = nil
        for timer in [deadline.take(), pingTimer.take()] { timer?.cancel() }
        guard withWord, isOpened, failure == nil else {
            task.cancel()
            return loop.executeNextTick(done)
        }
        self.done = done
        task.close()
        // The timer keeps it alive until then, because nothing else holds it any more.
        deadline = loop.wait(milliseconds: Self.closeMilliseconds) { self.end(.lost(.cut, "no answer to the close")) }
    }
}

private struct WeakChannel {
    weak var channel: SocketChannel?
}
