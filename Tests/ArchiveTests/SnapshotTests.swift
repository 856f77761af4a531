// Tests: ArchiveReader+Inbox.swift, PostgreSQLReader.swift

import KafkaLogs
import LiveUpdates
import TestHarness
import Testing

@testable import Archive

/// What a page and the live events after its cursor come to, while both store and node are written.
struct SnapshotTests {
    /// A node, and a store that it writes, which may be behind it and which others may have written further.
    private final class Bench {
        static let account = Account("A")
        static let partitions: Int32 = 3

        let history: History
        let store: any ArchiveStore
        /// By partition.
        var log: [[ArchivedEvent?]] = Array(repeating: [], count: Int(partitions))
        var read: [Int] = Array(repeating: 0, count: Int(partitions))
        var stored: [Int] = Array(repeating: 0, count: Int(partitions))
        var now: Int64 = 1_795_240_000_000
        var random: SeededGenerator

        init(_ store: any ArchiveStore, seed: UInt64) {
            self.store = store
            random = SeededGenerator(seed: seed)
            history = History(
                epoch: Epoch(number: 7),
                limits: HistoryLimits(
                    retentionMilliseconds: 60_000, maximumEventsPerAccount: 40, maximumLogBytes: 64 << 20,
                    maximumTimestampDelayMilliseconds: 1_000))
            for number in 0..<Self.partitions {
                history.apply(name(number), LogFacts(start: 0, liveFrom: 0, born: now, known: now, next: 0))
            }
        }

        func name(_ number: Int32) -> PartitionName { PartitionName(topic: 0, number: number) }

        /// Records come, one in three without an event of the account.
        func produce() {
            for _ in 0..<random.below(6) {
                let number = random.below(Int(Self.partitions))
                now += Int64(random.below(3))
                let isOther = random.below(3) == 0
                log[number].append(
                    ArchivedEvent(
                        isOther ? "B" : "A", "incident", "I\(random.below(4))", "made",
                        offset: Int64(log[number].count), stamp: now))
            }
        }

        /// The node reads some of what has come.
        func readSome() {
            history.beginWake()
            for number in read.indices {
                let end = read[number] + random.below(log[number].count - read[number] + 1)
                for case let event? in log[number][read[number]..<end] {
                    history.append(
                        event.event, account: event.account, partition: name(Int32(number)), offset: event.offset,
                        timestamp: event.stamp, now: now)
                }
                read[number] = end
                history.apply(
                    name(Int32(number)),
                    LogFacts(
                        start: 0, liveFrom: 0, born: 1_795_240_000_000, known: now, next: Int64(end),
                        end: Int64(log[number].count), endAsked: 1, endMoment: now))
            }
            history.beginWake()
        }

        /// This node, or another one that has read further, writes.
        func storeSome() async throws {
            for number in stored.indices {
                let end = stored[number] + random.below(log[number].count - stored[number] + 1)
                let events = log[number][stored[number]..<end].compactMap(\.self)
                guard let first = events.first, let last = events.last else { continue }
                let run = ArchiveBatch.Run(
                    topic: "t", partition: Int32(number), from: first.offset, next: last.offset + 1,
                    stamps: .init(first: first.stamp, last: last.stamp), log: StoredLog(known: KnownLog(known: now)),
                    events: events)
                _ = try await store.append(ArchiveBatch(runs: [run]))
                stored[number] = end
            }
        }

        /// Everything after a snapshot's cursor: events by thing. Nil where the node waits, or the cursor is refused.
        func after(_ positions: [StoredPosition]) -> [LoggedEvent]? {
            let made = history.snapshotCursor(
                account: Self.account,
                positions: positions.map {
                    PartitionPosition(partition: name($0.partition), next: $0.next, log: $0.log)
                }, now: now)
            switch made {
            case .behind(let floor):
                #expect(floor.offset > read[Int(floor.partition.number)])
                return nil
            case .refused(let why):
                #expect(why == .expired && behindCount > 40)
                return nil
            case .cursor(let text):
                return events(after: text)
            }
        }

        /// Events of the account that the node has read and the store has not.
        private var behindCount: Int {
            log.indices.reduce(0) { count, number in
                count + log[number].indices.count { $0 >= stored[number] && $0 < read[number] }
            }
        }

        private func events(after text: CursorText) -> [LoggedEvent]? {
            let resumption = history.resume(text.bytes, account: Self.account, now: now)
            guard case .accepted(let position, let floors) = resumption,
                case .page(let events, _, true) = history.read(
                    account: Self.account, from: position, limit: 500, entities: nil, now: now, withCursors: false)
            else {
                Issue.record("a cursor that was made is not served: \(resumption)")
                return nil
            }
            #expect(floors.isEmpty)
            return events
        }

        /// What the node has read of the account, by thing.
        var truth: [String: Int] {
            var counts: [String: Int] = [:]
            for number in log.indices {
                for case let event? in log[number].prefix(read[number]) where event.account == Self.account {
                    counts[event.event.id, default: 0] += 1
                }
            }
            return counts
        }
    }

    @Test(arguments: TestStore.kinds, [1, 2, 3] as [UInt64])
    func `an inbox and the events after its cursor count each event once`(kind: TestStore.Kind, seed: UInt64)
        async throws
    {
        try await TestStore.withStore(kind) { store in
            let bench = Bench(store, seed: seed)
            var served = 0
            for _ in 0..<60 {
                bench.produce()
                if bench.random.below(2) == 0 { bench.readSome() }
                if bench.random.below(3) == 0 { try await bench.storeSome() }
                let inbox = try await store.inbox(InboxQuery("A", "P") { $0.wantsPositions = true })
                guard let events = bench.after(inbox.positions) else { continue }
                served += 1
                var counts: [String: Int] = [:]
                for thing in inbox.things { counts[thing.last.event.id] = thing.unread }
                for event in events { counts[event.event.id, default: 0] += 1 }
                #expect(counts == bench.truth)

                let page = try await store.page(
                    PageQuery("A") { ($0.wantsPositions, $0.limit) = (true, PageQuery.maximumLimit) })
                #expect(page.positions == inbox.positions)
                #expect(page.events.count + events.count == bench.truth.values.reduce(0, +))
            }
            #expect(served > 10)
        }
    }
}
