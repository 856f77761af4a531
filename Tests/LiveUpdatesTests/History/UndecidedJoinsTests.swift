import Testing

@testable import LiveUpdates

/// Joins that wait: what each waits for, and that nothing else makes it be decided on.
struct UndecidedJoinsTests {
    private static let patience = UndecidedJoins<Int>.patienceMilliseconds
    private let node = TestHistory()
    private var joins = UndecidedJoins<Int>()

    init() {
        node.openWhole()
        node.take(0)
        node.change { ($0.end, $0.endAsked) = (1, 50) }
    }

    private func cursor(_ offset: Int64, account: Account = TestHistory.account) throws -> Cursor {
        Cursor(
            epoch: Epoch(number: 7), accountCheck: Cursor.check(of: account), issue: node.now,
            positions: [.init(partition: TestHistory.first, offset: offset, known: node.now)], fingerprint: nil)
    }

    private mutating func add(_ joiner: Int, _ offset: Int64, account: Account = TestHistory.account) throws
        -> Resumption?
    {
        let cursor = try cursor(offset, account: account)
        let answer = node.history.resume(cursor, account: account, now: node.now)
        guard case .undecided(let doubt) = answer else { return answer }
        return joins.add(
            joiner, account: account, cursor: cursor, doubt: doubt, history: node.history, now: 100, wallClock: node.now
        )
    }

    /// `1+` is served, `1-ahead` is refused.
    private mutating func decide(now: UInt64 = 100) -> [String] {
        joins.decide(node.history, now: now, wallClock: node.now).map { joiner, resumption in
            switch resumption {
            case .accepted: "\(joiner)+"
            case .refused(let why): "\(joiner)-\(why)"
            case .undecided: "\(joiner)?"
            }
        }
    }

    @Test mutating func `whoever waits for records is decided on when they are read, and not before`() throws {
        #expect(try add(1, 2) == nil)
        #expect(try add(2, 3) == nil)
        for _ in 0..<100 { #expect(decide() == []) }
        #expect(joins.decisions == 0)
        node.take(1)
        #expect(decide() == ["1+"])
        node.take(2)
        #expect(decide() == ["2+"])
        #expect(joins.isEmpty && joins.decisions == 2)
    }

    @Test mutating func `an end that reaches so far decides too`() throws {
        #expect(try add(1, 9) == nil)
        node.change { ($0.end, $0.endAsked) = (9, 60) }
        #expect(decide() == ["1+"])
    }

    @Test mutating func `two ends that were asked for after it came have to find it ahead`() throws {
        #expect(try add(1, 9) == nil)
        node.change { $0.endAsked = 99 }
        #expect(decide() == [])
        node.change { $0.endAsked = 100 }
        #expect(decide() == [])
        #expect(decide() == [])
        node.change { $0.endAsked = 101 }
        #expect(decide() == ["1-ahead"])
    }

    @Test mutating func `nobody is refused because the broker cannot be asked`() throws {
        #expect(try add(1, 9) == nil)
        #expect(decide(now: 99 + Self.patience) == [])
        #expect(decide(now: 100 + Self.patience) == ["1+"])
    }

    @Test mutating func `a partition that was never opened makes nobody ahead`() throws {
        var cursor = try cursor(1)
        cursor.positions.append(.init(partition: PartitionName(topic: 0, number: 9), offset: 5, known: node.now))
        let doubt = Doubt.ends(PartitionFloor(partition: PartitionName(topic: 0, number: 9), offset: 5))
        #expect(
            joins.add(
                1, account: TestHistory.account, cursor: cursor, doubt: doubt, history: node.history, now: 100,
                wallClock: node.now) == nil)
        node.change { $0.endAsked = 500 }
        #expect(decide() == [])
        #expect(decide(now: 100 + Self.patience) == ["1+"])
    }

    // MARK: - Cursors with many positions

    /// A cursor with a position in each of some partitions.
    private mutating func add(_ joiner: Int, _ positions: [(number: Int, offset: Int64)]) throws -> Resumption? {
        var cursor = try cursor(1)
        cursor.positions = positions.map {
            .init(partition: PartitionName(topic: 0, number: Int32($0.number)), offset: $0.offset, known: node.now)
        }
        guard
            case .undecided(let doubt) = node.history.resume(cursor, account: TestHistory.account, now: node.now)
        else { return .refused(.invalid) }
        return joins.add(
            joiner, account: TestHistory.account, cursor: cursor, doubt: doubt, history: node.history, now: 100,
            wallClock: node.now)
    }

    @Test mutating func `a wake costs a check for each join, however many positions its cursor has`() throws {
        let count = UndecidedJoins<Int>.maximumJoinsPerAccount
        let positions = Cursor.maximumPositions
        for joiner in 0..<count {
            let first = 10 + joiner * positions
            #expect(try add(joiner, (first..<first + positions).map { ($0, 5) }) == nil)
        }
        for _ in 0..<10 { #expect(decide() == []) }
        #expect(joins.checks == 10 * count)
        #expect(joins.decisions == 0)
        // Joins that wait for one partition share it.
        var shared = Self()
        for joiner in 0..<count { #expect(try shared.add(joiner, 9) == nil) }
        #expect(shared.decide() == [])
        #expect(shared.joins.checks == 1)
    }

    @Test mutating func `a join that awaits one position after the other is served when the last one is reached`()
        throws
    {
        node.openWhole(TestHistory.second)
        #expect(try add(1, [(0, 3), (1, 2)]) == nil)
        node.take(1)
        node.take(1, in: TestHistory.second)
        // Of the first of them nothing is known yet.
        #expect(decide() == [])
        #expect(joins.decisions == 0)
        node.take(2)
        #expect(decide() == ["1+"])
        #expect(joins.decisions == 1)
        #expect(try add(2, [(0, 4), (1, 3)]) == nil)
        node.take(3)
        #expect(decide() == [])
        node.take(2, in: TestHistory.second)
        #expect(decide() == ["2+"])
        #expect(joins.decisions == 3)
    }

    @Test mutating func `one of an open partition is awaited before those that may never be known`() throws {
        #expect(try add(1, [(0, 9), (7, 5), (8, 5)]) == nil)
        node.change { $0.endAsked = 100 }
        #expect(decide() == [])
        node.change { $0.endAsked = 101 }
        #expect(decide() == ["1-ahead"])
    }

    @Test mutating func `a silent leader keeps nobody from being found ahead of another's log`() throws {
        node.open(TestHistory.second, LogFacts(known: node.now, end: 1, endAsked: 50))
        #expect(try add(1, [(0, 9), (1, 9)]) == nil)
        node.change(TestHistory.second) { $0.endAsked = 101 }
        // The first one is awaited, until the wait is over; then what is known of the second counts.
        #expect(decide(now: 99 + Self.patience) == [])
        #expect(decide(now: 100 + Self.patience) == [])
        node.change(TestHistory.second) { $0.endAsked = 102 }
        #expect(decide(now: 101 + Self.patience) == [])
        #expect(decide(now: 102 + Self.patience) == ["1-ahead"])
    }

    @Test mutating func `a record is asked for once, whoever waits for it, and decides`() throws {
        func join(_ joiner: Int) throws -> Resumption? {
            var cursor = try cursor(1)
            cursor.fingerprint = .init(partition: TestHistory.first, offset: 0, timestamp: 5)
            return joins.add(
                joiner, account: TestHistory.account, cursor: cursor, doubt: .record(TestHistory.first, 0),
                history: node.history, now: 100, wallClock: node.now)
        }
        node.history.reset(topic: 0)
        node.open(LogFacts(known: node.now, end: 1, endAsked: 50))
        node.take(1, account: Account("A2"))
        #expect(try join(1) == nil)
        #expect(try join(2) == nil)
        let probe = UndecidedJoins<Int>.Probe(partition: TestHistory.first, offset: 0)
        #expect(joins.wantsRecords)
        #expect(joins.takeProbes() == [probe])
        #expect(!joins.wantsRecords)
        #expect(joins.takeProbes() == [])
        #expect(decide() == [])
        // Its leader did not answer: nobody is served unchecked for that before the wait is over.
        joins.askAgain(probe)
        #expect(decide() == [])
        #expect(joins.takeProbes() == [probe])
        joins.probed(probe, found: .record(timestamp: 6, account: nil))
        #expect(decide() == ["1-epoch", "2-epoch"])
        #expect(try join(3) == nil)
        #expect(joins.takeProbes() == [probe])
        joins.probed(probe, found: .none)
        #expect(decide() == ["3+"])
        // What nobody waits for any more changes nothing.
        joins.probed(probe, found: .none)
        joins.askAgain(probe)
        #expect(decide() == [])
        #expect(!joins.wantsRecords)
    }

    @Test mutating func `the last event's record and the first one of its log are asked for one after the other`()
        throws
    {
        var cursor = try cursor(1)
        cursor.fingerprint = .init(partition: TestHistory.first, offset: 0, timestamp: 5)
        node.history.reset(topic: 0)
        node.open(LogFacts(known: node.now, end: 1, endAsked: 50))
        node.change { $0.firstStamp = .max }
        node.take(1, account: Account("A2"))
        let probe = UndecidedJoins<Int>.Probe(partition: TestHistory.first, offset: 0)
        for (joiner, found) in [(1, ProbedRecord.record(timestamp: 5, account: nil)), (2, .none)] {
            #expect(
                joins.add(
                    joiner, account: TestHistory.account, cursor: cursor, doubt: .record(TestHistory.first, 0),
                    history: node.history, now: 100, wallClock: node.now) == nil)
            #expect(joins.takeProbes() == [probe])
            joins.probed(probe, found: .none)
            #expect(decide() == [] && joins.wantsRecords && joins.takeProbes() == [probe])
            joins.probed(probe, found: found)
            #expect(decide() == [joiner == 1 ? "1-epoch" : "2+"] && !joins.wantsRecords)
        }
    }

    @Test mutating func `before the cluster is known everybody waits, for as long as that takes`() throws {
        let history = History(limits: HistoryLimits())
        #expect(
            joins.add(
                1, account: TestHistory.account, cursor: try cursor(1), doubt: .epoch, history: history, now: 100,
                wallClock: node.now) == nil)
        #expect(joins.decide(history, now: 10 * Self.patience, wallClock: node.now).isEmpty)
        history.begin(Epoch(number: 8))
        #expect(joins.decide(history, now: 10 * Self.patience, wallClock: node.now).count == 1)
    }

    @Test mutating func `whoever goes is forgotten`() throws {
        #expect(try add(1, 9) == nil)
        #expect(try add(2, 9) == nil)
        joins.remove(1)
        #expect(decide(now: 100 + Self.patience) == ["2+"])
        #expect(!joins.waitsForEnds)
    }

    @Test mutating func `whoever goes costs no more when many wait, and leaves nothing behind`() throws {
        let count = UndecidedJoins<Int>.maximumJoins
        for joiner in 0..<count { #expect(try add(joiner, 9, account: Account("B\(joiner)")) == nil) }
        #expect(joins.notes == count)
        for joiner in 0..<count { joins.remove(joiner) }
        // Those who stay are gone over when half have left: less than once for each who goes.
        #expect(joins.notes < 2 * count)
        #expect(joins.isEmpty && !joins.waitsForEnds)
    }

    @Test mutating func `few of an account wait, and a bounded number in all; the others are served at once`() throws {
        let mine = UndecidedJoins<Int>.maximumJoinsPerAccount
        for joiner in 0..<mine { #expect(try add(joiner, 9) == nil) }
        guard case .accepted = try add(mine, 9) else {
            Issue.record("one more of the account waits")
            return
        }
        let all = UndecidedJoins<Int>.maximumJoins
        for joiner in mine..<all { #expect(try add(joiner, 9, account: Account("B\(joiner)")) == nil) }
        guard case .accepted = try add(all, 9, account: Account("C")) else {
            Issue.record("one more waits")
            return
        }
        #expect(joins.count == all)
        node.take(8, account: Account("A2"))
        #expect(decide().count == all)
        #expect(try add(1, 99) == nil)
    }
}
