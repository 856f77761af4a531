// Tests: LogInference.swift, PartitionTable+Claims.swift, History+FirstRecords.swift
import KafkaLogs
import Testing

@testable import LiveUpdates

/// Cursors of topics that are young, or whose first records say so: nobody is refused for that alone.
struct FirstRecordTests {
    private static let other = PartitionName(topic: 1, number: 0)

    /// Of a log whose first record is stamped so many ms after now; what it is known by was read now.
    private func node(ahead: Int64) -> TestHistory {
        let node = TestHistory()
        node.open(LogFacts(known: node.now, end: 1, endAsked: 1))
        node.change { $0.firstStamp = node.now + ahead }
        return node
    }

    /// Another node that reads the same log an hour later, or another one: all it has are the stamps.
    private func later(than node: TestHistory, firstStamp: Int64, born: Int64) -> TestHistory {
        let later = TestHistory()
        later.now = node.now + TestHistory.hour
        later.open(LogFacts(born: born, known: later.now, end: 2, endAsked: 1))
        later.change { $0.firstStamp = firstStamp }
        return later
    }

    @Test(
        arguments: [
            // How far the first record is stamped ahead; whether the cursor says which one it is.
            (0, false), (1, true), (50 * 60_000, true), (.max - 1_795_240_000_000, true),
        ] as [(Int64, Bool)])
    func `a first record that is stamped ahead makes no log younger than a cursor`(_ ahead: Int64, isSaid: Bool) {
        let node = node(ahead: ahead)
        let fresh = node.fresh()
        #expect(Cursor(fresh)?.firstRecords.isEmpty == !isSaid && fresh.count <= 64)
        let stamp = node.now + ahead
        // Its own stamp has become a good one, or that of a record behind it counts.
        for born in [stamp, node.now + 5_000] where isSaid {
            #expect(later(than: node, firstStamp: stamp, born: born).offsets(fresh) == [])
            #expect(later(than: node, firstStamp: stamp - 1, born: born).refusal(fresh) == .epoch)
        }
        // Nobody knows the first record where the log was trimmed.
        let trimmed = later(than: node, firstStamp: stamp, born: 0)
        trimmed.change { ($0.firstStamp, $0.born) = (nil, nil) }
        #expect(trimmed.offsets(fresh) == [])
    }

    @Test func `a record that has no stamp is not named, nor where ids decide`() {
        let node = node(ahead: 5)
        node.change { $0.firstStamp = -1 }
        #expect(Cursor(node.fresh())?.firstRecords == [])
        node.change { ($0.firstStamp, $0.topicID) = (node.now + 5, 7) }
        #expect(Cursor(node.fresh())?.firstRecords == [])
    }

    // MARK: - Cursors that do not say it

    private static let quiet = Account("Q1")

    /// What becomes of a cursor: `+`, why it is refused, or what has to be known first.
    private func answer(_ resumption: Resumption) -> String {
        switch resumption {
        case .accepted: "+"
        case .refused(let why): "\(why)"
        case .undecided(.firstRecord(let partition)): "\(partition.number):0?"
        case .undecided(.ends(let floor)): "end of \(floor.partition.number)?"
        case .undecided: "?"
        }
    }

    /// Of a log whose first record was stamped as it came, of an account that has an event in it or of one that has none.
    private func unsaid(_ account: Account) -> (cursor: [UInt8], issue: Int64) {
        let node = node(ahead: 0)
        node.take(0, account: TestHistory.account)
        return (node.fresh(account), node.now)
    }

    @Test(arguments: [TestHistory.account, quiet])
    func `a log whose first record was ahead of a cursor that does not say it is another one`(_ account: Account) {
        let (cursor, issue) = unsaid(account)
        // No stamp is a good one yet, or it is of a record behind the first one, which came late.
        for born in [nil, issue - TestHistory.hour] {
            let later = TestHistory()
            later.now = issue + 5_000
            later.open(LogFacts(born: born, known: later.now, end: 2, endAsked: 1))
            later.change { $0.firstStamp = issue + 1 }
            func answer(_ found: ProbedRecord?, ends: EndsSeen = .earlier) -> String {
                let firsts = found.map { [TestHistory.first: $0] } ?? [:]
                return self.answer(later.resume(cursor, account: account, ends: ends, firsts: firsts))
            }
            #expect(answer(nil) == "0:0?" && answer(.record(timestamp: issue + 1, account: nil)) == "epoch")
            // The cursor's node may not have found it any more, and nobody is refused because the broker cannot be asked.
            #expect(
                answer(ProbedRecord.none) == "+" && answer(.unanswered) == "+" && answer(nil, ends: .unknown) == "+")
            later.change { $0.firstStamp = issue }
            #expect(answer(nil) == "+")
            later.change { $0.firstStamp = nil }
            #expect(answer(nil) == "+")
        }
    }

    @Test func `an account without events is refused where all logs of the topic began later`() throws {
        let (text, issue) = unsaid(Self.quiet)
        // Of a node that had read no record of anybody.
        var bare = try #require(Cursor(text))
        (bare.positions, bare.fingerprint) = ([], nil)
        let cursor = bare.text.bytes
        let later = TestHistory()
        for partition in [TestHistory.first, TestHistory.second] {
            later.open(partition, LogFacts(known: later.now, end: 2, endAsked: 1))
            later.change(partition) { $0.firstStamp = issue + 1 }
        }
        let there = ProbedRecord.record(timestamp: issue + 1, account: nil)
        var firsts: [PartitionName: ProbedRecord] = [TestHistory.first: there]
        #expect(answer(later.resume(cursor, account: Self.quiet, firsts: firsts)) == "1:0?")
        firsts[TestHistory.second] = there
        #expect(answer(later.resume(cursor, account: Self.quiet, firsts: firsts)) == "epoch")
        // A partition may have had its first record since.
        later.change { $0.firstStamp = issue }
        #expect(answer(later.resume(cursor, account: Self.quiet)) == "+")
    }

    @Test func `a cursor of a node with ids says no first record`() throws {
        var cursor = try #require(Cursor(unsaid(TestHistory.account).cursor))
        cursor.topicIDs = 7
        let later = TestHistory()
        later.open(LogFacts(known: later.now, end: 2, endAsked: 1))
        later.change { $0.firstStamp = .max }
        #expect(later.refusal(cursor.text.bytes) == nil && later.doubt(cursor.text.bytes) == nil)
    }

    @Test func `a log that lacks the first record that a cursor says is another one`() {
        let cursor = node(ahead: TestHistory.hour).fresh(Self.quiet)
        let later = TestHistory()
        later.open(LogFacts(end: 0, endAsked: 5))
        later.open(TestHistory.second, LogFacts(known: later.now, end: 2, endAsked: 5))
        func answer(_ ends: EndsSeen) -> String { self.answer(later.resume(cursor, account: Self.quiet, ends: ends)) }
        #expect(answer(.earlier) == "end of 0?" && answer(.since(6)) == "end of 0?" && answer(.since(5)) == "epoch")
        #expect(answer(.unknown) == "+")
        // It is there, and not read yet.
        later.change { $0.end = 1 }
        #expect(answer(.earlier) == "+")
    }

    // MARK: - Two topics

    /// The second topic is old, the first was found to be recreated a moment ago.
    private var recreated: TestHistory {
        let node = TestHistory(topics: 2)
        node.open(Self.other, LogFacts(start: 5, born: 1_000, known: node.now, end: 5, endAsked: 1))
        node.open(LogFacts(born: 2_000, known: node.now, end: 3, endAsked: 1))
        node.now += 1_000
        node.history.reset(topic: 0, now: node.now)
        return node
    }

    @Test func `a cursor that comes with a reset is good when the recreated topic gets its first record`() {
        let node = recreated
        let atOnce = node.history.freshCursor(account: TestHistory.account, now: node.now).bytes
        node.open(LogFacts(notBefore: node.now - 1_500, end: 0, endAsked: 2))
        let opened = node.history.freshCursor(account: TestHistory.account, now: node.now).bytes
        node.now += 3_000
        node.take(0)
        // The other topic is still known as of four seconds ago.
        let afterwards = node.history.freshCursor(account: TestHistory.account, now: node.now).bytes
        node.now += 1
        #expect(node.offsets(atOnce) == [0] && node.offsets(opened) == [0] && node.offsets(afterwards) == [])
    }

    @Test func `while no moment says it of all topics, a cursor names a log of each`() {
        let node = recreated
        let cursor = node.history.freshCursor(account: TestHistory.account, now: node.now).bytes
        #expect(Cursor(cursor)?.topicsKnown == nil)
        #expect(Cursor(cursor)?.positions.map(\.partition) == [Self.other])
        // So one that is recreated then is found out.
        node.now += 5_000
        node.open(Self.other, LogFacts(start: 5, born: node.now - 2_000, known: node.now, end: 6, endAsked: 3))
        #expect(node.refusal(cursor) == .epoch)
    }
}
