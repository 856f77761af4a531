// Tests: ArchiveReader+Inbox.swift, ArchiveWriter+Marks.swift, ArchiveWriter+Keeping.swift, ArchiveWriter+Erasing.swift, ArchiveWriter+Numbers.swift

import LiveUpdates
import TestHarness
import Testing

@testable import Archive

/// What every store does for people: inboxes, marks, and what goes.
struct ArchiveInboxTests {
    private static func event(_ thing: Int, _ offset: Int64, arrival: Int64 = .max) -> ArchivedEvent {
        .init(
            "A", thing % 2 == 0 ? "incident" : "note", "I\(thing)", "made", offset: offset, stamp: 1000 + offset,
            arrival: arrival)
    }

    private static func id(_ offset: Int64) -> ArchiveID {
        ArchiveID(stamp: 1000 + offset, topic: ArchiveID.hash(ofTopic: "t"), partition: 0, offset: offset, check: 0)
    }

    /// Things 0 to 4, one event each in turn: offsets 0 to 9.
    private static func withThings(
        _ kind: TestStore.Kind, _ body: (any ArchiveStore) async throws -> Void
    ) async throws {
        try await TestStore.withStore(kind) { store in
            _ = try await store.append(.of((0..<10).map { event($0 % 5, Int64($0)) }))
            try await body(store)
        }
    }

    @Test(arguments: TestStore.kinds) func `without a mark all is unread, and what changed last comes first`(
        kind: TestStore.Kind
    ) async throws {
        try await Self.withThings(kind) { store in
            let inbox = try await store.inbox(InboxQuery("A", "P"))
            #expect(inbox.texts == ["I4 2", "I3 2", "I2 2", "I1 2", "I0 2"] && inbox.unreadThings == 5 && !inbox.more)
            let notes = try await store.inbox(
                InboxQuery("A", "P") {
                    $0.entities = EntityFilter(["note"])
                    $0.limit = 1
                })
            #expect(notes.texts == ["I3 2"] && notes.unreadThings == 5 && notes.more)
            #expect(try await store.inbox(InboxQuery("A", "P") { $0.before = Self.id(7) }).texts == ["I1 2", "I0 2"])
            #expect(try await store.inbox(InboxQuery("B", "P")) == InboxPage())
            let positions = try await store.inbox(InboxQuery("A", "P") { $0.wantsPositions = true }).positions
            #expect(positions == [StoredPosition(topic: "t", partition: 0, next: 10)])
        }
    }

    @Test(arguments: TestStore.kinds) func `marks count for one person, and never go back`(kind: TestStore.Kind)
        async throws
    {
        try await Self.withThings(kind) { store in
            #expect(try await store.mark(ReadMark("A", "P", ("incident", "I2"), upTo: Self.id(2))) == .moved)
            #expect(try await store.mark(ReadMark("A", "P", ("incident", "I2"), upTo: Self.id(2))) == .unchanged)
            #expect(try await store.mark(ReadMark("A", "P", ("incident", "I2"), upTo: Self.id(1))) == .unchanged)
            var inbox = try await store.inbox(InboxQuery("A", "P"))
            #expect(inbox.texts == ["I4 2", "I3 2", "I2 1", "I1 2", "I0 2"] && inbox.unreadThings == 5)
            #expect(try await store.mark(ReadMark("A", "P", ("incident", "I2"), upTo: Self.id(7))) == .moved)
            #expect(try await store.mark(ReadMark("A", "P", nil, upTo: Self.id(4))) == .moved)
            #expect(try await store.mark(ReadMark("A", "P", nil, upTo: Self.id(3))) == .unchanged)
            #expect(try await store.mark(ReadMark("A", "P", ("note", "I1"), upTo: Self.id(4))) == .unchanged)
            inbox = try await store.inbox(InboxQuery("A", "P"))
            #expect(inbox.texts == ["I4 1", "I3 1", "I2 0", "I1 1", "I0 1"] && inbox.unreadThings == 4)
            inbox = try await store.inbox(
                InboxQuery("A", "P") {
                    $0.unreadOnly = true
                    $0.limit = 3
                })
            #expect(inbox.texts == ["I4 1", "I3 1", "I1 1"] && inbox.more)
            #expect(try await store.inbox(InboxQuery("A", "Q")).unreadThings == 5)
        }
    }

    /// What a mark comes to that has to be an event.
    private static func outcome(
        _ store: any ArchiveStore, _ account: String, of thing: (String, String)? = nil, stamp: Int64? = nil,
        topic: String = "t", partition: Int32 = 0, _ offset: Int64
    ) async throws -> MarkOutcome {
        let id = ArchiveID(
            stamp: stamp ?? 1000 + offset, topic: ArchiveID.hash(ofTopic: topic), partition: partition, offset: offset,
            check: 0)
        return try await store.mark(ReadMark(account, "P", thing, upTo: id, mustBeStored: true))
    }

    @Test(arguments: TestStore.kinds) func `a mark that has to be an event is one of its account, or nothing`(
        kind: TestStore.Kind
    ) async throws {
        try await Self.withThings(kind) { store in
            // Of whichever thing.
            #expect(try await Self.outcome(store, "A", of: ("incident", "I2"), 3) == .moved)
            #expect(try await Self.outcome(store, "A", 9) == .moved)
            #expect(try await Self.outcome(store, "B", 9) == .unknown)
            #expect(try await Self.outcome(store, "A", stamp: 1010, 9) == .unknown)
            #expect(try await Self.outcome(store, "A", topic: "u", 10) == .unknown)
            #expect(try await Self.outcome(store, "A", partition: 1, 10) == .unknown)
            #expect(try await Self.outcome(store, "A", 10) == .behind)
            let inbox = try await store.inbox(InboxQuery("A", "P"))
            #expect(inbox.unreadThings == 0)
        }
    }

    @Test(arguments: TestStore.kinds) func `a late event below the mark counts as read, and counts end at 999`(
        kind: TestStore.Kind
    ) async throws {
        try await TestStore.withStore(kind) { store in
            _ = try await store.append(.of((0..<1200).map { Self.event(0, Int64($0)) }))
            #expect(try await store.inbox(InboxQuery("A", "P")).texts == ["I0 999"])
            #expect(try await store.mark(ReadMark("A", "P", ("incident", "I0"), upTo: Self.id(200))) == .moved)
            #expect(try await store.inbox(InboxQuery("A", "P")).texts == ["I0 999"])
            #expect(try await store.mark(ReadMark("A", "P", ("incident", "I0"), upTo: Self.id(201))) == .moved)
            #expect(try await store.inbox(InboxQuery("A", "P")).texts == ["I0 998"])
            let late = ArchivedEvent("A", "incident", "I0", "late", offset: 1, stamp: 1100)
            _ = try await store.append(.of([late], partition: 1))
            #expect(try await store.inbox(InboxQuery("A", "P")).texts == ["I0 998"])
        }
    }

    @Test(arguments: TestStore.kinds)
    func `a mark that comes before its thing counts when that comes, and such marks are bounded`(kind: TestStore.Kind)
        async throws
    {
        try await TestStore.withStore(kind) { store in
            #expect(try await store.mark(ReadMark("A", "P", ("incident", "I0"), upTo: Self.id(0))) == .moved)
            #expect(try await store.mark(ReadMark("A", "P", ("incident", "I0"), upTo: Self.id(0))) == .unchanged)
            #expect(try await store.inbox(InboxQuery("A", "P")) == InboxPage())
            _ = try await store.append(.of([Self.event(0, 0), Self.event(0, 1)]))
            #expect(try await store.inbox(InboxQuery("A", "P")).texts == ["I0 1"])
            for number in 0..<ArchiveWriter.maximumWaitingMarks {
                let outcome = try await store.mark(ReadMark("A", "P", ("none", "N\(number)"), upTo: Self.id(5)))
                #expect(outcome == .moved)
            }
            #expect(try await store.mark(ReadMark("A", "P", ("none", "more"), upTo: Self.id(5))) == .tooMany)
            #expect(try await store.mark(ReadMark("A", "P", ("none", "N7"), upTo: Self.id(6))) == .moved)
            #expect(try await store.mark(ReadMark("B", "P", ("none", "more"), upTo: Self.id(5))) == .moved)
        }
    }

    @Test(arguments: TestStore.kinds) func `what is let go is hidden at once, and its rows go in steps`(
        kind: TestStore.Kind
    ) async throws {
        try await TestStore.withStore(kind) { store in
            let count = Int64(ArchiveWriter.rowsOfStep * 3)
            _ = try await store.append(.of((0..<count).map { Self.event(Int($0 % 7), $0) }))
            #expect(try await store.mark(ReadMark("A", "P", nil, upTo: Self.id(5))) == .moved)
            #expect(try await store.mark(ReadMark("A", "P", ("note", "I1"), upTo: Self.id(6))) == .moved)
            try await store.keep(from: 1000 + count - 10)
            try await store.keep(from: 1000)
            let first = try await store.page(PageQuery("A"))
            #expect(first.events.count == 10)
            #expect(try await store.inbox(InboxQuery("A", "P")).texts.sorted().first == "I0 1")
            #expect(try await store.sweep())
            try await TestStore.sweep(store)
            #expect(try await store.page(PageQuery("A")) == first)
            let tooOld = try await store.append(.of([Self.event(1, 3)], partition: 4))
            #expect(tooOld.tooOld == 1 && tooOld.stored == 0)
            try await store.keep(from: 2000 + count)
            try await TestStore.sweep(store)
            #expect(try await store.inbox(InboxQuery("A", "P")) == InboxPage())
        }
    }

    @Test(arguments: TestStore.kinds)
    func `the marks of a thing go with its last event, whether its rows have gone or not`(kind: TestStore.Kind)
        async throws
    {
        for isSwept in [false, true] {
            try await Self.withThings(kind) { store in
                let mark = ReadMark("A", "P", ("incident", "I0"), upTo: Self.id(500))
                #expect(try await store.mark(mark) == .moved)
                try await store.keep(from: 1100)
                if isSwept { try await TestStore.sweep(store) }
                _ = try await store.append(.of([Self.event(0, 200)], from: 10))
                #expect(try await store.inbox(InboxQuery("A", "P")).texts == ["I0 1"], "swept: \(isSwept)")
            }
        }
    }

    @Test(arguments: TestStore.kinds)
    func `a mark that waits for the next event of a thing that has gone outlasts that batch`(kind: TestStore.Kind)
        async throws
    {
        for isSwept in [false, true] {
            try await Self.withThings(kind) { store in
                try await store.keep(from: 1100)
                if isSwept { try await TestStore.sweep(store) }
                #expect(try await store.mark(ReadMark("A", "P", ("incident", "I0"), upTo: Self.id(200))) == .moved)
                _ = try await store.append(.of([Self.event(0, 200), Self.event(0, 201)], from: 10))
                #expect(try await store.inbox(InboxQuery("A", "P")).texts == ["I0 1"], "swept: \(isSwept)")
            }
        }
    }

    @Test(arguments: TestStore.kinds) func `an account is erased as far as it was stamped or came before the moment`(
        kind: TestStore.Kind
    ) async throws {
        try await Self.withThings(kind) { store in
            // Stamped for the future: one came before the moment, one after it.
            _ = try await store.append(
                .of([Self.event(0, 50, arrival: 1003), Self.event(2, 51, arrival: 1020)], from: 10))
            _ = try await store.append(.of([.init("B", "incident", "I0", "made", offset: 0, stamp: 1)], partition: 1))
            #expect(try await store.mark(ReadMark("A", "P", ("incident", "I4"), upTo: Self.id(9), now: 1003)) == .moved)
            #expect(try await store.mark(ReadMark("A", "P", ("note", "I3"), upTo: Self.id(8), now: 1020)) == .moved)
            let counts = try await store.erase(Account("A"), until: 1006)
            #expect(counts.events == 7 && counts.marks == 1)
            #expect(try await store.erase(Account("A"), until: 1006) == ErasureCounts())
            #expect(
                try await store.page(PageQuery("A")).texts == ["I2 made", "I4 made", "I3 made", "I2 made", "I1 made"])
            #expect(try await store.inbox(InboxQuery("A", "P")).texts == ["I2 2", "I4 1", "I3 0", "I1 1"])
            #expect(try await store.page(PageQuery("B")).events.count == 1)
            #expect(try await store.isToBeOverwritten())
            try await store.overwrite()
            #expect(try await !store.isToBeOverwritten())
            #expect(try await store.inbox(InboxQuery("A", "P")).texts == ["I2 2", "I4 1", "I3 0", "I1 1"])
            _ = try await store.erase(Account("A"), until: .max)
            try await store.overwrite()
            #expect(try await store.page(PageQuery("A")).events == [])
            #expect(try await store.inbox(InboxQuery("A", "P")) == InboxPage())
        }
    }

    @Test(arguments: TestStore.kinds)
    func `an erasure that every start repeats is done once, and again where there is something to delete`(
        kind: TestStore.Kind
    ) async throws {
        try await TestStore.withPlace(kind) { place in
            let store = try await place.open()
            let events = (0..<10).map {
                ArchivedEvent("A", "incident", "I\($0)", "made", offset: $0, stamp: 1000 + $0)
            }
            _ = try await store.append(.of(events))
            let account = Account("A")
            #expect(try await store.erase(account, until: 1005).events == 5)
            #expect(try await store.isToBeOverwritten())
            try await store.overwrite()
            await store.close()
            let again = try await place.open()
            #expect(try await again.erase(account, until: 1005) == ErasureCounts())
            #expect(try await !again.isToBeOverwritten())
            // Another account, another moment, something that came since: each is work.
            #expect(try await again.erase(Account("NOBODY"), until: 1005) == ErasureCounts())
            #expect(try await again.isToBeOverwritten())
            try await again.overwrite()
            _ = try await again.append(.of([.init("A", "note", "N", "made", offset: 10, stamp: 1002)], from: 10))
            #expect(try await again.erase(account, until: 1005).events == 1)
            #expect(try await again.isToBeOverwritten())
            try await again.overwrite()
            #expect(try await again.erase(account, until: .max).events == 5)
            #expect(try await again.isToBeOverwritten())
            await again.close()
        }
    }

    @Test(arguments: TestStore.kinds) func `an erasure is remembered for as long as events are kept`(
        kind: TestStore.Kind
    ) async throws {
        try await TestStore.withStore(kind) { store in
            for moment: Int64 in [1005, 2000] {
                _ = try await store.erase(Account("A\(moment)"), until: moment)
            }
            try await store.overwrite()
            try await store.keep(from: 1500)
            try await TestStore.sweep(store)
            _ = try await store.erase(Account("A2000"), until: 2000)
            #expect(try await !store.isToBeOverwritten())
            _ = try await store.erase(Account("A1005"), until: 1005)
            #expect(try await store.isToBeOverwritten())
        }
    }

    @Test(arguments: TestStore.kinds) func `an erasure stamped ahead counts up to its first reading, at each start`(
        kind: TestStore.Kind
    ) async throws {
        let account = Account("A")
        try await TestStore.withPlace(kind) { place in
            let store = try await place.open()
            // One that is not ahead counts up to its stamp, whenever it is read.
            #expect(try await store.erasureEnd(account, stamped: 900, readAt: 900) == 900)
            #expect(try await store.erasureEnd(account, stamped: 2_000, readAt: 1_005) == 1_005)
            await store.close()
            let again = try await place.open()
            let events = (0..<10).map {
                ArchivedEvent("A", "incident", "I\($0)", "made", offset: $0, stamp: 1_000 + $0)
            }
            _ = try await again.append(.of(events))
            // Read again while it is still ahead, and when it is not any more.
            for moment: Int64 in [1_050, 2_000] {
                #expect(try await again.erasureEnd(account, stamped: 2_000, readAt: moment) == 1_005)
            }
            // Another record of the account, and one of another account with the same stamp.
            #expect(try await again.erasureEnd(account, stamped: 2_001, readAt: 1_060) == 1_060)
            #expect(try await again.erasureEnd(Account("B"), stamped: 2_000, readAt: 1_070) == 1_070)
            #expect(try await again.erase(account, until: 1_005).events == 5)
            // As long as the record may erase something that is kept.
            try await again.keep(from: 2_000)
            try await TestStore.sweep(again)
            #expect(try await again.erasureEnd(account, stamped: 2_000, readAt: 2_000) == 1_005)
            try await again.keep(from: 2_001)
            try await TestStore.sweep(again)
            #expect(try await again.erasureEnd(account, stamped: 2_000, readAt: 2_000) == 2_000)
            await again.close()
        }
    }
}
