// Tests: ArchiveStore.swift, ArchiveWriter+Keeping.swift, PostgreSQLWriter+Keeping.swift

import LiveUpdates
import SQLite
import TestHarness
import Testing

@testable import Archive

/// A wrong clock has moved the horizon, and the operator sets it back.
struct ArchiveHorizonTests {
    private static func change(
        _ place: TestStore.Place, to stamp: Int64? = nil, now: Int64 = 5_000
    ) throws(ArchiveError) -> ArchiveHorizon {
        switch place {
        case .file(let path): try .ofFile(path, setBackTo: stamp, now: now)
        case .database(let uri):
            try .ofDatabase(
                .init(uri: uri, server: "", milliseconds: TestStore.patientMilliseconds), setBackTo: stamp)
        }
    }

    private static func error(_ body: () throws -> Void) -> ArchiveError? {
        do {
            try body()
            return nil
        } catch {
            return error as? ArchiveError
        }
    }

    @Test(arguments: TestStore.kinds) func `what is not deleted yet is there again, and the rest is a gap`(
        kind: TestStore.Kind
    ) async throws {
        try await TestStore.withPlace(kind) { place in
            let store = try await place.open()
            let events = (0..<10).map {
                ArchivedEvent("A", "incident", "I\($0)", "made", offset: $0, stamp: 1_000 + $0)
            }
            _ = try await store.append(.of(events))
            await store.close()
            #expect(try Self.change(place) == ArchiveHorizon(before: -1, after: -1))
            // Nothing was let go, so there is nothing to be set back.
            #expect(try Self.change(place, to: 0) == ArchiveHorizon(before: -1, after: -1))
            let ahead = try await place.open()
            try await ahead.keep(from: 4_000)
            #expect(try await ahead.page(PageQuery("A")).events == [])
            await ahead.close()
            for stamp in [nil, 4_000, 4_001] as [Int64?] {
                #expect(try Self.change(place, to: stamp) == ArchiveHorizon(before: 4_000, after: 4_000))
            }
            #expect(try Self.change(place, to: 1_004) == ArchiveHorizon(before: 4_000, after: 1_004))
            #expect(try Self.change(place) == ArchiveHorizon(before: 1_004, after: 1_004))
            let again = try await place.open()
            let page = try await again.page(PageQuery("A"))
            #expect(page.texts == (4..<10).reversed().map { "I\($0) made" })
            #expect(page.gaps == [ArchiveGap(from: 1_004, to: 4_000)])
            // It is kept from there on, and moves on as ever.
            _ = try await again.append(
                .of([.init("A", "incident", "I10", "made", offset: 10, stamp: 1_010)], from: 10))
            try await again.keep(from: 1_009)
            #expect(try await again.page(PageQuery("A")).texts == ["I10 made", "I9 made"])
            try await again.keep(from: 4_001)
            try await TestStore.sweep(again)
            #expect(try await again.page(PageQuery("A")).gaps == [])
            await again.close()
        }
    }

    /// Each row: what time it is, and where the gap ends of a horizon that is set back from 9,000 to 1,000.
    @Test(arguments: [(2_000, 2_000), (900, 1_000), (9_001, 9_000)] as [(Int64, Int64)])
    func `a gap ends now where the horizon was to come`(row: (now: Int64, end: Int64)) async throws {
        let folder = TemporaryFolder()
        defer { folder.remove() }
        let place = TestStore.Place.file(folder.path("archive"))
        let store = try await place.open()
        try await store.keep(from: 9_000)
        await store.close()
        _ = try Self.change(place, to: 1_000, now: row.now)
        let again = try await place.open()
        #expect(try await again.page(PageQuery("A")).gaps == [ArchiveGap(from: 1_000, to: row.end)])
        await again.close()
    }

    @Test func `a file that a node has open, none and what is no archive are left alone`() async throws {
        let folder = TemporaryFolder()
        defer { folder.remove() }
        let path = folder.path("archive")
        let none = Self.error { _ = try ArchiveHorizon.ofFile(path, setBackTo: 1, now: 2) }
        guard case .unavailable = none else { return #expect(Bool(false), "\(String(describing: none))") }
        let store = try await SQLiteArchive.open(path: path, server: "S")
        try await store.keep(from: 9_000)
        let inUse = Self.error { _ = try ArchiveHorizon.ofFile(path, setBackTo: 1, now: 2) }
        #expect(inUse == .unavailable("a node has the file open: stop it first"))
        #expect(try await store.clock().horizon == 9_000)
        await store.close()
        #expect(try ArchiveHorizon.ofFile(path, setBackTo: 1, now: 2).after == 1)
        let other = folder.path("other")
        try Database(path: other).execute("CREATE TABLE something (n INTEGER)")
        let foreign = Self.error { _ = try ArchiveHorizon.ofFile(other, setBackTo: 1, now: 2) }
        #expect(foreign == .notAnArchive(other))
    }

    @Test(.enabled(if: PostgreSQLServer.isInstalled))
    func `nodes of a database run on, and a database without tables is left alone`() async throws {
        let place = TestStore.Place.database(try PostgreSQLServer.shared.makeDatabase())
        let none = Self.error { _ = try Self.change(place, to: 1) }
        guard case .unavailable = none else { return #expect(Bool(false), "\(String(describing: none))") }
        let store = try await place.open()
        _ = try await store.append(.of([.init("A", "incident", "I", "made", offset: 0, stamp: 1_000)]))
        try await store.keep(from: 9_000)
        #expect(try Self.change(place, to: 500).after == 500)
        #expect(try await store.page(PageQuery("A")).texts == ["I made"])
        // A node whose clock is right goes on by it.
        try await store.keep(from: 700)
        #expect(try await store.clock().horizon == 700)
        await store.close()
    }
}
