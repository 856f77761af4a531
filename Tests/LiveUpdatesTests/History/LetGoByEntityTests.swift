// Tests: LetGoByEntity.swift, AccountLog.swift

import AllocationCounter
import Testing

@testable import LiveUpdates

/// Who asked for some entities is `expired` by those alone: what a full log lets go is kept by entity.
struct LetGoByEntityTests {
    static let limit = 5
    let node = TestHistory { $0.maximumEventsPerAccount = Self.limit }

    static func filter(_ names: String...) -> EntityFilter? { EntityFilter(names) }
    let notes = Self.filter("note")

    /// Whether a stream of the account that stands behind a sequence is served.
    private func isServed(_ sequence: UInt64, _ entities: EntityFilter?) -> Bool {
        let answer = node.history.read(
            account: TestHistory.account, from: StreamPosition(sequence: sequence), limit: 100, entities: entities,
            now: node.now, withCursors: true)
        if case .page = answer { return true } else { return false }
    }

    // MARK: - Both sides

    @Test func `whoever was away while others filled the log over and over has missed nothing`() {
        node.openWhole()
        node.take(0)
        let (cursor, sequence) = (node.fresh(), node.history.lastSequence)
        for offset in 1...50 { node.take(Int64(offset)) }
        #expect(node.offsets(cursor, entities: notes) == [])
        #expect(isServed(sequence, notes))
        node.take(51, entity: "note")
        #expect(node.offsets(cursor, entities: notes) == [51])
        #expect(node.refusal(cursor) == .expired)
        #expect(node.refusal(cursor, entities: Self.filter("incident")) == .expired)
        #expect(node.refusal(cursor, entities: Self.filter("note", "incident")) == .expired)
        #expect(!isServed(sequence, nil) && !isServed(sequence, Self.filter("incident", "note")))
    }

    @Test func `it is refused from the event on that it has missed, and no later one`() {
        node.openWhole()
        node.take(0)
        let (before, sequenceBefore) = (node.fresh(), node.history.lastSequence)
        node.take(1, entity: "note")
        let (after, sequenceAfter) = (node.fresh(), node.history.lastSequence)
        for offset in 2...5 { node.take(Int64(offset)) }
        #expect(node.offsets(before, entities: notes) == [1])
        #expect(isServed(sequenceBefore, notes))
        node.take(6)
        #expect(node.refusal(before, entities: notes) == .expired)
        #expect(!isServed(sequenceBefore, notes))
        for offset in 7...60 { node.take(Int64(offset)) }
        #expect(node.offsets(after, entities: notes) == [])
        #expect(isServed(sequenceAfter, notes))
        #expect(node.refusal(before, entities: notes) == .expired)
    }

    @Test func `an answer in pages is not lost to others that come between them`() throws {
        node.openWhole()
        node.take(0)
        let cursor = node.fresh()
        node.take(1, entity: "note")
        node.take(2, entity: "note")
        guard case .accepted(let position, _) = node.resume(cursor, entities: notes),
            case .page(let first, let rest, false) = node.history.read(
                account: TestHistory.account, from: position, limit: 1, entities: notes, now: node.now,
                withCursors: true)
        else {
            Issue.record("the first page is given")
            return
        }
        #expect(first.map(\.offset) == [1])
        for offset in 3...6 { node.take(Int64(offset)) }
        func next() -> [Int64]? {
            let page = node.history.read(
                account: TestHistory.account, from: rest, limit: 9, entities: notes, now: node.now, withCursors: true)
            if case .page(let events, _, true) = page { return events.map(\.offset) } else { return nil }
        }
        // The first one is gone, the second one is not.
        #expect(node.history.logs[TestHistory.account]?.parts.first?.base.offset == 1)
        #expect(next() == [2])
        node.take(7)
        #expect(next() == nil)
    }

    @Test func `a join that waits is decided on by its filter`() throws {
        node.openWhole()
        node.change { ($0.end, $0.endAsked) = (0, 1) }
        node.take(0)
        var joins = UndecidedJoins<Int>()
        let cursor = Cursor(
            epoch: Epoch(number: 7), accountCheck: Cursor.check(of: TestHistory.account), issue: node.now,
            positions: [.init(partition: TestHistory.first, offset: 2, known: node.now)], fingerprint: nil)
        for (joiner, entities) in [notes, nil].enumerated() {
            guard case .undecided(let doubt) = node.history.resume(cursor, account: TestHistory.account, now: node.now)
            else {
                Issue.record("the cursor is beyond the end that is known")
                return
            }
            let answer = joins.add(
                joiner, account: TestHistory.account, cursor: cursor, entities: entities, doubt: doubt,
                history: node.history, now: 100, wallClock: node.now)
            #expect(answer == nil)
        }
        for offset in 1...20 { node.take(Int64(offset)) }
        let decided = joins.decide(node.history, now: 100, wallClock: node.now)
        guard case .accepted = decided.first?.1, case .refused(.expired) = decided.last?.1 else {
            Issue.record("\(decided)")
            return
        }
        #expect(decided.map(\.0) == [0, 1])
    }

    // MARK: - What counts for all

    @Test func `so many entities are kept apart, those let go last; one more counts for all`() {
        node.openWhole()
        node.take(0)
        let cursor = node.fresh()
        let most = LetGoByEntity.maximumEntities
        for offset in 1...most { node.take(Int64(offset), entity: "e\(offset)") }
        let last = Int64(most + Self.limit)
        for offset in Int64(most + 1)...last { node.take(offset, entity: "e1") }
        #expect(node.offsets(cursor, entities: notes) == [])
        #expect(node.refusal(cursor, entities: Self.filter("e2")) == .expired)
        // The incident went first and was the first to count for all; the next one is e2.
        for offset in 1...2 * Int64(Self.limit) { node.take(last + offset, entity: offset > Self.limit ? "e0" : "e1") }
        #expect(node.offsets(cursor, entities: notes) == [])
        node.take(last + 2 * Int64(Self.limit) + 1, entity: "e0")
        #expect(node.refusal(cursor, entities: notes) == .expired)
    }

    @Test func `an entity that the vocabulary has no room for counts for all`() {
        node.openWhole()
        for offset in 0..<2 * Vocabulary.maximumWords {
            node.take(Int64(offset), account: Account("B"), entity: "e\(offset)")
        }
        let next = 2 * Int64(Vocabulary.maximumWords)
        node.take(next, entity: "e0")
        let cursor = node.fresh()
        for offset in 1...5 { node.take(next + Int64(offset), entity: "e0") }
        node.take(next + 6, entity: "beyond")
        for offset in 7...10 { node.take(next + Int64(offset), entity: "e0") }
        // The one that stands in full is the next to go.
        #expect(node.offsets(cursor, entities: Self.filter("e1")) == [])
        #expect(node.offsets(cursor, entities: Self.filter("never")) == [])
        node.take(next + 11, entity: "e0")
        #expect(node.refusal(cursor, entities: Self.filter("e1")) == .expired)
        #expect(node.refusal(cursor, entities: Self.filter("beyond")) == .expired)
    }

    @Test func `what the retention let go before the log was full counts for all`() {
        node.openWhole()
        node.take(0)
        let early = node.fresh()
        node.take(1)
        let later = node.fresh()
        node.now += 1
        node.take(2)
        node.history.sweep(now: node.now + TestHistory.day)
        #expect(node.history.size.events == 1)
        for offset in 3...50 { node.take(Int64(offset)) }
        #expect(node.refusal(early, entities: notes) == .expired)
        #expect(node.offsets(later, entities: notes) == [])
    }

    @Test(arguments: [true, false]) func `what an idle account gave up counts for all`(isFollowed: Bool) {
        let small = TestHistory {
            $0.maximumLogBytes = 6_000
            $0.maximumEventsPerAccount = Self.limit
        }
        small.openWhole()
        if isFollowed { small.history.retain(TestHistory.account) }
        small.take(0)
        let cursor = small.fresh()
        for offset in 1...20 { small.take(Int64(offset)) }
        #expect(small.offsets(cursor, entities: notes) == [])
        var next: Int64 = 21
        while small.history.logs[TestHistory.account]?.count ?? 0 > 0 {
            if isFollowed { small.history.retain(Account("B\(next)")) }
            small.take(next, account: Account("B\(next)"))
            next += 1
        }
        #expect(small.refusal(cursor, entities: notes) == .expired)
        for offset in next...next + 20 { small.take(offset) }
        #expect(small.refusal(cursor, entities: notes) == .expired)
        #expect(small.history.logs[TestHistory.account]?.keepsByEntity == true)
    }

    // MARK: - Partitions

    @Test func `of a partition that the cursor does not name the arrival by entity decides`() {
        node.openWhole()
        node.openWhole(TestHistory.second)
        node.take(0)
        let cursor = node.fresh()
        for offset in 0...20 { node.take(Int64(offset), in: TestHistory.second, entity: offset == 9 ? "note" : "e") }
        #expect(node.refusal(cursor, entities: Self.filter("e")) == .expired)
        #expect(node.refusal(cursor, entities: notes) == .expired)
        #expect(node.offsets(cursor, entities: Self.filter("other")) == [])
        // Once more than the delay has passed, a cursor of then has had it.
        node.now += TestHistory.hour + 1
        let elsewhere = TestHistory()
        elsewhere.now = node.now
        elsewhere.openWhole()
        elsewhere.take(0)
        let later = elsewhere.fresh()
        for offset in 21...40 { node.take(Int64(offset), in: TestHistory.second, entity: "e") }
        #expect(node.refusal(later, entities: Self.filter("e")) == .expired)
        #expect(node.offsets(later, entities: notes) == [])
    }

    @Test func `a partition that the account comes to when its log is full has let nothing go`() {
        node.openWhole()
        node.open(TestHistory.second, LogFacts(start: 100, known: node.now))
        for offset in 0...20 { node.take(Int64(offset)) }
        let cursor = node.fresh()
        for offset in 100...120 { node.take(Int64(offset), in: TestHistory.second) }
        #expect(node.offsets(cursor, entities: notes) == [])
        #expect(node.refusal(cursor, entities: Self.filter("incident")) == .expired)
    }

    @Test func `when other logs are lost, what was let go of those that stay is kept, and streams are lost`() {
        node.openWhole()
        node.openWhole(TestHistory.second)
        node.take(0)
        node.take(0, in: TestHistory.second)
        let (cursor, sequence) = (node.fresh(), node.history.lastSequence)
        for offset in 1...20 { node.take(Int64(offset), in: TestHistory.second) }
        node.take(1, entity: "note")
        #expect(isServed(sequence, Self.filter("other")))
        node.history.lose([TestHistory.first])
        #expect(node.history.size.bytes == node.history.logs[TestHistory.account]?.bytes)
        #expect(!isServed(sequence, Self.filter("other")) && !isServed(node.history.lastSequence - 1, notes))
        #expect(isServed(node.history.lastSequence, notes))
        node.open(TestHistory.first, LogFacts(start: 2, known: node.now))
        let named = Cursor(cursor)?.positions.filter { $0.partition == TestHistory.second } ?? []
        #expect(named.map(\.offset) == [1])
        let one = Cursor(
            epoch: Epoch(number: 7), accountCheck: Cursor.check(of: TestHistory.account), issue: node.now,
            positions: named, fingerprint: nil
        ).text.bytes
        #expect(node.offsets(one, entities: notes) == [])
        #expect(node.refusal(one) == .expired)
        #expect(node.refusal(cursor, entities: notes) == .expired)
    }

    // MARK: - Memory

    @Test func `an account whose log was never full takes no more, and one that was gives it back`() throws {
        node.openWhole()
        for offset in 0..<Self.limit { node.take(Int64(offset)) }
        let log = try #require(node.history.logs[TestHistory.account])
        #expect(!log.keepsByEntity)
        // A block of 96 bytes holds so much.
        #expect(unsafe bytes_of_block(Unmanaged.passUnretained(log).toOpaque()) <= 88)
        let bytes = log.bytes
        for offset in 5..<100 { node.take(Int64(offset)) }
        #expect(log.keepsByEntity && log.bytes > bytes && log.bytes < bytes + 300)
        #expect(node.history.size.bytes == log.bytes)
        for offset in 100..<1_000 { node.take(Int64(offset), entity: "e\(offset % 100)") }
        #expect(log.bytes < bytes + 2_400)
        #expect(node.history.size.bytes == log.bytes)
        node.history.retain(TestHistory.account)
        node.history.sweep(now: node.now + TestHistory.day + 1)
        #expect(!log.keepsByEntity && log.bytes < bytes)
        #expect(node.history.size.bytes == log.bytes)
    }
}
