import HTTP
import LiveClientReactor
import Options
import WebSocket

/// Reads what arrives, by the settings: what is shown, where the next connection resumes, and when it is enough. It has no I/O
/// and no clock.
struct CatReading {
    /// A step to carry out for what arrived; steps are in order.
    enum Step: Equatable {
        /// A message, which is shown and counted.
        case message(MessageKind, [UInt8])
        /// A control message that `--json` shows as a message; it is not counted.
        case control([UInt8])
        /// A line for the user.
        case notice(String, Tone)
        /// Everything up to this cursor is shown.
        case reached(LiveCursor)
        /// The token of the stream is about to end.
        case renewToken
        /// The requested number of messages has arrived.
        case enough
    }

    /// The pause between requests when a server answers at once but should not.
    static let minimumPauseMilliseconds: UInt64 = 1000

    private let settings: CatSettings
    private var received = 0
    /// The newest cursor that was shown, where the next connection resumes.
    private(set) var cursor: LiveCursor?
    private var verification: Verification?
    private var resyncsInARow = 0

    init(_ settings: CatSettings) {
        self.settings = settings
        cursor = settings.cursor
        verification = settings.verifies ? Verification() : nil
    }

    private var isEnough: Bool { received == settings.count }

    /// Notes the cursor that an event stream has delivered.
    mutating func reach(_ cursor: LiveCursor) -> [Step] {
        self.cursor = cursor
        return [.reached(cursor)]
    }

    // MARK: Streams

    mutating func take(_ kind: MessageKind, _ payload: [UInt8]) -> [Step] {
        guard !isEnough else { return [] }
        var steps: [Step] = []
        if kind == .text, settings.hasCursors {
            takeProtocol(payload, &steps)
        } else {
            if kind == .text, settings.verifies, case .event(let event) = StreamMessage(payload) {
                verify(event, &steps)
            }
            show(kind, payload, &steps)
        }
        if isEnough { steps.append(.enough) }
        return steps
    }

    /// Shows events as messages, and control messages as notices.
    private mutating func takeProtocol(_ payload: [UInt8], _ steps: inout [Step]) {
        let message = StreamMessage(payload)
        if case .event(let event) = message { verify(event, &steps) }
        if let notice = message.notice {
            if case .resync = message { verification?.resync() }
            steps.append(settings.isJSON ? .control(payload) : .notice(notice, message.tone))
        } else {
            show(.text, payload, &steps)
        }
        if let cursor = message.cursor { steps += reach(cursor) }
        if case .expiring = message { steps.append(.renewToken) }
    }

    private mutating func show(_ kind: MessageKind, _ payload: [UInt8], _ steps: inout [Step]) {
        received += 1
        steps.append(.message(kind, payload))
    }

    private mutating func verify(_ event: LiveEvent, _ steps: inout [Step]) {
        if let gap = verification?.take(event) { steps.append(.notice(gap.printable, .error)) }
    }

    // MARK: Documents

    /// - Parameter afterMilliseconds: the time from the request to the answer.
    mutating func take(_ answer: ServerAnswer, afterMilliseconds: UInt64) -> (steps: [Step], next: AfterAnswer) {
        var steps: [Step] = []
        switch settings.document {
        case .sync:
            let next = takeSync(answer, afterMilliseconds, &steps)
            return (steps, next)
        case .archive:
            guard let (page, lines) = ArchivePage.read(answer) else { return ([], .refused) }
            show(lines, older: page.more ? page.events.last?.aid : nil, &steps)
            for gap in page.gaps { steps.append(.notice(gap.notice, .error)) }
            if let at = page.at { steps.append(Self.cursorStep(at)) }
        case .inbox:
            guard let (page, lines) = InboxPage.read(answer) else { return ([], .refused) }
            show(lines, older: page.more ? page.things.last?.last.aid : nil, &steps)
            steps.append(.notice("things with something unread: \(page.unreadThings)", .control))
            steps.append(Self.cursorStep(page.at))
        case .mark:
            guard (200..<300).contains(answer.status) else { return ([], .refused) }
            steps.append(.notice("marked as read", .control))
        }
        return (steps, .done)
    }

    private mutating func show(_ lines: [[UInt8]], older: EventID?, _ steps: inout [Step]) {
        for line in lines { show(.text, line, &steps) }
        if let older { steps.append(.notice("more: --before \(older.text.printable)", .control)) }
    }

    private static func cursorStep(_ at: LiveCursor) -> Step {
        .notice("live from here on: --since \(at.text.printable)", .control)
    }

    private mutating func takeSync(
        _ answer: ServerAnswer, _ afterMilliseconds: UInt64, _ steps: inout [Step]
    ) -> AfterAnswer {
        switch SyncAnswer(answer) {
        case .page(let lines, let at, let more):
            resyncsInARow = 0
            for line in lines {
                verify(line.event, &steps)
                show(.text, line.json, &steps)
                if let cursor = line.event.cursor { steps += reach(cursor) }
                if isEnough { return .done }
            }
            steps += reach(at)
            guard more || settings.syncWaitSeconds != nil else { return .done }
            // An empty page normally comes after the wait, also from a node that is behind. One that comes at once must not lead
            // to requests without a pause.
            let isEarly = lines.isEmpty && afterMilliseconds < Self.minimumPauseMilliseconds
            return .again(afterMilliseconds: isEarly ? Self.minimumPauseMilliseconds : 0)
        case .resync(let why, let at):
            verification?.resync()
            let message = StreamMessage.resync(why, at)
            if settings.isJSON {
                steps.append(.control(Array("{\"resync\":{\"why\":\"\(why.why)\",\"at\":\"\(at.text)\"}}".utf8)))
            } else {
                steps.append(.notice(message.notice ?? "", message.tone))
            }
            steps += reach(at)
            resyncsInARow += 1
            return .again(afterMilliseconds: resyncsInARow == 1 ? 0 : Self.minimumPauseMilliseconds)
        case nil: return .refused
        }
    }

    // MARK: The end

    /// The result of `--verify`, and the exit status that it leads to.
    func end(_ status: ExitStatus) -> (notice: Step?, status: ExitStatus) {
        guard let verification else { return (nil, status) }
        let isWhole = verification.missing == 0
        return (
            .notice(verification.summary, isWhole ? .control : .error), isWhole || status != .success ? status : .lost
        )
    }
}
