import LiveUpdates
import WebSocket

/// The outside of a subscriber: accepts its bytes, and does what it asks for.
///
/// A connection is one; tests have another that records. None of these calls calls the subscriber in return.
protocol SubscriberPort: AnyObject {
    /// What was written and has not left yet, in bytes.
    var pendingBytes: Int { get }
    /// Whether the client is this person of its account.
    func isOf(_ person: String) -> Bool

    /// Queues bytes; the array is shared with others.
    func write(_ bytes: [UInt8])

    // MARK: Wishes to ingest

    /// From now on the account's events come to this loop. Answered by `joined`.
    func subscribe(_ account: Account, _ request: JoinRequest)
    /// Ends what `subscribe` began. Answers of ingest that arrive later are dropped.
    func unsubscribe(_ account: Account, withCursors: Bool)
    /// Answered by `page`.
    func read(_ account: Account, _ request: ReadRequest)
    /// Has a read answered that waits for the node to read on; nothing where none does.
    func readNow(_ account: Account)
    /// Answered by `fresh`: a cursor behind everything that has come before the answer.
    func askFreshCursor(_ account: Account)

    // MARK: Wishes to the connection

    /// Asks for a call of `wake` at this moment, monotonic, in milliseconds. A subscriber has one: this replaces it.
    func wake(at time: UInt64)
    /// A stream begins: the head of the answer is written before anything else.
    func streamBegins()
    /// The stream has ended by itself, and `code` is the reason for the client. Nothing is written after the close. `unsent` are
    /// the events that were written and have not left.
    func streamEnds(_ code: CloseCode, _ why: StaticString, _ unsent: [DeliveryFacts])
    /// A poll is admitted: it waits for its answer, or has it already.
    func pollBegins()
    /// A poll has its answer, the body of a 200; the facts are those of the events in it.
    func pollEnds(answer body: [UInt8], _ facts: DeliveryFacts)
    /// A poll's cursor is refused; `fresh` is the one to go on with.
    func pollEnds(refused why: ResyncReason, fresh: CursorText)
}

/// What subscribers are held to.
struct StreamPolicy: Sendable {
    /// Handed to one socket before it has accepted any of it.
    var maximumPendingBytes = 64 * 1024
    /// Of one page for a stream that is behind: about as much as a socket's buffer can hold.
    var eventsPerPage = 256
    /// How long a stream may be behind.
    var maximumLagMilliseconds: UInt64 = 30_000
    var changedIntervalMilliseconds: UInt64 = 1_000
    /// After so long without a cursor a stream with cursors is given one, so that silence does not expire the one it has.
    var quietMilliseconds: UInt64 = 450_000
    /// So many events may pass a stream by, left out by its filter, until it is given a cursor.
    var maximumPassedOver = 500
}

/// A subscriber of either kind.
enum Subscription<Port: SubscriberPort> {
    case stream(LiveStream<Port>)
    case poll(Poll<Port>)

    func joined(_ answer: JoinAnswer, now: UInt64) {
        switch self {
        case .stream(let stream): stream.joined(answer, now: now)
        case .poll(let poll): poll.joined(answer, now: now)
        }
    }

    func page(_ page: PageAnswer, now: UInt64) {
        switch self {
        case .stream(let stream): stream.page(page, now: now)
        case .poll(let poll): poll.page(page, now: now)
        }
    }

    func fresh(_ cursor: CursorText, now: UInt64) {
        switch self {
        case .stream(let stream): stream.fresh(cursor, now: now)
        case .poll(let poll): poll.fresh(cursor)
        }
    }

    /// The moment that was wished for has come.
    func wake(now: UInt64) {
        switch self {
        case .stream(let stream): stream.wake(now: now)
        case .poll(let poll): poll.wake()
        }
    }

    /// Something happened that concerns all: a reset, or another state of the source.
    func settle(now: UInt64) {
        switch self {
        case .stream(let stream): stream.settle(now: now)
        case .poll(let poll): poll.answerIfDue()
        }
    }

    /// Ends the subscriber in whatever state it is. May be called again.
    ///
    /// - Returns: the events that were written and have not left.
    @discardableResult
    func end() -> [DeliveryFacts] {
        switch self {
        case .stream(let stream): return stream.end()
        case .poll(let poll):
            poll.end()
            return []
        }
    }
}
