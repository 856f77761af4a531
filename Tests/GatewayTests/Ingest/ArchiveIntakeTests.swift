// Tests: ArchiveIntake.swift

import KafkaLogs
import LiveUpdates
import Testing

@testable import Archive
@testable import Gateway

/// What waits for the archive's writer, on both sides of each limit.
struct ArchiveIntakeTests {
    private static let partition = PartitionName(topic: 0, number: 0)

    /// Buffers of one record each, one behind the other.
    private static func buffers(_ count: Int) -> [RecordBuffer] {
        var recorder = RunRecorder()
        return (0..<Int64(count)).map { offset in
            let event = RecordedEvent(Account("A"), ThinEvent(entity: "note", id: "N\(offset)", type: "made"))
            recorder.add(event, partition, offset: offset, stamp: offset, now: offset)
            return recorder.take()
        }
    }

    @Test func `as much waits as fits, and what does not is read again from there`() {
        let buffers = Self.buffers(3)
        let bytes = buffers[0].bytes
        let exact = ArchiveIntake(maximumBytes: bytes)
        exact.post(buffers[0])
        #expect(exact.take().buffers.count == 1)
        let short = ArchiveIntake(maximumBytes: bytes - 1)
        short.post(buffers[0])
        let missed = short.take()
        #expect(missed.buffers.isEmpty && missed.dropped.ends[Self.partition]?.next == 1)
        // What follows is dropped too, although it would fit, and what was taken has made room.
        let both = ArchiveIntake(maximumBytes: 2 * bytes - 1)
        for buffer in buffers { both.post(buffer) }
        let taken = both.take()
        #expect(taken.buffers.count == 1 && taken.dropped.ends[Self.partition]?.next == 3)
        both.post(buffers[0])
        #expect(both.take().buffers.count == 1)
    }

    @Test func `another record where one was stored says that the log is not the same`() {
        let tap = ArchiveTap(ArchiveIntake())
        for offset in Int64(0)..<70 { tap.skip(Self.partition, offset: offset, stamp: offset + 100) }
        func contradicts(_ offset: Int64, _ stamp: Int64) -> Bool {
            let newest = PartitionPosition.Record(offset: offset, stamp: stamp)
            return tap.contradicts([PartitionPosition(partition: Self.partition, next: offset + 1, newest: [newest])])
        }
        #expect(contradicts(69, 168) && !contradicts(69, 169) && contradicts(6, 1) && !contradicts(6, 106))
        // What was read long ago is not known any more, and what was not read neither.
        #expect(!contradicts(5, 1) && !contradicts(70, 1))
        #expect(!tap.contradicts([PartitionPosition(partition: Self.partition, next: 70)]))
        // Of the log of before nothing is held against this one.
        tap.recreate(topic: 0)
        #expect(!contradicts(69, 168))
    }

    @Test func `erasures are one for each record, as it was read first, and as many as fit`() {
        let intake = ArchiveIntake(maximumErasures: 3)
        func erase(_ account: String, _ stamp: Int64, at now: Int64 = 9, isNews: Bool = false) {
            let erasure = Erasure(Account(account), stamped: stamp, now: now, retentionMilliseconds: 1)
            intake.erase(erasure, isNews: isNews)
        }
        func moment(_ account: String, _ stamp: Int64, of contents: ArchiveIntake.Contents) -> Int64? {
            contents.erasures.entries[.init(account: Account(account), stamp: stamp)]?.moment
        }
        erase("A", 20, at: 5, isNews: true)
        erase("A", 20, at: 7)
        erase("A", 3)
        erase("B", 1)
        let taken = intake.take()
        #expect(taken.erasures.entries.count == 3 && !taken.hasLostErasures)
        #expect(moment("A", 20, of: taken) == 5 && moment("A", 3, of: taken) == 3 && moment("B", 1, of: taken) == 1)
        #expect(taken.erasures.entries[.init(account: Account("A"), stamp: 20)]?.isNews == true)
        // What was taken has made room.
        for account in ["A", "B", "A", "C"] { erase(account, 1) }
        #expect(!intake.take().hasLostErasures)
        for account in ["A", "B", "C", "D"] { erase(account, 1) }
        let full = intake.take()
        #expect(full.hasLostErasures && full.erasures.entries.count == 3)
        #expect(!intake.take().hasLostErasures)
    }

    @Test func `what is done is not pending, and another record of its account is`() {
        var pending = PendingErasures()
        #expect(pending.isEmpty && PendingErasures.maximum == ArchiveFeed.maximumErasures)
        let records = [Int64(5), 6].map { PendingErasures.Record(account: Account("A"), stamp: $0) }
        for record in records {
            let isTaken = pending.add(record, .init(moment: record.stamp, isNews: false))
            #expect(isTaken)
        }
        pending.remove(records[0])
        #expect(pending.first?.record == records[1])
        pending.remove(records[1])
        #expect(pending.isEmpty)
    }
}
