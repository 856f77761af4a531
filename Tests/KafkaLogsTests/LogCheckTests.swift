// Tests: LogAnchor.swift, Probe.swift

import Testing

@testable import KafkaLogs

@Suite struct `Whether a log is still the one that was read` {
    /// Records 0 to 9 were read, a millisecond apart, the last at 1,009.
    private let last = RecordMark(offset: 9, timestamp: 1_009, check: 1)
    private var anchor: LogAnchor { LogAnchor(next: 10, newest: .init(timestamp: 1_009, offset: 9), last: last) }
    private let now: Int64 = 2_000

    private func check(_ anchor: LogAnchor? = nil, windowStart: Int64? = nil, start: Int64 = 0) -> LogCheck {
        var check = LogCheck(start: start, windowStart: windowStart)
        if let anchor { _ = check.hold(anchor, answers(20), now: now) }
        return check
    }

    private func answers(
        _ end: Int64, floor: OffsetAnswer? = nil, witness: OffsetAnswer? = nil
    ) -> LogCheck.Answers {
        .init(end: end, floor: floor, witness: witness)
    }

    @Test func `asked are the newest time stamp and the one after it`() {
        let (floor, witness) = check(anchor).questions(now: now)
        #expect(floor == 1_010 && witness == 1_009)
    }

    @Test(arguments: [
        (OffsetAnswer.end, OffsetAnswer.offset(9), LogCheck.Verdict.holds),
        (.offset(10), .offset(9), .holds), (.offset(12), .offset(9), .holds),
        // Newer records from the start on: another log, or aborted ones.
        (.offset(9), .offset(9), .suspicious), (.offset(0), .offset(0), .suspicious),
        // Nothing as new: another log that is older in its time stamps, or retention.
        (.end, .end, .suspicious), (.end, .offset(8), .suspicious), (.end, .offset(10), .suspicious),
        (.silent, .offset(9), .open), (.end, .refused, .open),
    ])
    func `the witness stands where it was read, and nothing newer below our position`(
        _ floor: OffsetAnswer, _ witness: OffsetAnswer, _ verdict: LogCheck.Verdict
    ) {
        var check = check(anchor)
        #expect(check.verdict(answers(20, floor: floor, witness: witness), now: now) == verdict)
    }

    @Test func `a single record at offset 0 is told from a log that begins with a newer one`() {
        var check = check(
            LogAnchor(
                next: 1, newest: .init(timestamp: 1_000, offset: 0), last: .init(offset: 0, timestamp: 1_000, check: 1))
        )
        #expect(check.verdict(answers(5, floor: .offset(0), witness: .offset(0)), now: now) == .suspicious)
    }

    @Test func `the record before those of another broker is remembered until it is looked into`() {
        var anchor = anchor
        for broker in [1, 1] as [Int32] { anchor.note(broker: broker) }
        #expect(anchor.handover == nil)
        anchor.note(broker: 2)
        #expect(anchor.handover == last)
        let later = RecordMark(offset: 12, timestamp: 1_012, check: 3)
        anchor.last = later
        anchor.note(broker: 1)
        #expect(anchor.handover == last)
        anchor.handover = nil
        anchor.note(broker: 1)
        #expect(anchor.handover == nil)
        anchor.note(broker: 2)
        #expect(anchor.handover == later)
    }

    @Test(arguments: [
        (RecordAnswer.record(.init(offset: 9, timestamp: 1_009, check: 1)), Int64(10), Bool?.some(true)),
        (.record(.init(offset: 9, timestamp: 1_009, check: 2)), 10, false),
        (.record(.init(offset: 9, timestamp: 1_008, check: 1)), 10, false),
        // Compacted, or gone by retention.
        (.record(.init(offset: 10, timestamp: 1_010, check: 2)), 11, true), (.end(at: 10), 10, true),
        (.outOfRange, 10, true),
        // A log that is shorter than what was read may yet grow.
        (.end(at: 9), 9, nil), (.outOfRange, 9, nil), (.outOfRange, 5, nil), (.silent, 10, nil),
    ])
    func `the next leader has it, or another one in its place`(_ found: RecordAnswer, _ end: Int64, _ isKept: Bool?) {
        #expect(last.isKept(found, end: end) == isKept)
    }

    @Test func `an end below our position is a suspicion, and the second in a row the end of it`() {
        var check = check(anchor)
        #expect(check.verdict(answers(10, floor: .end, witness: .offset(9)), now: now) == .holds)
        #expect(check.verdict(answers(9, floor: .end, witness: .offset(9)), now: now) == .suspicious)
        #expect(check.settle(.record(last), answers(9), logStart: 0, now: now) == .open)
        #expect(check.verdict(answers(10, floor: .end, witness: .offset(9)), now: now) == .holds)
        #expect(check.verdict(answers(9), now: now) == .suspicious)
        #expect(check.verdict(answers(9), now: now) == .broken)
    }

    @Test(arguments: [
        (RecordAnswer.record(.init(offset: 9, timestamp: 1_009, check: 1)), LogCheck.Verdict.holds),
        (.record(.init(offset: 9, timestamp: 1_009, check: 2)), .broken),
        (.record(.init(offset: 9, timestamp: 1_010, check: 1)), .broken),
        (.outOfRange, .open), (.end(at: 9), .broken), (.silent, .open),
        // A hole, and records below our position that we would have read.
        (.record(.init(offset: 11, timestamp: 1_009, check: 1)), .broken), (.end(at: 20), .broken),
    ])
    func `reading the last record again settles a suspicion`(_ found: RecordAnswer, _ verdict: LogCheck.Verdict) {
        var check = check(anchor)
        let answers = answers(20, floor: .offset(4), witness: .offset(4))
        #expect(check.verdict(answers, now: now) == .suspicious)
        #expect(check.settle(found, answers, logStart: 0, now: now) == verdict)
    }

    @Test func `what compaction and retention remove is no alarm`() {
        var check = check(anchor)
        let answers = answers(20, floor: .offset(14), witness: .offset(14))
        #expect(check.verdict(answers, now: now) == .suspicious)
        let later = RecordAnswer.record(.init(offset: 14, timestamp: 1_500, check: 1))
        #expect(check.settle(later, answers, logStart: 0, now: now) == .holds, "compaction")
        #expect(check.settle(.end(at: 20), answers, logStart: 0, now: now) == .holds, "compaction and aborts")
        #expect(check.settle(.outOfRange, answers, logStart: 14, now: now) == .holds, "retention")
        #expect(check.settle(.outOfRange, answers, logStart: nil, now: now) == .open, "not to be told yet")
        #expect(check.hold(anchor, answers, now: now) == 9)
    }

    @Test func `answers that were settled raise no suspicion again, and others do`() {
        var check = check(anchor)
        let aborted = answers(20, floor: .offset(4), witness: .offset(4))
        #expect(check.verdict(aborted, now: now) == .suspicious)
        #expect(check.settle(.record(last), aborted, logStart: 0, now: now) == .holds)
        #expect(check.verdict(aborted, now: now) == .holds)
        #expect(check.verdict(answers(30, floor: .offset(4), witness: .offset(4)), now: now) == .holds)
        #expect(check.verdict(answers(20, floor: .offset(0), witness: .offset(0)), now: now) == .suspicious)
    }

    @Test func `what another log would answer too is not remembered`() {
        var check = check(anchor)
        let first = answers(20, floor: .offset(0), witness: .offset(0))
        #expect(check.settle(.record(last), first, logStart: 0, now: now) == .holds)
        #expect(check.verdict(first, now: now) == .suspicious, "any new log begins at 0 with newer records")
        let future = LogAnchor(next: 10, newest: .init(timestamp: 9_999, offset: 3), last: last)
        _ = check.hold(future, answers(20), now: now)
        let gone = answers(20, floor: .end, witness: .end)
        #expect(check.settle(.record(last), gone, logStart: 0, now: now) == .holds)
        #expect(check.verdict(gone, now: now) == .suspicious, "nothing is as new as the future")
    }

    @Test func `an anchor whose record is gone waits for a newer one`() {
        var anchor = LogAnchor(next: 10, newest: .init(timestamp: 9_999, offset: 3), last: last)
        anchor.removeWitness(2)
        #expect(anchor.newest?.offset == 3)
        anchor.removeWitness(3)
        // Which of the others has the latest stamp was not kept; another with the same may stand before this one.
        for timestamp in [1_009, 9_998, 9_999] as [Int64] { anchor.note(timestamp: timestamp, at: 10) }
        #expect(anchor.newest == nil)
        anchor.note(timestamp: 10_000, at: 11)
        #expect(anchor.newest == .init(timestamp: 10_000, offset: 11))
    }

    @Test func `what was read since the last check proves nothing about itself`() {
        var check = check(anchor)
        // Of the new log, 10 to 19 were read; the question is still about what was read before.
        #expect(check.questions(now: now).witness == 1_009)
        #expect(check.verdict(answers(20, floor: .offset(0), witness: .offset(0)), now: now) == .suspicious)
        #expect(check.held == anchor)
    }

    @Test func `of a log read from 0, of which nothing was read, nothing can be missed`() {
        var check = check()
        #expect(check.questions(now: now) == (nil, nil))
        #expect(check.verdict(answers(0), now: now) == .holds)
        #expect(check.verdict(answers(7), now: now) == .holds)
    }

    @Test func `of a log that was empty at the last refresh, the first record has to be there still`() {
        let first = RecordMark(offset: 0, timestamp: 1_000, check: 1)
        var check = check()
        #expect(check.verdict(answers(0), now: now) == .holds)
        // Five were read; the log that has the name now began with another record, and we go on in its middle.
        check.begin(with: first)
        #expect(check.questions(now: now) == (1_001, 1_000))
        #expect(check.verdict(answers(11, floor: .offset(0), witness: .offset(0)), now: now) == .suspicious)
        #expect(
            check.settle(
                .record(RecordMark(offset: 0, timestamp: 1_900, check: 2)), answers(11, floor: .offset(0)),
                logStart: nil, now: now) == .broken)
        #expect(check.verdict(answers(11, floor: .offset(1), witness: .offset(0)), now: now) == .holds)
        // What is held already is not given up for a record that was read later.
        _ = check.hold(anchor, answers(20), now: now)
        check.begin(with: first)
        #expect(check.held == anchor)
    }

    @Test func `an empty window is known by what stands before it`() {
        var check = check(windowStart: 500, start: 40)
        #expect(check.questions(now: now).floor == 500)
        #expect(check.verdict(answers(40, floor: .end), now: now) == .holds)
        #expect(check.verdict(answers(60, floor: .offset(40)), now: now) == .holds)
        #expect(check.verdict(answers(60, floor: .offset(39)), now: now) == .broken)
        #expect(check.verdict(answers(60, floor: .silent), now: now) == .open)
    }

    @Test func `where only aborted records were passed over, the present is the floor`() {
        var check = check()
        _ = check.hold(LogAnchor(next: 3), answers(20), now: now)
        #expect(check.verdict(answers(3, floor: .end), now: 2_000) == .holds)
        #expect(check.questions(now: 5_000).floor == 2_000)
        #expect(check.verdict(answers(9, floor: .offset(3)), now: 5_000) == .holds)
        #expect(check.verdict(answers(9, floor: .offset(0)), now: 5_000) == .broken)
    }

    @Test func `the newest time stamp is that of its first record, and records without one count for nothing`() {
        var anchor = LogAnchor(next: 0)
        for (offset, timestamp) in [(0, 5), (1, -1), (2, 9), (3, 9), (4, 7)] as [(Int64, Int64)] {
            anchor.note(timestamp: timestamp, at: offset)
        }
        #expect(anchor.newest == .init(timestamp: 9, offset: 2))
    }
}

@Suite struct `Whether a partition answers and moves on` {
    @Test func `one that was asked in vain is stalled 2 s later, whenever it was asked again, and not before`() {
        var watch = AnswerWatch(answeredAt: 8_000)
        #expect(!watch.isSuspected(10_100))
        watch.fallSilent(at: 10_100)
        watch.fallSilent(at: 11_500)
        #expect(watch.stalledSince(12_099) == nil && watch.isSuspected(12_099))
        #expect(watch.stalledSince(12_100) == 8_000 && !watch.isSuspected(12_100))
        watch.answer(at: 12_200)
        #expect(watch.stalledSince(14_300) == nil && !watch.isSuspected(14_300))
    }

    @Test func `one that answers when it is asked once more was never stalled`() {
        var watch = AnswerWatch(answeredAt: 8_000)
        watch.fallSilent(at: 10_100)
        watch.answer(at: 10_700)
        watch.fallSilent(at: 12_800)
        #expect((10_100...14_700).allSatisfy { watch.stalledSince($0) == nil })
    }

    @Test func `without an answer of any kind it is told before 5 s are over`() {
        let watch = AnswerWatch(answeredAt: 1_000)
        #expect(watch.stalledSince(5_400) == nil)
        #expect(watch.stalledSince(5_500) == 1_000)
    }

    @Test func `one that stands still although its log goes on is stalled after 2 s, and not when it moves`() {
        var watch = AnswerWatch(answeredAt: 1_000)
        watch.fallBehind(at: 1_000)
        watch.answer(at: 3_000)
        watch.fallBehind(at: 3_000)
        #expect(watch.stalledSince(2_999) == nil)
        #expect(watch.stalledSince(3_000) == 1_000)
        watch.moveOn()
        #expect(watch.stalledSince(4_000) == nil)
    }

    @Test func `one whose records a transaction holds back is stalled after 5 s, and not when it ends`() {
        var watch = AnswerWatch(answeredAt: 1_000)
        watch.hold(at: 2_000)
        watch.hold(at: 4_000)
        // It answers, and has nothing that may be read.
        watch.answer(at: 6_900)
        watch.moveOn()
        #expect(watch.stalledSince(6_999) == nil && !watch.isHeld(6_999))
        #expect(watch.stalledSince(7_000) == 2_000 && watch.isHeld(7_000))
        watch.release()
        #expect(watch.stalledSince(8_000) == nil && !watch.isHeld(8_000))
        watch.hold(at: 8_000)
        #expect(watch.stalledSince(11_000) == nil)
    }

    @Test func `an answer that was on its way does not take back a later one`() {
        var watch = AnswerWatch(answeredAt: 5_000)
        watch.answer(at: 3_000)
        #expect(watch.answeredAt == 5_000)
    }
}

@Suite struct `What was deleted before a partition was found` {
    @Test(arguments: [false, true]) func `was given to nobody, and everybody is told`(ids: Bool) {
        var node = TestNode(ids: ids)
        node.refresh()
        node.broker.addPartitions(0, to: 2)
        node.write(1, 2, 3, to: 1)
        node.broker.deleteRecords(0, 1, before: 2)
        node.refresh()
        node.drain()
        #expect(node.resyncs == [.recordsLost(node.name(1), .retention)])
        #expect(node.records == [3] && node.facts(1)?.start == 2)
        // At the start nobody was there yet.
        var late = TestNode(partitions: 2, ids: ids)
        late.write(1, 2, to: 1)
        late.broker.deleteRecords(0, 1, before: 1)
        late.refresh()
        late.drain()
        #expect(late.resyncs == [])
    }
}
