import LiveUpdates

/// Requests of the loops that are not answered yet: a line for each account, in the order of arrival.
///
/// Accounts are served in turn, one request each. So an account waits for at most one request of each other account, however
/// many clients those have. All work is done in slices, and records are read between two of them. A connection that leaves
/// withdraws its requests: only requests of present connections wait here, and leavings that are to be noted.
struct RequestQueue {
    /// What one slice costs at most, the request that goes over it included: about 1 ms. A unit is an event of a page.
    static let maximumWork = 2_048
    /// The end of a list.
    private static let none: Int32 = -1

    private struct Request {
        var message: IngestMessage
        /// Neighbours in the account's line. Of a free slot, `next` is another free one.
        var previous: Int32
        var next: Int32
        /// An older waiting request of the same connection.
        var earlier: Int32
    }

    private final class Line {
        let account: Account
        var first = RequestQueue.none
        var last = RequestQueue.none

        init(_ account: Account) { self.account = account }
    }

    private struct Requester: Hashable {
        let loop: Int
        let connection: ConnectionID

        init(_ subscriber: Subscriber) { (loop, connection) = (subscriber.loop, subscriber.connection) }
    }

    private var requests: [Request] = []
    private var free = Self.none
    private(set) var count = 0
    /// The lines that are in `turns`; one of them may have become empty meanwhile.
    private var lines: [Account: Line] = [:]
    private var turns: [Line] = []
    /// The line whose turn it is; those before it had theirs.
    private var turn = 0
    /// The newest request of each connection.
    private var newest: [Requester: Int32] = [:]

    var isEmpty: Bool { count == 0 }

    /// Returns whether a loop allows reading on; that message does not wait in a line.
    mutating func add(_ messages: [IngestMessage]) -> Bool {
        var mayReadOn = false
        for message in messages {
            guard let subscriber = message.subscriber else {
                mayReadOn = true
                continue
            }
            if case .unsubscribe = message {
                // A join that was not served needs no end.
                if !takeBack(Requester(subscriber)) { append(message, subscriber.account, earlier: Self.none) }
            } else {
                let requester = Requester(subscriber)
                newest[requester] = append(message, subscriber.account, earlier: newest[requester] ?? Self.none)
            }
        }
        return mayReadOn
    }

    /// Serves until the work of a slice is done.
    ///
    /// - Parameter serve: answers one request, and returns the work that it was.
    mutating func serveSlice(_ serve: (IngestMessage) -> Int) {
        var work = 0
        while turn < turns.count, work < Self.maximumWork {
            let line = turns[turn]
            turn += 1
            if line.first != Self.none {
                let index = Int(line.first)
                let message = requests[index].message
                forget(index)
                remove(index, from: line)
                work += serve(message)
            }
            if line.first == Self.none { lines[line.account] = nil } else { turns.append(line) }
        }
        tidy()
    }

    private mutating func tidy() {
        if isEmpty {
            // The memory of a storm is freed.
            guard requests.count <= Self.maximumWork, turns.count <= Self.maximumWork else {
                self = RequestQueue()
                return
            }
            (turn, lines) = (0, [:])
            turns.removeAll(keepingCapacity: true)
        } else if turn > turns.count / 2 {
            turns.removeFirst(turn)
            turn = 0
        }
    }

    // MARK: - The lines

    @discardableResult
    private mutating func append(_ message: IngestMessage, _ account: Account, earlier: Int32) -> Int32 {
        let line: Line
        if let known = lines[account] {
            line = known
        } else {
            line = Line(account)
            lines[account] = line
            turns.append(line)
        }
        let request = Request(message: message, previous: line.last, next: Self.none, earlier: earlier)
        let index: Int32
        if free == Self.none {
            index = Int32(requests.count)
            requests.append(request)
        } else {
            index = free
            free = requests[Int(index)].next
            requests[Int(index)] = request
        }
        if line.last == Self.none { line.first = index } else { requests[Int(line.last)].next = index }
        line.last = index
        count += 1
        return index
    }

    private mutating func remove(_ index: Int, from line: Line) {
        let (previous, next) = (requests[index].previous, requests[index].next)
        if previous == Self.none { line.first = next } else { requests[Int(previous)].next = next }
        if next == Self.none { line.last = previous } else { requests[Int(next)].previous = previous }
        // The request's memory is freed.
        requests[index] = Request(message: .caughtUp, previous: Self.none, next: free, earlier: Self.none)
        free = Int32(index)
        count -= 1
    }

    // MARK: - What a connection asked

    /// Removes all waiting requests of a connection. Returns whether its join was among them.
    private mutating func takeBack(_ requester: Requester) -> Bool {
        var index = newest.removeValue(forKey: requester) ?? Self.none
        var hadJoin = false
        while index != Self.none {
            let request = requests[Int(index)]
            if case .subscribe = request.message { hadJoin = true }
            if let account = request.message.subscriber?.account, let line = lines[account] {
                remove(Int(index), from: line)
            }
            index = request.earlier
        }
        return hadJoin
    }

    /// The request is served: its connection can only withdraw the others later. A connection has two at most.
    private mutating func forget(_ index: Int) {
        guard let subscriber = requests[index].message.subscriber, let last = newest[Requester(subscriber)] else {
            return
        }
        let earlier = requests[index].earlier
        guard Int(last) != index else {
            newest[Requester(subscriber)] = earlier == Self.none ? nil : earlier
            return
        }
        var later = Int(last)
        while requests[later].earlier != Self.none, Int(requests[later].earlier) != index {
            later = Int(requests[later].earlier)
        }
        if Int(requests[later].earlier) == index { requests[later].earlier = earlier }
    }
}

extension IngestMessage {
    /// The connection that asks; nil where it is the loop.
    var subscriber: Subscriber? {
        switch self {
        case .subscribe(let subscriber, _), .unsubscribe(let subscriber, _), .read(let subscriber, _),
            .readNow(let subscriber), .freshCursor(let subscriber), .snapshotCursor(let subscriber, _):
            subscriber
        case .caughtUp: nil
        }
    }
}
