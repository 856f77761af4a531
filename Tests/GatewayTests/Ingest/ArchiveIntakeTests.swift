// Tests: ArchiveIntake.swift

import Archive
import KafkaLogs
import LiveUpdates
import Testing

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
        #expect(missed.buffers.isEmpty && missed.missed[Self.partition]?.next == 1)
        // What follows is dropped too, although it would fit, and what was taken has made room.
        let both = ArchiveIntake(maximumBytes: 2 * bytes - 1)
        for buffer in buffers { both.post(buffer) }
        let taken = both.take()
        #expect(taken.buffers.count == 1 && taken.missed[Self.partition]?.next == 3)
        both.post(buffers[0])
        #expect(both.take().buffers.count == 1)
    }

    @Test func `erasures are one for each account, the latest, and as many as fit`() {
        let intake = ArchiveIntake(maximumErasures: 2)
        func erase(_ account: String, _ moment: Int64, isNews: Bool = false) {
            intake.erase(Erasure(account: Account(account), moment: moment, end: .max), isNews: isNews)
        }
        erase("A", 5, isNews: true)
        erase("A", 3)
        erase("B", 1)
        let taken = intake.take()
        #expect(taken.erasures.entries.mapValues(\.moment) == [Account("A"): 5, Account("B"): 1])
        #expect(taken.erasures.entries[Account("A")]?.isNews == true && !taken.hasLostErasures)
        // What was taken has made room.
        for account in ["A", "B", "A"] { erase(account, 1) }
        #expect(!intake.take().hasLostErasures)
        for account in ["A", "B", "C"] { erase(account, 1) }
        let full = intake.take()
        #expect(full.hasLostErasures && full.erasures.entries.count == 2)
        #expect(!intake.take().hasLostErasures)
    }

    @Test func `what is done is not pending, and a later moment is`() {
        var pending = PendingErasures()
        #expect(pending.isEmpty && PendingErasures.maximum == ArchiveFeed.maximumErasures)
        let isTaken = pending.add(Account("A"), .init(moment: 5, isNews: false))
        #expect(isTaken)
        pending.remove(Account("A"), until: 4)
        #expect(pending.first?.entry.moment == 5)
        pending.remove(Account("A"), until: 5)
        #expect(pending.isEmpty)
    }
}
