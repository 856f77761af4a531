import HTTP
import LiveClient
import LiveState

/// The task of a ``RequestChannel``: a `URLSessionDataTask`, except in tests.
protocol RequestTask: AnyObject {
    func resume()
    func suspend()
    func cancel()
}

/// An event stream, or a request for a document, with a data task. It lives on its loop.
final class RequestChannel: LiveChannel, TaskOwner {
    /// From the beginning to the head of a stream, or to the whole of a document, whose own wait is added.
    static let answerMilliseconds: UInt64 = 10_000
    /// How much of the body of a document, and of a refusal, is kept.
    static let (maximumDocumentBytes, maximumRefusalBytes) = (16 << 20, 4 << 10)

    private let loop: any ClientLoop
    private let request: StreamRequest
    private let task: any RequestTask
    private var report: ((ChannelEvent) -> Void)?
    private let begin: UInt64
    private var deadline: LoopTimer?
    private var head: AnswerHead?
    /// The body of an answer that is not a stream.
    private var body: [UInt8] = []
    private var isTruncated = false
    private var messages: EventStreamMessages?
    private var isOpened = false
    private var isPaused = false
    /// What arrived while reading was paused: a suspended task may still deliver some bytes.
    private var held: [UInt8] = []
    /// The task's end, if it came while reading was paused.
    private var heldEnd: TaskEvent?

    init(
        _ request: StreamRequest, _ task: any RequestTask, on loop: any ClientLoop,
        _ report: @escaping (ChannelEvent) -> Void
    ) {
        (self.request, self.task, self.loop, self.report) = (request, task, loop, report)
        let limit = Self.answerMilliseconds + request.patienceMilliseconds
        begin = loop.now
        deadline = loop.wait(milliseconds: limit) { [weak self] in self?.answerIsLate(milliseconds: limit) }
        task.resume()
    }

    func receive(_ event: TaskEvent) {
        guard report != nil else { return }
        switch event {
        case .answered(let head): receive(head)
        case .received(let bytes): messages == nil ? gather(bytes) : read(bytes)
        case .completed where isPaused: heldEnd = event
        case .completed(let failure): end(completed(failure))
        case .opened, .closed: break
        }
    }

    private func receive(_ head: AnswerHead) {
        // On Linux a task that is suspended and resumed sends its request again: what was missed in between would be lost.
        guard self.head == nil else { return end(.lost(.cut, "URLSession has sent the request again")) }
        self.head = head
        guard request.form == .eventStream, head.isEventStream else { return }
        deadline.take()?.cancel()
        messages = EventStreamMessages(maximumMessageBytes: request.maximumMessageBytes)
    }

    private func gather(_ bytes: [UInt8]) {
        let isDocument = request.form == .document
        let room = (isDocument ? Self.maximumDocumentBytes : Self.maximumRefusalBytes) - body.count
        body += bytes.prefix(room)
        guard bytes.count > room else { return }
        isTruncated = true
        // Later bytes are not kept.
        if let head { end(answer(head)) }
    }

    private func read(_ bytes: [UInt8]) {
        guard !isPaused else {
            held += bytes
            if held.count > request.maximumMessageBytes {
                end(.lost(.cut, "over \(request.maximumMessageBytes) bytes came while the app was busy"))
            }
            return
        }
        if !isOpened {
            isOpened = true
            report?(.opened)
        }
        do throws(EventStreamFault) {
            let received = try messages?.receive(bytes) ?? []
            if received.isEmpty { report?(.alive) }
            // The receiver of a message may end the channel.
            for message in received { report?(.message(message.payload)) }
        } catch {
            end(.lost(.cut, "an event is over \(error.limitBytes) bytes"))
        }
    }

    // MARK: Ending

    private func completed(_ failure: TaskFailure?) -> ChannelEnding {
        guard let head else { return failure?.ending(wasAnswered: false) ?? .lost(.cut, "no answer") }
        if let messages {
            if let bye = messages.bye { return .closed(bye.code, reason: bye.reason) }
            return failure?.ending(wasAnswered: true) ?? .lost(.cut, "the server ended the stream")
        }
        // A refusal counts even if its body is cut. A part of a document does not count.
        guard let failure, request.form == .document else { return answer(head) }
        return failure.ending(wasAnswered: true)
    }

    private func answer(_ head: AnswerHead) -> ChannelEnding {
        let answer = head.answer(body, isTruncated: isTruncated)
        return request.form == .document ? .answered(answer) : .refused(answer)
    }

    private func answerIsLate(milliseconds: UInt64) {
        guard report != nil else { return }
        if loop.now > begin + milliseconds + SocketChannel.suspendedMilliseconds {
            return end(.lost(.cut, "the app was suspended before the answer"))
        }
        if let head, request.form != .document { return end(answer(head)) }
        end(.lost(.silent, "no answer within \(milliseconds) ms"))
    }

    private func end(_ ending: ChannelEnding) {
        deadline.take()?.cancel()
        task.cancel()
        report.take()?(.ended(ending))
    }

    func end(withWord: Bool, _ done: @escaping () -> Void) {
        report = nil
        deadline.take()?.cancel()
        task.cancel()
        loop.executeNextTick(done)
    }

    // MARK: Reading

    func send(_ text: [UInt8]) {}

    func ping() {}

    func pauseReading() {
        guard !isPaused else { return }
        isPaused = true
        task.suspend()
    }

    func resumeReading() {
        guard isPaused else { return }
        isPaused = false
        task.resume()
        let bytes = held
        held = []
        if !bytes.isEmpty { read(bytes) }
        if !isPaused, let event = heldEnd.take() { receive(event) }
    }
}
