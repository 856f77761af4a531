// Tests: LiveCollection.swift, CollectionArea.swift, CollectionRows.swift, SessionPart.swift
import Foundation
import LiveCollections
import Synchronization
import TestHarness
import Testing

@testable import LiveClient

/// What once made a collection silently wrong, found by reading.
@MainActor @Suite(.timeLimit(.minutes(5))) struct CollectionFaultTests {
    private typealias Items = LiveCollection<Item>

    private static func items(_ api: ItemAPI, in session: LiveSession, version: Int = 1) -> Items {
        Items("incident", in: session, version: version) {
            try await api.items()
        } reload: {
            try await api.item($0)
        }
    }

    /// Runs a session until the collection is as the server.
    private static func settled(
        _ folder: SessionFolder, _ api: ItemAPI, version: Int = 1
    ) async throws -> (session: LiveSession, items: Items, running: Task<Void, Never>) {
        let session = try await folder.session(api.server)
        let items = Self.items(api, in: session, version: version)
        let running = Task { await session.run() }
        try await until("two") { items.elements.count == 2 && items.freshness == .connected }
        return (session, items, running)
    }

    @Test func `another version is fetched from the beginning, and so is the old one behind it`() async throws {
        let (folder, api) = (SessionFolder(), ItemAPI())
        for (version, snapshots) in [(1, 1), (1, 1), (2, 2), (2, 2), (1, 3)] {
            let (session, _, running) = try await Self.settled(folder, api, version: version)
            #expect(await api.server.snapshots == snapshots, "version \(version)")
            await session.close()
            await running.value
        }
    }

    @Test func `one that has stopped has a sign`() async throws {
        let (folder, api) = (SessionFolder(), ItemAPI())
        let (session, items, running) = try await Self.settled(folder, api)
        #expect(!items.isOld)
        running.cancel()
        await running.value
        #expect(items.isOld && items.elements.count == 2)
        if case .cannotConnect = items.freshness {} else { Issue.record("\(items.freshness)") }
        // Nothing that is late takes it off.
        let late = Self.items(api, in: session)
        #expect(late.isOld && late.lastError as? LiveCollectionError == .nameIsTaken(entity: "incident", name: nil))
    }

    @Test(arguments: [true, false]) func `a sign-out behind the end empties what is shown`(_ keep: Bool) async throws {
        let (folder, api) = (SessionFolder(), ItemAPI())
        let (session, items, running) = try await Self.settled(folder, api)
        await session.close()
        await running.value
        #expect(items.elements.count == 2)
        #expect(try await session.signOut(keep: keep) == SignedOut(isKept: keep, pending: []))
        #expect(items.elements.isEmpty && !items.isKnown)
        #expect(try folder.files == (keep ? [SessionFolder.identity("PACC1").fileName] : []))
    }

    @Test func `the answer to an action that comes behind a sign-out is not shown`() async throws {
        let (folder, api) = (SessionFolder(), ItemAPI())
        let (session, items, running) = try await Self.settled(folder, api)
        let answer = try await items.perform {
            _ = try await session.signOut(keep: true)
            return Item(id: "A", version: 9)
        }
        #expect(answer.version == 9 && items.elements.isEmpty && !items.isKnown)
        await running.value
    }

    @Test func `an answer before the first snapshot makes no list known`() async throws {
        let folder = SessionFolder()
        let session = try await folder.session(nil)
        let items = Items("incident", in: session) {
            throw RequestError(status: nil)
        } reload: { _ in
            throw RequestError(status: nil)
        }
        try await items.perform { Item(id: "A", version: 2) }
        #expect(items.elements.map(\.version) == [2] && !items.isKnown)
        await session.close()
    }

    @Test func `a list that was asked for before an action does not take its answer back`() async throws {
        let (folder, api) = (SessionFolder(), ItemAPI())
        let (session, first, running) = try await Self.settled(folder, api)
        let asked = Shared(0)
        let slow = Items("incident", in: session, name: "slow") { [first] in
            let found = try await api.items()
            asked.update { $0 += 1 }
            if asked.value == 1 {
                await api.server.change(.update)
                try await until("the event") { first["A"]?.version == 2 }
            }
            return found
        } reload: {
            try await api.item($0)
        }
        try await until("a second fetch") { asked.value >= 1 }
        try await slow.perform { Item(id: "A", version: 2) }
        try await until("two") { slow.elements.count == 2 && slow.freshness == .connected }
        #expect(slow["A"]?.version == 2)
        await session.close()
        await running.value
    }

    @Test func `a late sign-out deletes no file under a later session`() async throws {
        let folder = SessionFolder()
        let first = try await folder.session(nil)
        await first.close()
        let second = try await folder.session(nil)
        let leaving = Task { try await first.signOut(keep: false) }
        _ = try await second.store.load(area: "any")
        #expect(try folder.files.contains(SessionFolder.identity("PACC1").fileName))
        // Also where its turn has come by now.
        for _ in 0..<1_000 { await Task.yield() }
        #expect(try folder.files.contains(SessionFolder.identity("PACC1").fileName))
        await second.close()
        #expect(try await leaving.value == SignedOut(isKept: false, pending: []))
        #expect(try folder.files == [])
    }

    @Test func `a file has one session at a time`() async throws {
        let folder = SessionFolder()
        let first = try await folder.session(nil)
        let isOpen = Shared(false)
        let second = Task {
            let session = try await folder.session(nil)
            isOpen.update { $0 = true }
            return session
        }
        let cancelled = Task { try await folder.session(nil) }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        // Another account's file is free.
        let other = try await folder.session(nil, account: "PACC2")
        #expect(!isOpen.value)
        await first.close()
        let next = try await second.value
        #expect(isOpen.value)
        await next.close()
        await other.close()
        // One that was let go without its end frees the file, too.
        do { _ = try await folder.session(nil) }
        let last = try await folder.session(nil)
        await last.close()
    }
}
