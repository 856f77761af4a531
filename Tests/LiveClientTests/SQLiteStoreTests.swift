// Tests: SQLiteStore.swift, StaleTable.swift, StoreTransaction.swift, LiveStore.swift
import Foundation
import LiveClient
import LiveState
import SQLite
import Testing

struct SQLiteStoreTests {
    private static let identity = SQLiteStore.Identity(schema: 3, account: "PACC1", server: "https://live.example.com")

    private static func open(_ path: String, _ identity: SQLiteStore.Identity = identity) async throws -> SQLiteStore {
        try await SQLiteStore.open(path: path, identity: identity) { transaction in
            try transaction.execute("CREATE TABLE incidents (id TEXT PRIMARY KEY, title TEXT)")
        }
    }

    /// A path of its own, and nothing left of it afterwards.
    private static func withPath(_ body: (String) async throws -> Void) async throws {
        let path = NSTemporaryDirectory() + "store-\(UUID().uuidString)"
        do {
            try await body(path)
        } catch {
            try? await SQLiteStore.remove(path: path)
            throw error
        }
        try await SQLiteStore.remove(path: path)
    }

    private static func titles(_ store: SQLiteStore) async throws -> [String?] {
        try await store.transaction { transaction in
            try transaction.rows("SELECT title FROM incidents ORDER BY id").map { $0[0].text }
        }
    }

    @Test func `metadata and the app's state are there after the file was opened again`() async throws {
        try await Self.withPath { path in
            let metadata = UpdateMetadata(finger: "F", lastSuccess: 1_795_240_000_000, lastAttempt: 7)
            let store = try await Self.open(path)
            #expect(try await store.load(area: "incidents") == nil)
            try await store.commit(area: "incidents", metadata: metadata) { transaction in
                try transaction.execute("INSERT INTO incidents VALUES (?, ?)", [.text("A"), .text("fire")])
            }
            try await store.commit(area: "typing", metadata: UpdateMetadata()) { _ in }
            await store.close()
            await #expect(throws: StoreError.closed) { try await store.load(area: "incidents") }
            let again = try await Self.open(path)
            #expect(try await again.load(area: "incidents") == metadata)
            #expect(try await again.load(area: "typing") == UpdateMetadata())
            #expect(try await Self.titles(again) == ["fire"])
            await again.close()
        }
    }

    @Test func `what could not be reloaded is kept with its area, in a file of an earlier release too`() async throws {
        try await Self.withPath { path in
            let failures: [RequestFailure] = [.rejected(status: 422), .unreadable, .retry(after: nil)]
            let stale = failures.enumerated().map { index, failure in
                StaleThing(
                    thing: Thing(entity: "incident", id: "\(2 - index)"), types: ["created", "updated"],
                    failure: failure)
            }
            let metadata = UpdateMetadata(finger: "F", lastSuccess: 1, knownStale: stale)
            let store = try await Self.open(path)
            try await store.commit(area: "incidents", metadata: metadata) { _ in }
            try await store.transaction { try $0.execute("DROP TABLE live_known_stale") }
            await store.close()
            let next = try await Self.open(path)
            #expect(try await next.load(area: "incidents") == UpdateMetadata(finger: "F", lastSuccess: 1))
            try await next.commit(area: "incidents", metadata: metadata) { _ in }
            try await next.commit(area: "typing", metadata: UpdateMetadata()) { _ in }
            await next.close()
            let again = try await Self.open(path)
            #expect(try await again.load(area: "incidents") == metadata)
            #expect(try await again.load(area: "typing")?.knownStale == nil)
            try await again.commit(area: "incidents", metadata: UpdateMetadata(finger: "G", lastSuccess: 2)) { _ in }
            #expect(try await again.load(area: "incidents")?.knownStale == nil)
            await again.close()
        }
    }

    @Test func `a commit waits until the disk has it`() async throws {
        try await Self.withPath { path in
            let store = try await Self.open(path)
            // 2 is FULL.
            let level = try await store.transaction { try $0.rows("PRAGMA synchronous").map { $0[0].integer } }
            #expect(level == [2])
            await store.close()
        }
    }

    @Test func `a commit whose changes fail moves neither the finger nor the state`() async throws {
        try await Self.withPath { path in
            let store = try await Self.open(path)
            try await store.commit(area: "incidents", metadata: UpdateMetadata(finger: "F", lastSuccess: 1)) { _ in }
            await #expect(throws: StoreError.self) {
                try await store.commit(area: "incidents", metadata: UpdateMetadata(finger: "G", lastSuccess: 2)) {
                    try $0.execute("INSERT INTO incidents VALUES ('A', 'fire')")
                    try $0.execute("INSERT INTO incidents VALUES ('A', 'again')")
                }
            }
            #expect(try await store.load(area: "incidents")?.finger == "F")
            #expect(try await Self.titles(store) == [])
            await store.close()
        }
    }

    @Test func `a file of another schema, account or server is refused and left as it is`() async throws {
        try await Self.withPath { path in
            let store = try await Self.open(path)
            try await store.commit(area: "incidents", metadata: UpdateMetadata(finger: "F", lastSuccess: 1)) { _ in }
            await store.close()
            let bytes = try Data(contentsOf: URL(filePath: path))
            let identity = Self.identity
            var other = identity
            other.schema = 4
            await #expect(throws: StoreError.otherSchema(found: 3, wanted: 4)) { try await Self.open(path, other) }
            other = identity
            other.account = "PACC2"
            await #expect(throws: StoreError.otherAccount(found: "PACC1", wanted: "PACC2")) {
                try await Self.open(path, other)
            }
            other.server = "https://other.example.com"
            await #expect(throws: StoreError.otherServer(found: identity.server, wanted: other.server)) {
                try await Self.open(path, other)
            }
            #expect(try Data(contentsOf: URL(filePath: path)) == bytes)
            let again = try await Self.open(path)
            #expect(try await again.load(area: "incidents")?.finger == "F")
            await again.close()
        }
    }

    @Test func `another program's database is refused and left as it is`() async throws {
        try await Self.withPath { path in
            let other = try Database(path: path)
            try other.execute("CREATE TABLE notes (text TEXT)")
            let bytes = try Data(contentsOf: URL(filePath: path))
            await #expect(throws: StoreError.notAStore(path: path)) { try await Self.open(path) }
            #expect(try Data(contentsOf: URL(filePath: path)) == bytes)
        }
    }

    @Test func `a store in memory keeps metadata, and nothing of a commit that failed`() async throws {
        struct Stop: Error {}
        let store = MemoryStore()
        #expect(try await store.load(area: "typing") == nil)
        try await store.commit(area: "typing", metadata: UpdateMetadata(finger: "F", lastSuccess: 1)) { _ in }
        await #expect(throws: Stop.self) {
            try await store.commit(area: "typing", metadata: UpdateMetadata(finger: "G", lastSuccess: 2)) { _ in
                throw Stop()
            }
        }
        #expect(try await store.load(area: "typing")?.finger == "F")
    }

    @Test func `a file of an older schema is migrated whole, with what is pending, or left as it is`() async throws {
        struct Stop: Error {}
        let newer = SQLiteStore.Identity(schema: 5, account: "PACC1", server: Self.identity.server)
        try await Self.withPath { path in
            let store = try await Self.open(path)
            try await store.commit(area: "incidents", metadata: UpdateMetadata(finger: "F", lastSuccess: 1)) {
                try $0.execute("INSERT INTO incidents VALUES ('A', 'fire')")
            }
            let actions = try await SQLiteActionStore(store) { _, _, _, _ in }
            let action = DeferredAction(kind: "read", id: "A", value: "true", key: "k", at: 7)
            try await actions.commit([.persist(action)])
            await store.close()
            // Whoever cannot migrate, or only the other way, is told what is there.
            await #expect(throws: StoreError.otherSchema(found: 3, wanted: 5)) { try await Self.open(path, newer) }
            await #expect(throws: Stop.self) {
                try await SQLiteStore.open(path: path, identity: newer) { _, transaction in
                    try transaction.execute("DROP TABLE incidents")
                    throw Stop()
                } prepare: { _ in
                    throw Stop()
                }
            }
            #expect(try await Self.reopen(path, Self.identity) == ["fire"])
            let migrated = try await SQLiteStore.open(path: path, identity: newer) { schema, transaction in
                #expect(schema == 3)
                try transaction.execute("UPDATE incidents SET title = title || '!'")
            } prepare: { _ in
                throw Stop()
            }
            #expect(try await Self.titles(migrated) == ["fire!"])
            #expect(try await migrated.load(area: "incidents") == UpdateMetadata(finger: "F", lastSuccess: 1))
            #expect(try await SQLiteActionStore(migrated) { _, _, _, _ in }.loadActions() == [action])
            await migrated.close()
            #expect(try await Self.reopen(path, newer) == ["fire!"])
            await #expect(throws: StoreError.otherSchema(found: 5, wanted: 3)) {
                try await SQLiteStore.open(path: path, identity: Self.identity, migrate: { _, _ in }, prepare: { _ in })
            }
        }
    }

    private static func reopen(_ path: String, _ identity: SQLiteStore.Identity) async throws -> [String?] {
        let store = try await open(path, identity)
        let titles = try await titles(store)
        await store.close()
        return titles
    }
}
