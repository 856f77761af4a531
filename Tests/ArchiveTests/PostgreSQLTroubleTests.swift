// Tests: PostgreSQLArchive.swift, Session.swift

import Foundation
import LiveUpdates
import PostgreSQL
import TestHarness
import Testing

@testable import Archive

/// What happens to an archive when its server does not do what it should: a server of its own, which is stopped, killed, paused
/// and kept from writing.
@Suite(.enabled(if: PostgreSQLServer.isInstalled), .serialized) struct PostgreSQLTroubleTests {
    private static let partition = [ArchivePartition(topic: "t", number: 0)]

    /// A store with ten events on a server of its own.
    private static func withServer(
        milliseconds: UInt64 = TestStore.patientMilliseconds,
        _ body: (PostgreSQLServer, String, PostgreSQLArchive) async throws -> Void
    ) async throws {
        let server = PostgreSQLServer()
        let uri = try server.makeDatabase()
        let store = try await PostgreSQLArchiveTests.open(uri, milliseconds: milliseconds)
        #expect(try await store.claim(partition).map(\.next) == [nil])
        _ = try await store.append(.of(PostgreSQLArchiveTests.events(0..<10)))
        try await body(server, uri, store)
        await store.close()
    }

    /// Whether it is refused for want of a server.
    private static func isAway(_ body: () async throws -> Void) async -> Bool {
        if case .unavailable? = await TestStore.error(body) { true } else { false }
    }

    /// Everything that was stored is there, and it goes on.
    private static func expectGoesOn(_ store: PostgreSQLArchive) async throws {
        let claimed = try await TestStore.value {
            (try? await store.claim(partition)) ?? []
        } until: {
            !$0.isEmpty
        }
        // What a killed server had not written to its disk is stored again.
        let next = Int(claimed[0].next ?? 0)
        #expect(next <= 10)
        _ = try await store.append(.of(PostgreSQLArchiveTests.events(next..<20), from: Int64(next)))
        // A reader that could not connect waits a moment before it tries again.
        let page = try await TestStore.value {
            try? await store.page(PageQuery("A"))
        } until: {
            $0 != nil
        }
        #expect(page?.events.count == 20)
        let inbox = try await TestStore.value {
            try? await store.inbox(InboxQuery("A", "P"))
        } until: {
            $0 != nil
        }
        #expect(inbox?.unreadThings == 20)
    }

    @Test(arguments: [SIGINT, SIGQUIT])
    func `a server that ends is reported by every call, and what comes back is gone on with`(signal: Int32) async throws
    {
        try await Self.withServer { server, _, store in
            try server.stop(signal)
            let id = ArchiveID(stamp: 1003, topic: 0, partition: 0, offset: 0, check: 0)
            #expect(await Self.isAway { _ = try await store.page(PageQuery("A")) })
            #expect(await Self.isAway { _ = try await store.mark(ReadMark("A", "P", nil, upTo: id)) })
            #expect(await Self.isAway { _ = try await store.claim(Self.partition) })
            #expect(
                await Self.isAway { _ = try await store.append(.of(PostgreSQLArchiveTests.events(10..<20), from: 10)) })
            try server.start()
            try await Self.expectGoesOn(store)
        }
    }

    @Test func `how much there is is known after a crash of the server`() async throws {
        try await Self.withServer { server, uri, store in
            try PostgreSQLServer.session(uri).run { try $0.command("ANALYZE livegate_events") }
            try server.stop(SIGQUIT)
            try server.start()
            let size = try await TestStore.value {
                try? await store.size()
            } until: {
                $0?.rows == 10
            }
            #expect(size?.rows == 10)
        }
    }

    @Test func `a server that is paused is reported by whoever reads, and answers when it goes on`() async throws {
        try await Self.withServer(milliseconds: PostgreSQLArchive.defaultMilliseconds) { server, _, store in
            try server.signalAll(SIGSTOP)
            #expect(await Self.isAway { _ = try await store.page(PageQuery("A")) })
            #expect(await Self.isAway { _ = try await store.inbox(InboxQuery("A", "P")) })
            try server.signalAll(SIGCONT)
            try await Self.expectGoesOn(store)
        }
    }

    @Test func `sessions that are cut are made anew, and the writer's locks are free`() async throws {
        try await Self.withServer { server, uri, store in
            let other = try await PostgreSQLArchiveTests.open(uri)
            #expect(try await other.claim(Self.partition) == [])
            try server.cutSessions(of: uri)
            // Who has lost its session is told once, so that it asks what it still writes.
            #expect(
                await Self.isAway { _ = try await store.append(.of(PostgreSQLArchiveTests.events(10..<12), from: 10)) })
            let claimed = try await TestStore.value {
                (try? await other.claim(Self.partition)) ?? []
            } until: {
                !$0.isEmpty
            }
            #expect(claimed.map(\.next) == [10])
            #expect(try await store.claim(Self.partition) == [])
            await other.close()
            try await Self.expectGoesOn(store)
        }
    }

    @Test func `a database that may only be read is read`() async throws {
        try await Self.withServer { server, uri, store in
            let name = String(uri.split(separator: "/").last ?? "")
            func set(_ value: String) throws {
                try server.session("postgres").run {
                    try $0.command("ALTER DATABASE \(name) SET default_transaction_read_only = \(value)")
                }
                try server.cutSessions(of: uri)
            }
            try set("on")
            _ = await TestStore.error { _ = try await store.claim(Self.partition) }
            let events = PostgreSQLArchiveTests.events(10..<12)
            let refused = try await TestStore.value {
                await TestStore.error { _ = try await store.append(.of(events, from: 10)) }
            } until: {
                $0 == .readOnly
            }
            #expect(refused == .readOnly)
            let id = ArchiveID(stamp: 1003, topic: 0, partition: 0, offset: 0, check: 0)
            #expect(
                await TestStore.error { _ = try await store.mark(ReadMark("A", "P", nil, upTo: id)) }
                    == .readOnly)
            #expect(try await store.page(PageQuery("A")).events.count == 10)
            try set("off")
            try await Self.expectGoesOn(store)
        }
    }
}
