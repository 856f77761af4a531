import Foundation
import LiveUpdates
import TestHarness

@testable import Archive

/// Stores for tests: each in a folder or a database of its own.
enum TestStore {
    enum Kind: String, CaseIterable, Sendable {
        case sqlite
        case postgreSQL
    }

    /// Where a store is, so that it can be opened more than once.
    enum Place: Sendable {
        case file(String)
        case database(String)

        func open(server: String = "S", readers: Int = 1) async throws -> any ArchiveStore {
            switch self {
            case .file(let path): try await SQLiteArchive.open(path: path, server: server, readers: readers)
            case .database(let uri):
                try await PostgreSQLArchive.open(
                    .init(
                        uri: uri, server: server, readers: readers, milliseconds: patientMilliseconds,
                        idleMilliseconds: idleMilliseconds))
            }
        }
    }

    /// For what is not about time: on a machine that gives the server no turn, an answer may take long.
    static let patientMilliseconds: UInt64 = 60_000

    /// What keeps a session alive has no turn either.
    static let idleMilliseconds: UInt64 = 3_600_000

    /// Those that this machine has; without PostgreSQL a test of its own is skipped.
    static let kinds = Kind.allCases.filter { $0 == .sqlite || PostgreSQLServer.isInstalled }

    static func withStore(_ kind: Kind, _ body: (any ArchiveStore) async throws -> Void) async throws {
        try await withPlace(kind) { place in
            let store = try await place.open(readers: 2)
            do {
                try await body(store)
            } catch {
                await store.close()
                throw error
            }
            await store.close()
        }
    }

    /// For what is opened more than once.
    static func withPlace(_ kind: Kind, _ body: (Place) async throws -> Void) async throws {
        let folder = TemporaryFolder()
        defer { folder.remove() }
        switch kind {
        case .sqlite: try await body(.file(folder.path("archive")))
        case .postgreSQL: try await body(.database(try PostgreSQLServer.shared.makeDatabase()))
        }
    }

    /// Asks again and again until the answer is right, or a test that waits has failed. Returns the last answer.
    static func value<Value>(
        _ ask: () async throws -> Value, until isRight: (Value) -> Bool
    ) async throws -> Value {
        var value = try await ask()
        if isRight(value) { return value }
        _ = try await eventually {
            value = try await ask()
            return isRight(value)
        }
        return value
    }

    /// What it is refused with; nil: it is not, or with something else.
    static func error(_ body: () async throws -> Void) async -> ArchiveError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? ArchiveError
        }
    }

    /// Sweeps until nothing is left.
    static func sweep(_ store: any ArchiveStore) async throws {
        // A pass that has begun may be over before what was let go since.
        for _ in 0..<2 { while try await store.sweep() {} }
    }

    /// Whether one of the files of a store has these bytes anywhere.
    static func files(of path: String, contain text: String) throws -> Bool {
        for file in [path, path + "-wal", path + "-shm"] where FileManager.default.fileExists(atPath: file) {
            if try Data(contentsOf: URL(fileURLWithPath: file)).range(of: Data(text.utf8)) != nil { return true }
        }
        return false
    }
}

extension ArchivedEvent {
    init(
        _ account: String, _ entity: String, _ id: String, _ type: String, offset: Int64, stamp: Int64,
        arrival: Int64 = .max
    ) {
        self.init(
            account: Account(account), event: ThinEvent(entity: entity, id: id, type: type), offset: offset,
            stamp: stamp, arrival: arrival)
    }
}

extension ArchiveBatch {
    /// One run of one partition, which begins where the partition does, or at an offset.
    static func of(
        _ events: [ArchivedEvent], partition: Int32 = 0, from: Int64 = 0, next: Int64? = nil,
        continuation: Continuation = .same, log: StoredLog? = nil
    ) -> ArchiveBatch {
        let stamps = events.first.flatMap { first in
            events.last.map { Stamps(first: first.stamp, last: $0.stamp) }
        }
        let run = Run(
            topic: "t", partition: partition, from: from, next: next ?? (events.last?.offset ?? from - 1) + 1,
            stamps: stamps, continuation: continuation, log: log, events: events)
        return ArchiveBatch(runs: [run])
    }
}

extension PageQuery {
    init(_ account: String, _ change: (inout PageQuery) -> Void = { _ in }) {
        self.init(account: Account(account))
        change(&self)
    }
}

extension InboxQuery {
    init(_ account: String, _ person: String, _ change: (inout InboxQuery) -> Void = { _ in }) {
        self.init(account: Account(account), person: person)
        change(&self)
    }
}

extension ReadMark {
    init(
        _ account: String, _ person: String, _ thing: (String, String)?, upTo id: ArchiveID, now: Int64 = 0,
        mustBeStored: Bool = false
    ) {
        self.init(
            account: Account(account), person: person, thing: thing.map { Thing(entity: $0.0, id: $0.1) }, upTo: id,
            now: now, mustBeStored: mustBeStored)
    }
}

extension EventPage {
    /// Things and types, such as `I1 created`, for short expectations.
    var texts: [String] { events.map { "\($0.event.id) \($0.event.type)" } }
}

extension InboxPage {
    /// Things and unread counts.
    var texts: [String] { things.map { "\($0.last.event.id) \($0.unread)" } }
}
