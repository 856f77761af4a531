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
    func send(_ text: String)
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
        deadline = loop.wait(milliseconds: Self.openMilliseconds) { [weak self] in
            self?.end(.lost(.silent, "no answer within \(Self.openMilliseconds) ms"))
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
        let bound = Confined(self, loop: loop)
        task.receive { result in bound.loop.execute { bound.value.received(result) } }
    }

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
        self.failure = failure
        guard report != nil else { return }
        deadline.take()?.cancel()
        deadline = loop.wait(milliseconds: Self.endMilliseconds) { [weak self] in
            guard let self else { return }
            self.end(self.completed(failure))
        }
    }

    func send(_ text: [UInt8]) {
        if isOpened { task.send(String(decoding: text, as: UTF8.self)) }
    }

    func ping() {
        guard isOpened, report != nil else { return }
        let bound = Confined(self, loop: loop)
        // The end of the task reports a ping that fails.
        task.ping { failure in
            guard failure == nil else { return }
            bound.loop.execute { bound.value.report?(.alive) }
        }
    }

    private func schedulePing() {
        pingTimer = loop.wait(milliseconds: request.pingMilliseconds) { [weak self] in
            guard let self, self.report != nil else { return }
            self.ping()
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
        if let (code, reason) = closeFrame ?? task.closeFrame, let code = UInt16(exactly: code) {
            return .closed(CloseCode(rawValue: code), reason: String(decoding: reason, as: UTF8.self))
        }
        if isOpened { return .lost(.cut, failure?.text ?? "the connection ended without a close") }
        guard let head = task.answerHead else {
            // A library without WebSockets reports the address as unsupported; other transports may work.
            if let failure, failure.code == .unsupportedURL { return .lost(.blocked, failure.text) }
            return failure?.ending(wasAnswered: false) ?? .lost(.cut, "no answer")
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
