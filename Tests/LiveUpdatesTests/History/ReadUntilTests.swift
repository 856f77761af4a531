import Testing

@testable import LiveUpdates

/// Until when a node had read all that had come to any partition: its cursors say so, and others go by it where a cursor names
/// no partition.
struct ReadUntilTests {
    private let issuer = TestHistory()
    private let judge = TestHistory { $0.maximumEventsPerAccount = 2 }
    private let start = TestHistory().now

    /// Both have a first partition without anything; of the second one the issuer has read two records of three.
    init() {
        issuer.openWhole()
        judge.openWhole()
        issuer.open(TestHistory.second, LogFacts(known: issuer.now, end: 2, endMoment: issuer.now))
        for offset in 0..<2 { issuer.take(Int64(offset), in: TestHistory.second, account: Account("A2")) }
    }

    private func cursor(at moment: Int64) -> [UInt8] {
        issuer.now = moment
        issuer.change { $0.endMoment = moment }
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

    @Test func `a record that was deleted before the issuing node read it is not passed over`() {
        // It was in the log at 200 and is gone; the judge finds it gone at 300.
        judge.now = start + 300
        judge.open(
            TestHistory.second,
            LogFacts(start: 3, unread: .init(arrivedBefore: start + 300), known: judge.now, end: 3))
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
        judge.openWhole(TestHistory.second, born: 1_000)
        for offset in 0..<3 { judge.take(Int64(offset), in: TestHistory.second) }
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
