import LiveUpdates

/// Polls of one group that wait for the same event.
///
/// An event closes the line and is owed to all polls in it: that costs the same for one poll and for thousands. Answering goes in
/// slices, ``LoopFanOut/answerNext()``. A poll that begins to wait meanwhile is in the next line. So each poll is answered with
/// the first event that came after it, whenever its turn is. Confined to the loop.
final class PollLine<Port: SubscriberPort> {
    struct Owed {
        let events: [LoggedEvent]
        var consumption = Consumption()
        /// The resets of the logs that came before the events, as the fan-out counts them.
        let resets: UInt32
    }

    private(set) var polls: [Poll<Port>] = []
    /// What its polls are owed; nil while the line is open.
    private(set) var owed: Owed?
    /// The line that was opened when this one was closed: whatever came later is owed to it, or to one behind it.
    private(set) var next: PollLine?
    /// The last answer that was made of the owed events.
    private var body: (limit: Int, withAid: Bool, bytes: [UInt8])?
    /// It is among the lines that have turns.
    fileprivate var hasTurns = false

    init() {}

    /// Lines that nobody else holds are freed one after the other. While one line has its turns, thousands may be closed and done
    /// behind it. To free each from within the one before would need as much of the stack.
    deinit {
        var rest = next
        next = nil
        while isKnownUniquelyReferenced(&rest), let line = rest {
            rest = line.next
            line.next = nil
        }
    }

    // MARK: Members, each O(1)

    func add(_ poll: Poll<Port>) {
        poll.slot = polls.count
        polls.append(poll)
    }

    /// The last member moves to the slot of the one that leaves.
    func remove(_ poll: Poll<Port>) {
        precondition(polls[poll.slot] === poll, "a poll's slot in its line is not its own")
        let last = polls.removeLast()
        guard last !== poll else { return }
        polls[poll.slot] = last
        last.slot = poll.slot
    }

    /// Returns the line for polls that begin to wait from now on.
    func close(with owed: Owed) -> PollLine {
        precondition(self.owed == nil, "a line is closed once")
        let next = PollLine()
        self.owed = owed
        self.next = next
        return next
    }

    /// The answer of its polls, encoded once for all that ask for the same.
    func body(_ owed: Owed, of account: Account, _ limit: Int, withAid: Bool, _ encoder: FormEncoder) -> [UInt8] {
        if let body, body.limit == limit, body.withAid == withAid { return body.bytes }
        let bytes = encoder.body(owed.events, of: account, limit: limit, withAid: withAid)
        body = (limit, withAid, bytes)
        return bytes
    }
}

/// The closed lines of a loop. Each line has one answer in turn, so that a poll of one account does not wait for thousands of
/// another.
struct ClosedLines<Port: SubscriberPort> {
    typealias Member = (line: PollLine<Port>, group: AudienceGroup<Port>)

    private var members: [Member] = []
    private var turn = 0

    var isEmpty: Bool { members.isEmpty }

    mutating func add(_ line: PollLine<Port>, _ group: AudienceGroup<Port>) {
        guard !line.hasTurns else { return }
        line.hasTurns = true
        // The group stays as long as its events are owed to a poll.
        group.closedLines += 1
        members.append((line, group))
    }

    /// The line whose turn it is. There is one.
    mutating func next() -> Member {
        if turn >= members.count { turn = 0 }
        defer { turn += 1 }
        return members[turn]
    }

    /// Removes the line that had its turn last. The last line moves to its index, and waits for the next round.
    mutating func removeCurrent() {
        let (line, group) = members[turn - 1]
        line.hasTurns = false
        group.closedLines -= 1
        members[turn - 1] = members[members.count - 1]
        members.removeLast()
    }
}

@available(*, unavailable)
extension PollLine: Sendable {}
