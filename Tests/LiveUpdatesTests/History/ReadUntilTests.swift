// Tests: PartitionTable+Claims.swift

import Testing

@testable import LiveUpdates

/// Until when a node had read all that had come to any partition: its cursors say so, and others go by it where a cursor names
/// no partition.
struct ReadUntilTests {
    private let issuer = TestHistory()
    private let judge = TestHistory { $0.maximumEventsPerAccount = 2 }
    private let start = TestHistory().now

    /// Both have a first partition with a record of another account, which cursors name; of the second one the issuer has read two
    /// records of three.
    init() {
        issuer.openWhole()
        judge.openWhole()
        issuer.open(TestHistory.second, LogFacts(known: issuer.now, end: 2, endMoment: issuer.now))
        for offset in 0..<2 { issuer.take(Int64(offset), in: TestHistory.second, account: Account("A2")) }
        for node in [issuer, judge] { node.take(0, account: Account("A2")) }
    }

    /// The position of the second partition, if the cursor names it.
    private func second(_ cursor: [UInt8]) -> Int64? {
        Cursor(cursor)?.positions.first { $0.partition == TestHistory.second }?.offset
    }

    private func cursor(at moment: Int64) -> [UInt8] {
        issuer.now = moment
        issuer.change { ($0.endMoment, $0.known) = (moment, moment) }
        return issuer.history.freshCursor(account: TestHistory.account, now: moment).bytes
    }

    @Test func `a node that lags does not claim what came since it had read all`() {
        #expect(issuer.history.readUntil() == .min)
        issuer.change { $0.endMoment = start + 100 }
        #expect(issuer.history.readUntil() == start)
        // The third record has come by then, and is not read.
        issuer.change(TestHistory.second) { ($0.end, $0.endMoment) = (3, start + 200) }
        #expect(issuer.history.readUntil() == start)
        issuer.history.beginWake()
        issuer.take(2, in: TestHistory.second, account: Account("A2"))
        issuer.history.beginWake()
        #expect(issuer.history.readUntil() == start + 100)
        #expect(Cursor(cursor(at: start + 150))?.readUntil == start + 150)
    }

    @Test(
        arguments: [
            // A log that starts above 0; until when the issuing node had read, from now; served.
            (stamp: Int64?.none, until: 60_000, isServed: true), (nil, 59_999, false),
            (-2 * TestHistory.hour, -TestHistory.hour, true), (-2 * TestHistory.hour, -TestHistory.hour - 1, false),
            (0, 60_000, true),
        ] as [(Int64?, Int64, Bool)]) func `a log that starts above 0 refuses only who may have missed what is gone`(
            stamp: Int64?, until: Int64, isServed: Bool
        )
    {
        let node = TestHistory()
        let unread = LogFacts.Unread(stampedBefore: stamp.map { node.now + $0 }, arrivedBefore: node.now)
        node.open(LogFacts(start: 50, unread: unread, known: node.now, end: 50, endAsked: 1))
        #expect(node.refusal(Self.cursor([], at: node.now + until)) == (isServed ? nil : .expired))
        // Its own cursor names the log.
        #expect(node.refusal(node.fresh()) == nil)
        // What is learned later of records that are not read counts at once.
        node.change { $0.unread = .init(stampedBefore: node.now - 2 * TestHistory.hour, arrivedBefore: node.now) }
        #expect(node.refusal(Self.cursor([], at: node.now - TestHistory.hour)) == nil)
    }

    /// Of a node that had read all until it issued it.
    private static func cursor(_ positions: [Cursor.Position], at moment: Int64) -> [UInt8] {
        Cursor(
            epoch: Epoch(number: 7), accountCheck: Cursor.check(of: TestHistory.account), issue: moment,
            readUntil: moment, positions: positions
        ).text.bytes
    }

    @Test func `a partition quiet for a minute is named, and so found again when retention has emptied it`() {
        // A record of another account, long ago.
        issuer.history.skip(TestHistory.second, offset: 2, timestamp: -1, now: start)
        let early = cursor(at: start + 60_000)
        let late = cursor(at: start + 60_001)
        #expect([early, late].map(second) == [nil, 3])
        // Another node finds it empty, a day later.
        judge.now = start + TestHistory.day
        judge.open(
            TestHistory.second, LogFacts(start: 3, unread: .init(arrivedBefore: judge.now), known: judge.now, end: 3))
        #expect([early, late].map { judge.refusal($0) } == [.expired, nil])
        // One more record, which is gone too: nobody is served without it.
        judge.history.lose([TestHistory.second])
        judge.open(
            TestHistory.second, LogFacts(start: 4, unread: .init(arrivedBefore: judge.now), known: judge.now, end: 4))
        #expect(judge.refusal(late) == .expired)
    }

    @Test(arguments: [(16, 16), (17, 16), (18, 4), (100, 4)])
    func `of few partitions all that are quiet are named, of many some`(partitions: Int, named: Int) {
        let node = TestHistory()
        for number in 0..<partitions {
            node.openWhole(PartitionName(topic: 0, number: Int32(number)), born: 1_000)
            node.take(0, in: PartitionName(topic: 0, number: Int32(number)), account: Account("A2"))
            node.now += 1
        }
        node.now += 60_000
        // Beside the quiet ones the one with the record that the cursor says.
        let numbers = Set((0..<Int32(named)).map { $0 } + [Int32(partitions) - 1]).sorted()
        #expect(Cursor(node.fresh())?.positions.map(\.partition.number) == numbers)
        // Where all are named, retention may empty each of them: a node that finds them so has nothing to refuse for.
        let cursor = node.fresh()
        let other = TestHistory()
        other.now = node.now + TestHistory.day
        for number in 0..<partitions {
            other.open(
                PartitionName(topic: 0, number: Int32(number)),
                LogFacts(start: 1, unread: .init(arrivedBefore: other.now), known: other.now, end: 1))
        }
        #expect(other.refusal(cursor) == (numbers.count == partitions ? nil : .expired))
    }

    @Test func `quiet partitions are named, those first that have been so for longest, and none with an event to come`()
    {
        let node = TestHistory()
        for number in 0..<6 {
            let partition = PartitionName(topic: 0, number: Int32(number))
            node.openWhole(partition, born: 1_000)
            node.now += 1
            node.take(0, in: partition, account: Account(number == 1 ? "A1" : "A2"))
        }
        func numbers(_ cursor: [UInt8]) -> [Int32]? { Cursor(cursor)?.positions.map(\.partition.number) }
        // One without events says the newest record of all, and names its partition.
        #expect(numbers(node.fresh(Account("A3"))) == [5])
        node.now += 60_000 - 2
        // The last ones are not quiet yet; the account's own partition is named anyway.
        #expect(numbers(node.fresh(Account("A3"))) == [0, 1, 2, 5])
        #expect(numbers(node.fresh()) == [0, 1, 2])
        node.now += 60_000
        #expect(numbers(node.fresh(Account("A3"))) == [0, 1, 2, 3, 4, 5])
        // A replay stands before an event in a partition that it did not name when it began.
        guard case .accepted(let position, _) = node.resume(Self.cursor([], at: node.now)) else {
            Issue.record("nothing speaks against it")
            return
        }
        let before = node.history.cursor(at: position, account: TestHistory.account, now: node.now)
        node.take(1, in: PartitionName(topic: 0, number: 0))
        let after = node.history.cursor(at: position, account: TestHistory.account, now: node.now)
        #expect(numbers(before.bytes)?.contains(0) == true)
        #expect(numbers(after.bytes)?.contains(0) == false)
        #expect(node.offsets(after.bytes) == [0, 1])
    }

    @Test func `a record that was deleted before the issuing node read it is not passed over`() {
        // It was in the log at 200 and is gone; the judge finds it gone at 300, by a clock that is a minute behind.
        judge.now = start + 300
        judge.open(
            TestHistory.second,
            LogFacts(start: 3, unread: .init(arrivedBefore: start - 59_700), known: judge.now, end: 3))
        let lagging = cursor(at: start + 400)
        issuer.change(TestHistory.second) { ($0.end, $0.endMoment) = (3, start + 250) }
        let behind = cursor(at: start + 450)
        issuer.history.skip(TestHistory.second, offset: 2, timestamp: -1, now: issuer.now)
        issuer.history.beginWake()
        let late = cursor(at: start + 500)
        issuer.change(TestHistory.second) { ($0.end, $0.endMoment) = (3, start + 300) }
        let good = cursor(at: start + 550)
        judge.now = start + 600
        #expect([lagging, behind, late, good].map { judge.refusal($0) } == [.expired, .expired, .expired, nil])
    }

    @Test func `what was let go is compared with what the issuing node had read, however late it issues`() {
        // A partition that is not quiet, and so is not named.
        issuer.history.skip(TestHistory.second, offset: 2, timestamp: -1, now: start + 2 * TestHistory.hour - 60_000)
        judge.openWhole(TestHistory.second, born: 1_000)
        for offset in 0..<3 { judge.take(Int64(offset), in: TestHistory.second) }
        for node in [issuer, judge] {
            node.now = start + 2 * TestHistory.hour - 60_000
            node.take(1, account: Account("A2"))
        }
        let lagging = cursor(at: start + 2 * TestHistory.hour)
        issuer.change(TestHistory.second) { $0.endMoment = start + TestHistory.hour + 2_000 }
        let good = cursor(at: start + 2 * TestHistory.hour)
        judge.now = issuer.now
        #expect(judge.refusal(lagging) == .expired)
        #expect(judge.offsets(good) == [1, 2])
    }

    @Test func `a partition that is not open yet holds what nobody has read`() {
        issuer.change { $0.endMoment = start + 100 }
        issuer.change(TestHistory.second) { $0.endMoment = start + 100 }
        issuer.history.find(PartitionName(topic: 0, number: 2))
        issuer.change { $0.endMoment = start + 200 }
        issuer.change(TestHistory.second) { $0.endMoment = start + 200 }
        #expect(issuer.history.readUntil() == start + 100)
        issuer.open(PartitionName(topic: 0, number: 2), LogFacts(endMoment: start + 200))
        #expect(issuer.history.readUntil() == start + 200)
        // One that never was.
        issuer.history.find(PartitionName(topic: 0, number: 3))
        issuer.history.find(PartitionName(topic: 0, number: 3), exists: false)
        #expect(issuer.history.readUntil() == start + 200)
        // One of a topic that was recreated meanwhile is none.
        issuer.history.find(PartitionName(topic: 0, number: 3))
        issuer.history.reset(topic: 0)
        issuer.openWhole()
        issuer.change { $0.endMoment = start + 300 }
        #expect(issuer.history.readUntil() == start + 300)
    }

    @Test func `whoever goes on here after a cursor of a node that was ahead keeps what that one had read`() throws {
        let cursor = Cursor(cursor(at: start + 50))
        judge.change { $0.endMoment = start }
        judge.openWhole(TestHistory.second, born: 1_000)
        var other = try #require(cursor)
        other.readUntil = start + 40
        guard case .accepted(let position, _) = judge.resume(other.text.bytes) else {
            Issue.record("nothing speaks against it")
            return
        }
        #expect(position.resume?.readUntil == start + 40)
    }
}
