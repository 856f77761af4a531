// Tests: ArchivePages.swift, ArchiveStore.swift, ArchiveReader.swift, ArchiveWriter.swift

import LiveUpdates
import TestHarness
import Testing

@testable import Archive

/// What every store does with events, asked through its interface.
struct ArchivePageTests {
    @Test(arguments: TestStore.kinds) func `an event that was stored is on the page of its account alone`(
        kind: TestStore.Kind
    ) async throws {
        try await TestStore.withStore(kind) { store in
            let outcome = try await store.append(.of([.init("A", "incident", "I1", "created", offset: 3, stamp: 1000)]))
            #expect(outcome.stored == 1 && outcome.gaps == 0)
            let page = try await store.page(PageQuery("A"))
            let event = ThinEvent(entity: "incident", id: "I1", type: "created")
            #expect(page.events.map(\.event) == [event] && !page.more)
            let id = ArchiveID(
                stamp: 1000, topic: ArchiveID.hash(ofTopic: "t"), partition: 0, offset: 3,
                check: ArchiveID.hash(of: event, account: Account("A")))
            #expect(page.events.map(\.id) == [id] && page.positions == [] && page.gaps == [])
            #expect(try await store.page(PageQuery("B")).events == [])
            // Names that only seem to be the same.
            #expect(try await store.page(PageQuery("a")).events == [])
            #expect(try await store.positions() == [StoredPosition(topic: "t", partition: 0, next: 4)])
        }
    }

    /// I0 to I9, stamps 1000 to 1009; incidents and, every third, notes.
    static func ten(_ store: any ArchiveStore) async throws -> [ArchiveID] {
        let events = (0..<10).map { number in
            ArchivedEvent(
                "A", number % 3 == 2 ? "note" : "incident", "I\(number)", "made", offset: Int64(number),
                stamp: 1000 + Int64(number))
        }
        // In another order than that of their stamps.
        _ = try await store.append(.of(events.filter { $0.offset % 2 == 0 }, next: 20))
        let late = events.filter { $0.offset % 2 == 1 }
        _ = try await store.append(.of(late, partition: 1))
        var ids: [ArchiveID] = []
        for event in events {
            var query = PageQuery("A")
            query.from = event.stamp
            query.to = event.stamp + 1
            let page = try await store.page(query)
            ids += page.events.map(\.id)
        }
        return ids
    }

    private struct Row {
        let numbers: [Int]
        let more: Bool
        let query: PageQuery

        init(_ numbers: [Int], more: Bool, _ change: (inout PageQuery) -> Void) {
            self.numbers = numbers
            self.more = more
            query = PageQuery("A", change)
        }
    }

    @Test(arguments: TestStore.kinds) func `pages have what lies between their bounds, in both orders`(
        kind: TestStore.Kind
    ) async throws {
        try await TestStore.withStore(kind) { store in
            let ids = try await Self.ten(store)
            #expect(ids.count == 10 && ids == ids.sorted())
            let rows: [Row] = [
                Row([9, 8, 7], more: true) { $0.limit = 3 },
                Row([9, 8, 7, 6, 5, 4, 3, 2, 1, 0], more: false) { $0.limit = 10 },
                Row([9, 8, 7, 6, 5, 4, 3, 2, 1], more: true) { $0.limit = 9 },
                Row([0, 1, 2], more: true) {
                    $0.limit = 3
                    $0.isOldestFirst = true
                },
                Row([2, 1, 0], more: false) { $0.before = ids[3] },
                Row([8, 9], more: false) {
                    $0.after = ids[7]
                    $0.isOldestFirst = true
                },
                Row([5, 4], more: false) {
                    $0.after = ids[3]
                    $0.before = ids[6]
                },
                Row([], more: false) {
                    $0.after = ids[6]
                    $0.before = ids[3]
                },
                Row([9, 8, 7], more: false) { $0.from = 1007 },
                Row([1, 0], more: false) { $0.to = 1002 },
                Row([4, 3], more: false) {
                    $0.from = 1003
                    $0.to = 1005
                },
                // The narrower counts.
                Row([9, 8], more: false) {
                    $0.from = 1007
                    $0.after = ids[7]
                },
                Row([9], more: false) {
                    $0.from = 1009
                    $0.after = ids[7]
                },
                Row([0], more: false) {
                    $0.to = 1002
                    $0.before = ids[1]
                },
                Row([8, 5, 2], more: false) { $0.entities = EntityFilter(["note"]) },
                Row([8, 5], more: true) {
                    $0.entities = EntityFilter(["note"])
                    $0.limit = 2
                },
                Row([9, 8, 7, 6], more: true) {
                    $0.entities = EntityFilter(["incident", "note", "none"])
                    $0.limit = 4
                },
                Row([5], more: false) {
                    $0.entities = EntityFilter(["note"])
                    $0.thing = "I5"
                },
                Row([], more: false) {
                    $0.entities = EntityFilter(["incident"])
                    $0.thing = "I5"
                },
                Row([9], more: true) { $0.limit = 0 },
            ]
            try await Self.expect(rows, of: store)
        }
    }

    private static func expect(_ rows: [Row], of store: any ArchiveStore) async throws {
        for (index, row) in rows.enumerated() {
            let page = try await store.page(row.query)
            #expect(page.events.map { String($0.event.id.dropFirst()) } == row.numbers.map(String.init), "\(index)")
            #expect(page.more == row.more, "\(index)")
        }
    }

    @Test(arguments: TestStore.kinds) func `an id that is not there any more is a place all the same`(
        kind: TestStore.Kind
    ) async throws {
        try await TestStore.withStore(kind) { store in
            let ids = try await Self.ten(store)
            var query = PageQuery("A")
            query.before = ArchiveID(stamp: 1004, topic: .max, partition: 9, offset: 9, check: 0)
            #expect(try await store.page(query).events.first?.id == ids[4])
            try await store.keep(from: 1005)
            query = PageQuery("A")
            query.after = ids[2]
            query.isOldestFirst = true
            query.limit = 1
            #expect(try await store.page(query).events.first?.id == ids[5])
        }
    }

    @Test(arguments: TestStore.kinds) func `what was stored is passed over, and a position never goes back`(
        kind: TestStore.Kind
    ) async throws {
        try await TestStore.withStore(kind) { store in
            let events = (0..<4).map {
                ArchivedEvent("A", "incident", "I\($0)", "made", offset: Int64($0), stamp: 1000 + Int64($0))
            }
            _ = try await store.append(.of(Array(events[..<3])))
            let again = try await store.append(.of(events))
            #expect(again.stored == 1 && again.repeated == 3 && again.gaps == 0)
            let older = try await store.append(.of(Array(events[..<2])))
            #expect(older.stored == 0 && older.repeated == 2)
            #expect(try await store.positions().map(\.next) == [4])
            #expect(try await store.page(PageQuery("A")).events.count == 4)
            // Records without an event count too.
            _ = try await store.append(.of([], from: 4, next: 9))
            #expect(try await store.positions().map(\.next) == [9])
        }
    }

    @Test(arguments: TestStore.kinds) func `what Kafka no longer had is a gap on every page that reaches over it`(
        kind: TestStore.Kind
    ) async throws {
        try await TestStore.withStore(kind) { store in
            func event(_ offset: Int64, _ stamp: Int64) -> ArchivedEvent {
                .init("A", "incident", "I", "made", offset: offset, stamp: stamp)
            }
            #expect(try await store.append(.of([event(5, 1000), event(6, 1010)], from: 5)).gaps == 0)
            // Nothing has come since: the gap is open.
            #expect(try await store.append(.of([], from: 9, next: 9)).gaps == 1)
            #expect(try await store.page(PageQuery("A")).gaps == [ArchiveGap(from: 1010, to: nil)])
            _ = try await store.append(.of([event(9, 1020), event(10, 1030)], from: 9))
            let gap = ArchiveGap(from: 1010, to: 1020)
            #expect(try await store.page(PageQuery("A")).gaps == [gap])
            #expect(try await store.page(PageQuery("B")).gaps == [gap])
            #expect(try await store.page(PageQuery("A") { $0.from = 1021 }).gaps == [])
            #expect(try await store.page(PageQuery("A") { $0.to = 1010 }).gaps == [])
            #expect(try await store.page(PageQuery("A") { $0.limit = 1 }).gaps == [])
            #expect(
                try await store.page(
                    PageQuery("A") {
                        $0.limit = 1
                        $0.isOldestFirst = true
                    }
                ).gaps == [])
            #expect(try await store.page(PageQuery("A") { $0.limit = 2 }).gaps == [gap])
            // Another log is one as well: nobody knows how the old one went on.
            #expect(try await store.append(.of([event(0, 1040)], continuation: .otherLog(since: nil))).gaps == 1)
            #expect(try await store.page(PageQuery("A")).gaps == [gap, ArchiveGap(from: 1030, to: 1040)])
            try await store.keep(from: 1025)
            #expect(try await store.page(PageQuery("A")).gaps == [ArchiveGap(from: 1030, to: 1040)])
        }
    }

    @Test(arguments: TestStore.kinds) func `stamps of the whole range are on pages, in inboxes, and read`(
        kind: TestStore.Kind
    ) async throws {
        try await TestStore.withStore(kind) { store in
            let stamps = ArchiveIDTests.stamps
            let events = stamps.enumerated().map { number, stamp in
                ArchivedEvent("A", "incident", "I\(number)", "made", offset: Int64(number), stamp: stamp)
            }
            // In another order than that of their stamps.
            _ = try await store.append(.of(events.filter { $0.offset % 2 == 1 }, partition: 1, next: 99))
            _ = try await store.append(.of(events.filter { $0.offset % 2 == 0 }))
            var walked: [ArchiveID] = []
            while true {
                let page = try await store.page(
                    PageQuery("A") {
                        $0.limit = 1
                        $0.before = walked.last
                    })
                walked += page.events.map(\.id)
                guard page.more else { break }
            }
            #expect(walked.map(\.stamp) == stamps.reversed())
            for (number, id) in walked.reversed().enumerated() {
                let page = try await store.page(
                    PageQuery("A") {
                        $0.isOldestFirst = true
                        $0.from = id.stamp
                        $0.after = walked.last { $0 < id }
                        $0.limit = 1
                    })
                #expect(page.events.map(\.id) == [id])
                let older = try await store.page(PageQuery("A") { $0.to = id.stamp })
                #expect(older.events.count == number)
            }
            let all = try await store.inbox(InboxQuery("A", "P"))
            #expect(all.things.map(\.last.id) == walked && all.unreadThings == stamps.count)
            for (number, id) in walked.enumerated() {
                #expect(
                    try await store.mark(ReadMark("A", "P", ("incident", "I\(stamps.count - 1 - number)"), upTo: id))
                        == .moved)
                #expect(try await store.inbox(InboxQuery("A", "P")).unreadThings == stamps.count - 1 - number)
            }
            #expect(try await store.mark(ReadMark("A", "Q", nil, upTo: walked[0])) == .moved)
            #expect(try await store.inbox(InboxQuery("A", "Q")).unreadThings == 0)
            try await store.keep(from: 1_795_240_000_000)
            try await TestStore.sweep(store)
            #expect(
                try await store.page(PageQuery("A")).events.map(\.id.stamp)
                    == stamps.filter { $0 >= 1_795_240_000_000 }.reversed())
            #expect(
                try await store.erase(Account("A"), until: .max).events
                    == stamps.count { (1_795_240_000_000 ..< .max).contains($0) })
        }
    }

    @Test func `gaps that overlap are one`() {
        func gap(_ from: Int64, _ to: Int64?) -> ArchiveGap { ArchiveGap(from: from, to: to) }
        #expect(ArchiveGap.merged([]) == [])
        #expect(ArchiveGap.merged([gap(1, 2), gap(3, 4)]) == [gap(1, 2), gap(3, 4)])
        #expect(ArchiveGap.merged([gap(3, 4), gap(1, 3)]) == [gap(1, 4)])
        #expect(ArchiveGap.merged([gap(1, 9), gap(3, 4)]) == [gap(1, 9)])
        #expect(ArchiveGap.merged([gap(3, 4), gap(1, nil)]) == [gap(1, nil)])
        #expect(ArchiveGap.merged([gap(1, 3), gap(2, nil), gap(9, 10)]) == [gap(1, nil)])
    }
}
