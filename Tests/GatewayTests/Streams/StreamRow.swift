import HTTP
import Testing
import WebSocket

@testable import Gateway
@testable import LiveUpdates

/// What may happen to a subscriber. Cursors are words of the row's own; event 7 has the cursor `c7`.
enum StreamInput {
    /// Ingest's answers.
    case now(String)
    case refused(ResyncReason, String)
    case resumed(
        [UInt64], complete: Bool = true, fresh: String = "", floor: Int64? = nil, reach: NodeReach = .unasked)
    case page([UInt64], complete: Bool = true, fresh: String = "", reach: NodeReach = .unasked)
    case lost(String)
    case fresh(String)
    /// Events of the account as they come: by number, odd ones of the entity `note`, even ones of `incident`.
    case events([UInt64])
    /// The same, and the turn of polls that are owed them comes later: with `turn`, one poll at a time.
    case owed([UInt64])
    case turn
    case reset(String, ResyncReason = .epoch)
    case source(SourceState)
    /// The socket.
    case drained
    case blocked
    /// Time passes, up to this moment; wishes to be woken are fulfilled.
    case time(UInt64)
    /// The node has no time for a wait any more.
    case hurried
    /// The end of the client's token is told, or a new one is taken.
    case expires(Int64)
    case taken(Int64?)
    case end
}

/// A subscriber alone with its fan-out, driven by inputs.
final class StreamRig {
    static let account = Account("PACC1")
    let port: RecordingPort
    let fanOut: LoopFanOut<RecordingPort>
    let subscription: Subscription<RecordingPort>
    private(set) var now: UInt64 = 0
    /// Events that were on their way when the subscriber was ended.
    private(set) var departing = 0
    private var sequence: UInt64 = 0

    /// `target` is the request's, as a client sends it.
    init(_ target: String, _ carrier: StreamForm.Carrier = .webSocket, policy: StreamPolicy = StreamPolicy()) throws {
        fanOut = LoopFanOut(policy: policy, topics: ["t"])
        let head = try requestHead(target)
        if head.path == "/sync/v1" {
            port = RecordingPort(nil)
            let parameters = try SyncParameters.parse(
                head, SyncLimits(maximumEvents: 1_200, maximumWaitMilliseconds: 55_000))
            let poll = Poll(
                parameters, account: Self.account, port: port, fanOut: fanOut)
            subscription = .poll(poll)
            poll.begin()
        } else {
            port = RecordingPort(carrier)
            let parameters = try LiveParameters.parse(head, isEventStream: carrier == .eventStream)
            let form = StreamForm(parameters, carrier)
            let stream = LiveStream(parameters, form: form, account: Self.account, port: port, fanOut: fanOut)
            subscription = .stream(stream)
            stream.begin(since: parameters.since)
        }
    }

    static func event(_ number: UInt64) -> LoggedEvent {
        LoggedEvent(
            event: ThinEvent(entity: number % 2 == 1 ? "note" : "incident", id: "\(number)", type: "t"),
            partition: PartitionName(topic: 0, number: 0), offset: Int64(number), timestamp: 1_000 + Int64(number),
            sequence: number, at: Array("c\(number)".utf8))
    }

    /// The event's id in the archive.
    static func aid(_ number: UInt64) -> String {
        ArchiveIDs(topics: ["t"]).id(of: event(number), account: account).text
    }

    private func page(_ numbers: [UInt64], _ complete: Bool, _ fresh: String, _ reach: NodeReach) -> PageAnswer {
        let position = StreamPosition(sequence: complete ? sequence : numbers.last ?? 0)
        return PageAnswer(
            answer: .page(events: numbers.map(Self.event), position: position, isComplete: complete),
            sequence: sequence, fresh: cursor(fresh), reach: reach)
    }

    private func cursor(_ text: String) -> CursorText { CursorText(bytes: Array(text.utf8)) }

    private func join(_ outcome: JoinAnswer.Outcome, _ fresh: String) {
        subscription.joined(JoinAnswer(outcome: outcome, sequence: sequence, fresh: cursor(fresh)), now: now)
    }

    private func deliver(_ numbers: [UInt64]) {
        sequence = numbers[numbers.count - 1]
        let events = AccountEvents(account: Self.account, events: numbers.map(Self.event))
        _ = fanOut.deliver([events], sequence: sequence, now: now)
    }

    func happen(_ input: StreamInput) {
        switch input {
        case .now(let fresh): join(.now, fresh)
        case .refused(let why, let fresh): join(.refused(why), fresh)
        case .resumed(let numbers, let complete, let fresh, let floor, let reach):
            sequence = max(sequence, numbers.last ?? 0)
            let floors = floor.map { [PartitionFloor(partition: Self.event(1).partition, offset: $0)] } ?? []
            join(.resumed(page(numbers, complete, fresh, reach), floors: floors), "")
        case .page(let numbers, let complete, let fresh, let reach):
            sequence = max(sequence, numbers.last ?? 0)
            subscription.page(page(numbers, complete, fresh, reach), now: now)
        case .lost(let fresh):
            subscription.page(PageAnswer(answer: .lost, sequence: sequence, fresh: cursor(fresh)), now: now)
        case .fresh(let text): subscription.fresh(cursor(text), now: now)
        case .events(let numbers):
            deliver(numbers)
            while fanOut.answerNext() {}
        case .owed(let numbers): deliver(numbers)
        case .turn: _ = fanOut.answerNext()
        case .reset(let fresh, let why):
            sequence += 1
            fanOut.reset(why, sequence: sequence, cursors: [Self.account: cursor(fresh)])
            subscription.settle(now: now)
        case .source(let state):
            fanOut.sourceState = state
            subscription.settle(now: now)
        case .drained:
            port.pendingBytes = 0
            if case .stream(let stream) = subscription { stream.drained(now: now) }
        case .blocked: if case .stream(let stream) = subscription { stream.blocked(now: now) }
        case .time(let moment):
            while let due = port.wakesAt, due <= moment, due > now {
                now = due
                subscription.wake(now: now)
            }
            now = moment
        case .hurried: if case .poll(let poll) = subscription { poll.answerNow() }
        case .expires(let second): if case .stream(let stream) = subscription { stream.tokenExpires(at: second, now) }
        case .taken(let second):
            if case .stream(let stream) = subscription { stream.tokenAccepted(endsAt: second, now) }
        case .end: departing += subscription.end().reduce(0) { $0 + Int($1.count) }
        }
    }

    /// What the inputs make the subscriber say, wishes to be woken aside.
    func play(_ inputs: [StreamInput]) -> [String] {
        for input in inputs { happen(input) }
        return port.takeSaid().filter { !$0.hasPrefix("wake at") }
    }
}
