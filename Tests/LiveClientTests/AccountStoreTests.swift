// Tests: SQLiteStore.swift, SQLiteActionStore.swift
import Foundation
import LiveClient
import LiveState
import TestHarness
import Testing

struct AccountStoreTests {
    private static func identity(_ account: String, _ server: String = "https://live.example.com")
        -> SQLiteStore.Identity
    {
        SQLiteStore.Identity(schema: 1, account: account, server: server)
    }

    @Test func `no two accounts or servers have a file of the same name, and each name is one of a file`() {
        let long = String(repeating: "a", count: 300)
        let names = [
            Self.identity("PACC1"), Self.identity("pacc1"), Self.identity("PACC2"),
            Self.identity("PACC1", "https://other"),
            Self.identity("a b", "c"), Self.identity("a", "b c"), Self.identity("../.."), Self.identity("\u{e9}"),
            Self.identity("e\u{301}"),
            Self.identity(long), Self.identity(long + "a"),
        ].map(\.fileName)
        // As file systems compare that do not tell capital letters from small ones.
        #expect(Set(names.map { $0.lowercased() }).count == names.count)
        for name in names {
            #expect(!name.contains("/") && name.utf8.count <= 214)
            #expect(name == name.lowercased() && name.hasSuffix(".sqlite"))
        }
        var later = Self.identity("PACC1")
        later.schema = 2
        #expect(later.fileName == names[0])
    }

    @Test func `who signs out is told what stays, and what is deleted`() async throws {
        let folder = TemporaryFolder()
        let path = folder.path + "/" + Self.identity("PACC1").fileName
        func open() async throws -> SQLiteStore {
            try await SQLiteStore.open(path: path, identity: Self.identity("PACC1")) { _ in }
        }
        let store = try await open()
        #expect(try await store.signOut() == SignedOut(isKept: true, pending: []))
        await #expect(throws: StoreError.closed) { try await store.load(area: "any") }
        let action = DeferredAction(kind: "read", id: "A", value: "true", key: "k", at: 7)
        let kept = try await open()
        try await SQLiteActionStore(kept) { _, _, _, _ in }.commit([.persist(action)])
        #expect(try await kept.signOut() == SignedOut(isKept: true, pending: [action]))
        let wiped = try await open()
        #expect(try await wiped.signOut(keep: false) == SignedOut(isKept: false, pending: [action]))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }
}
