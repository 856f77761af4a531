import HTTP
import LiveUpdates
import TestHarness
import Testing
import WebSocket

@testable import Gateway

/// One account of a node in virtual time: an ingest that keeps the last events, its mailbox, one subscriber, a socket, and
/// a client that judges what it reads. A cursor `e.n` says: read up to event n of epoch e.
final class ModelNode: SubscriberPort {
    enum Step: CaseIterable {
        case event, otherEvent, burst, reset, otherReset, stall, serve, deliver, deliverAll, answer, walk, send, block
        case wait, longWait
    }

    static let account = Account("PACC1")
    /// The log of the account holds so many.
    static let kept = 8

    let client: ModelClient
    let fanOut: LoopFanOut<ModelNode>
    private var subscription: Subscription<ModelNode>?
    private(set) var now: UInt64 = 1_000
    private var wakesAt: UInt64?

    // Ingest.
    private var epoch = 1
    private var first: UInt64 = 1
    private var log: [LoggedEvent] = []
    private var last: UInt64 = 0
    private var hasJoined = false
    private var requests: [Request] = []
    private var mailbox: [FanOutMessage] = []
    private let id = ConnectionID(number: 1)

    // The socket.
    private var isOpen = false
    private(set) var hasEnded = false
    private var isBlocked = false
    private(set) var pendingBytes = 0

    func isOf(_ person: String) -> Bool { false }

    private enum Request {
        case join(JoinRequest)
        case read(ReadRequest)
        case fresh
    }

    init(_ target: String, _ carrier: StreamForm.Carrier) throws {
        var policy = StreamPolicy()
        policy.maximumPendingBytes = 400
        policy.quietMilliseconds = 6_000
        policy.maximumPassedOver = 6
        fanOut = LoopFanOut(policy: policy, topics: ["t"])
        let head = try requestHead(target)
        client = try ModelClient(head, carrier)
        if head.path == "/sync/v1" {
            let parameters = try SyncParameters.parse(
                head, SyncLimits(maximumEvents: 3, maximumWaitMilliseconds: 55_000))
            let poll = Poll(
                parameters, account: Self.account, port: self, fanOut: fanOut)
            subscription = .poll(poll)
            poll.begin()
        } else {
            let parameters = try LiveParameters.parse(head, isEventStream: carrier == .eventStream)
            let stream = LiveStream(
                parameters, form: StreamForm(parameters, carrier), account: Self.account, port: self, fanOut: fanOut)
            subscription = .stream(stream)
            stream.begin(since: parameters.since)
        }
    }

    // MARK: - What may happen

    func happen(_ step: Step) {
        switch step {
        case .event: append("note")
        case .otherEvent: append("incident")
        case .burst: for number in 0..<5 { append(number == 2 ? "note" : "incident") }
        case .reset:
            epoch += 1
            client.reset(epoch: epoch)
            last += 1
            log = []
            first = last + 1
            if hasJoined { mailbox.append(.reset(.epoch, sequence: last, cursors: [Self.account: fresh])) }
        // A slice of a reset that is of other accounts.
        case .otherReset:
            mailbox.append(.reset(.epoch, sequence: last, cursors: [Account("PACC2"): CursorText(bytes: [0x78])]))
        case .stall:
            let state = fanOut.isStalled ? SourceState.live(since: 1) : .stalled(since: 1)
            mailbox.append(.source(state))
        case .serve: serve()
        case .deliver: deliver()
        case .deliverAll: while !mailbox.isEmpty { deliver() }
        // The turn of a poll that is owed events.
        case .answer: _ = fanOut.answerNext()
        // The loop goes over all its connections, some time after what concerns them all.
        case .walk: subscription?.settle(now: now)
        case .send:
            isBlocked = false
            endTick()
        case .block: isBlocked = true
        case .wait: pass(700)
        // Until a beat is due.
        case .longWait: pass(6_000)
        }
        endTick()
    }

    /// Until nothing more happens by itself.
    func settleDown() {
        isBlocked = false
        for _ in 0..<20 {
            while !requests.isEmpty { serve() }
            happen(.deliverAll)
            happen(.answer)
            happen(.walk)
            pass(700)
            endTick()
        }
    }

    private func append(_ entity: String) {
        last += 1
        let event = LoggedEvent(
            event: ThinEvent(entity: entity, id: "\(last)", type: "t"),
            partition: PartitionName(topic: 0, number: 0), offset: Int64(last), timestamp: 1, sequence: last,
            at: Array("\(epoch).\(last)".utf8))
        client.happened(event, epoch: epoch)
        log.append(event)
        if log.count > Self.kept { first = log.removeFirst().sequence + 1 }
        if hasJoined {
            mailbox.append(.events([AccountEvents(account: Self.account, events: [event])], sequence: last))
        }
    }

    private var fresh: CursorText { CursorText(bytes: Array("\(epoch).\(last)".utf8)) }

    /// Ingest serves the oldest request.
    private func serve() {
        guard !requests.isEmpty else { return }
        switch requests.removeFirst() {
        case .fresh: mailbox.append(.fresh(id, fresh))
        case .read(let request): mailbox.append(.page(id, page(after: request.position.sequence, request.page)))
        case .join(let request):
            hasJoined = true
            if request.since == nil { client.joined(at: fresh) }
            mailbox.append(.joined(id, JoinAnswer(outcome: outcome(request), sequence: last, fresh: fresh)))
        }
    }

    private func outcome(_ request: JoinRequest) -> JoinAnswer.Outcome {
        guard let since = request.since.map({ ModelClient.Cursor($0) }) else { return .now }
        guard since.epoch == epoch else { return .refused(.epoch) }
        guard since.number + 1 >= first else {
            client.mayExpire = true
            return .refused(.expired)
        }
        return .resumed(page(after: since.number, request.page), floors: [])
    }

    private func page(after sequence: UInt64, _ request: PageRequest) -> PageAnswer {
        guard sequence + 1 >= first else { return PageAnswer(answer: .lost, sequence: last, fresh: fresh) }
        let found = log.filter {
            $0.sequence > sequence && request.entities?.passes($0.event.entity) ?? true
        }
        let events = Array(found.prefix(request.limit))
        let isComplete = events.count == found.count
        let position = StreamPosition(sequence: isComplete ? last : events.last?.sequence ?? sequence)
        return PageAnswer(
            answer: .page(events: events, position: position, isComplete: isComplete), sequence: last,
            fresh: isComplete || request.alwaysFresh ? fresh : .none)
    }

    private func deliver() {
        guard !mailbox.isEmpty else { return }
        switch mailbox.removeFirst() {
        case .joined(_, let answer):
            fanOut.advance(to: answer.sequence)
            subscription?.joined(answer, now: now)
        case .page(_, let answer):
            fanOut.advance(to: answer.sequence)
            subscription?.page(answer, now: now)
        case .fresh(_, let cursor): subscription?.fresh(cursor, now: now)
        case .events(let batch, let sequence): _ = fanOut.deliver(batch, sequence: sequence, now: now)
        case .reset(let why, let sequence, let cursors): fanOut.reset(why, sequence: sequence, cursors: cursors)
        case .source(let state): fanOut.sourceState = state
        case .snapshotCursor, .archive, .read: preconditionFailure("nobody asks the archive here")
        }
    }

    private func pass(_ milliseconds: UInt64) {
        let end = now + milliseconds
        while let due = wakesAt, due <= end {
            wakesAt = nil
            now = max(now, due)
            subscription?.wake(now: now)
        }
        now = end
    }

    /// The kernel takes all, or says that it has not.
    private func endTick() {
        guard pendingBytes > 0, case .stream(let stream) = subscription, !hasEnded else { return }
        if isBlocked { return stream.blocked(now: now) }
        pendingBytes = 0
        stream.drained(now: now)
    }

    // MARK: - The port

    func write(_ bytes: [UInt8]) {
        #expect(!hasEnded, "bytes after the end")
        pendingBytes += bytes.count
        client.receive(bytes, now: now)
    }

    func subscribe(_ account: Account, _ request: JoinRequest) { requests.append(.join(request)) }

    func unsubscribe(_ account: Account, withCursors: Bool) {
        #expect(!hasEnded, "unsubscribed twice")
        hasEnded = true
        requests = []
        mailbox = []
        hasJoined = false
    }

    func read(_ account: Account, _ request: ReadRequest) {
        let isReading = requests.contains { if case .read = $0 { true } else { false } }
        #expect(
            !isReading && (pendingBytes == 0 || !isOpen), "a page is asked for while bytes wait or another one comes")
        requests.append(.read(request))
    }

    func readNow(_ account: Account) { preconditionFailure("nobody waits for this node") }
    func askFreshCursor(_ account: Account) { requests.append(.fresh) }
    func wake(at time: UInt64) { wakesAt = time }
    func streamBegins() { isOpen = true }

    func streamEnds(_ code: CloseCode, _ why: StaticString, _ unsent: [DeliveryFacts]) {
        client.closed(byStream: "\(why)")
    }

    func pollBegins() {}
    func pollEnds(answer body: [UInt8], _ facts: DeliveryFacts) {
        client.answered(String(decoding: body, as: UTF8.self))
    }
    func pollEnds(refused why: ResyncReason, fresh: CursorText) { client.refused(why) }
}
