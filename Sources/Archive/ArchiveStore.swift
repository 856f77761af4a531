import KafkaLogs
import LiveUpdates

/// Why an archive does not do what it was asked to do.
package enum ArchiveError: Error, Equatable, Sendable {
    /// The disk is full; what is stored can be read.
    case full
    /// The file may not be written; what is there can be read.
    case readOnly
    /// What is stored is damaged, and why: it is set aside and written again.
    case corrupt(String)
    /// A file that is no archive, and is left alone.
    case notAnArchive(String)
    /// A newer version has made it.
    case otherSchema(found: Int64, wanted: Int64)
    /// It holds the events of another Kafka cluster.
    case otherServer(found: String, wanted: String)
    /// The server runs statements of one connection in several sessions: nothing that a session holds would count.
    case pooled
    /// Too many calls wait for it already.
    case overloaded(maximumWaiting: Int)
    /// Deleted bytes are still in the file, because somebody reads it at this moment: repeat the call.
    case stillRead
    /// It was closed.
    case closed
    /// Any other error of the database: a retry may succeed.
    case unavailable(String)
}

/// Stores the past. All calls may wait for a disk or another machine, so none of them is made on an event loop.
///
/// ``keep(from:)`` only hides events at once; ``sweep()`` deletes their rows.
package protocol ArchiveStore: AnyObject, Sendable {
    /// Stores events and how far their partitions were read, all of it or nothing. What was stored before is skipped.
    func append(_ batch: ArchiveBatch) async throws(ArchiveError) -> AppendOutcome
    /// How far each partition is stored.
    func positions() async throws(ArchiveError) -> [StoredPosition]
    /// Names the partitions that this node reads. Returns those that it alone writes from now on, each with its next offset.
    /// This holds until a later call without them, or until the store is closed. Call it again and again: where many nodes
    /// write, another one may have left some.
    func claim(_ partitions: [ArchivePartition]) async throws(ArchiveError) -> [ClaimedPartition]

    /// Events of one account, in their order.
    func page(_ query: PageQuery) async throws(ArchiveError) -> EventPage
    /// The things of one account, with what one person has not read.
    func inbox(_ query: InboxQuery) async throws(ArchiveError) -> InboxPage
    /// Stores how far a person has read.
    func mark(_ mark: ReadMark) async throws(ArchiveError) -> MarkOutcome

    /// The store's time, and the stamp from which events are kept.
    func clock() async throws(ArchiveError) -> StoreClock
    /// No longer keeps what is stamped before a moment, which never goes back.
    func keep(from stamp: Int64) async throws(ArchiveError)
    /// Deletes some of what is no longer kept. False: nothing is left to delete.
    func sweep() async throws(ArchiveError) -> Bool
    /// The moment up to which a record erases: its stamp, or the moment at which it was read, where it is stamped ahead. A
    /// record that was ahead when it was first read keeps that moment, whichever node reads it again. So it never covers what
    /// arrived since.
    func erasureEnd(_ account: Account, stamped stamp: Int64, readAt moment: Int64) async throws(ArchiveError) -> Int64
    /// Deletes what is stamped or arrived before a moment, and marks of before it.
    func erase(_ account: Account, until moment: Int64) async throws(ArchiveError) -> ErasureCounts
    /// Overwrites what was erased, so that no byte of it is left.
    ///
    /// - Throws: ``ArchiveError/stillRead`` when somebody reads the file; then call it again.
    func overwrite() async throws(ArchiveError)
    /// Whether something was erased and not overwritten, by this process or by one before it.
    func isToBeOverwritten() async throws(ArchiveError) -> Bool

    /// Its approximate size: for metrics, and cheap at any size.
    func size() async throws(ArchiveError) -> ArchiveSize

    func close() async
}

package struct ArchivePartition: Hashable, Sendable {
    package let topic: String
    package let number: Int32

    package init(topic: String, number: Int32) {
        self.topic = topic
        self.number = number
    }
}

package struct ClaimedPartition: Equatable, Sendable {
    package let partition: ArchivePartition
    /// The next offset to be stored; nil where nothing of it was.
    package let next: Int64?
    /// Of the last record before it; nil where that is not known.
    package let stamp: Int64?
    /// Which log it is; nil where a version that did not note it has stored the position.
    package let log: StoredLog?

    package init(_ partition: ArchivePartition, next: Int64?, stamp: Int64? = nil, log: StoredLog? = nil) {
        self.partition = partition
        self.next = next
        self.stamp = stamp
        self.log = log
    }
}

package struct ArchiveSize: Equatable, Sendable {
    /// Events.
    package let rows: Int64
    /// On the disk, with everything that belongs to them.
    package let bytes: Int64

    package init(rows: Int64, bytes: Int64) {
        self.rows = rows
        self.bytes = bytes
    }
}

/// An event that is to be stored.
package struct ArchivedEvent: Sendable {
    package let account: Account
    package let event: ThinEvent
    package let offset: Int64
    /// The record's, in ms; −1 where it has none.
    package let stamp: Int64
    /// The earliest moment, in ms, at which it arrived: the node's clock, where the record was read live.
    package let arrival: Int64

    package init(account: Account, event: ThinEvent, offset: Int64, stamp: Int64, arrival: Int64) {
        self.account = account
        self.event = event
        self.offset = offset
        self.stamp = stamp
        self.arrival = arrival
    }
}

/// What was read of some partitions.
package struct ArchiveBatch: Sendable {
    /// A run of records of one partition, and the events that were in them.
    package struct Run: Sendable {
        package let topic: String
        package let partition: Int32
        /// The first offset that Kafka still had when it was read. If it is behind what is stored, something was lost.
        package let from: Int64
        /// The next offset to read.
        package let next: Int64
        /// Of the first and the last record, events or not; nil where there was none.
        package let stamps: Stamps?
        package let continuation: Continuation
        /// Which log it is; nil: unknown.
        package let log: StoredLog?
        package let events: [ArchivedEvent]

        package init(
            topic: String, partition: Int32, from: Int64, next: Int64, stamps: Stamps?,
            continuation: Continuation = .same, log: StoredLog? = nil, events: [ArchivedEvent]
        ) {
            precondition(from >= 0 && next >= from && partition >= 0, "a run goes forward")
            self.topic = topic
            self.partition = partition
            self.from = from
            self.next = next
            self.stamps = stamps
            self.continuation = continuation
            self.log = log
            self.events = events
        }
    }

    /// How a run continues what is stored of its partition.
    package enum Continuation: Equatable, Sendable {
        case same
        /// The log is another one: the topic was recreated. The stamp is of the last record that is certainly of the old log;
        /// nil: of the last one that is stored.
        case otherLog(since: Int64?)
        /// The log was cut back, and goes on where the run begins. The lost records followed one with this stamp. Nil: no
        /// record is known to be lost, and the run is only read once more.
        case cutBack(since: Int64?)
        /// Some of it may be stored: it follows a run that was cut back.
        case repeated
    }

    /// Stamps in the order of the log, which need not be the order of time.
    package struct Stamps: Equatable, Sendable {
        package let first: Int64
        package let last: Int64
        /// The offset of the last one's record; nil where that was not noted.
        package let lastOffset: Int64?

        package init(first: Int64, last: Int64, lastOffset: Int64? = nil) {
            self.first = first
            self.last = last
            self.lastOffset = lastOffset
        }

        /// The stamps of both, one after the other.
        static func joined(_ earlier: Stamps?, _ later: Stamps?) -> Stamps? {
            guard let earlier, let later else { return earlier ?? later }
            return Stamps(first: earlier.first, last: later.last, lastOffset: later.lastOffset)
        }
    }

    package let runs: [Run]

    package init(runs: [Run]) { self.runs = runs }
}

extension ArchiveBatch.Run {
    /// The changes that storing it makes.
    struct Step: Equatable {
        /// The first offset to be stored; nil: all of it is.
        var start: Int64?
        /// A gap begins behind this stamp, unless one is open.
        var gapSince: Int64?
        /// One that is open ends with this stamp.
        var gapUntil: Int64?
        /// The position stays, with what is noted of its log.
        var keepsPosition = false
    }

    /// - Parameters:
    ///   - stored: how far the partition is stored.
    ///   - stamp: of the last record before.
    func step(next stored: Int64, stamp: Int64) -> Step {
        switch continuation {
        case .otherLog(let since): Step(start: from, gapSince: min(since ?? stamp, stamp), gapUntil: stamps?.first)
        // The records are read once more and none is known to be lost: what is stored counts until that is over. If Kafka's log
        // now starts behind all that is stored, the records in between are lost.
        case .cutBack(nil):
            Step(
                start: from, gapSince: from > stored ? stamp : nil, gapUntil: from > stored ? stamps?.first : nil,
                keepsPosition: next < stored)
        // What follows was in the log before the loss, or may have been.
        case .cutBack(let since): Step(start: from, gapSince: since)
        case .same where next > stored:
            Step(start: max(from, stored), gapSince: from > stored ? stamp : nil, gapUntil: stamps?.first)
        case .repeated where next > stored: Step(start: max(from, stored), gapSince: from > stored ? stamp : nil)
        // Its log may be known better than before.
        case .same, .repeated: Step(start: next == stored && log != nil ? stored : nil)
        }
    }
}

package struct AppendOutcome: Equatable, Sendable {
    package var stored = 0
    /// Stored before.
    package var repeated = 0
    /// Stamped before what is kept.
    package var tooOld = 0
    /// Gaps that were found.
    package var gaps = 0

    package init() {}
}

package struct StoreClock: Equatable, Sendable {
    /// The store's own clock, since 1970, in ms; nil where it has none.
    package let now: Int64?
    /// Nothing that is stamped before is kept; −1: everything is kept.
    package let horizon: Int64

    package init(now: Int64?, horizon: Int64) {
        self.now = now
        self.horizon = horizon
    }
}

package struct ErasureCounts: Equatable, Sendable {
    package var events = 0
    package var marks = 0

    package init() {}
}

/// Up to when an archive no longer keeps events. The operator can show it, and set it back where a wrong clock has moved it.
///
/// Hidden events that are not deleted yet are visible again. Deleted ones are not, nor those that were too old by the wrong
/// horizon. Since these are unknown, the time between the two horizons is a gap, as long as events are kept.
package struct ArchiveHorizon: Equatable, Sendable {
    /// Nothing that is stamped before was kept, in ms since 1970; −1: everything was kept.
    package let before: Int64
    /// The horizon from now on.
    package let after: Int64

    /// - Parameters:
    ///   - stamp: the new horizon; nil: it is only read. A stamp that is not before the horizon changes nothing.
    ///   - now: since 1970, in ms.
    /// - Returns: the horizon, and until when the gap lasts where it is set back.
    static func change(_ horizon: Int64, to stamp: Int64?, now: Int64) -> (ArchiveHorizon, gapEnd: Int64?) {
        guard let stamp, stamp < horizon else { return (ArchiveHorizon(before: horizon, after: horizon), nil) }
        return (ArchiveHorizon(before: horizon, after: stamp), min(horizon, max(now, stamp)))
    }
}
