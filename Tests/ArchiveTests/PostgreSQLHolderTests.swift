// Tests: MarkSession.swift, PostgreSQLArchive.swift, PostgreSQLWriter+Claiming.swift, PostgreSQLWriter+Erasing.swift, Session.swift

import LiveUpdates
import PostgreSQL
import TestHarness
import Testing

@testable import Archive

/// Who holds something in a fleet and hangs: stopped, frozen with its machine, or cut off.
@Suite(.enabled(if: PostgreSQLServer.isInstalled)) struct PostgreSQLHolderTests {
    private static let partition = [ArchivePartition(topic: "t", number: 0)]
    private static let milliseconds: UInt64 = 500

    /// Two nodes; the thread of the first one's writer stands still from `holding` on, until the body has ended.
    private static func withHolder(
        holding: @escaping @Sendable (PostgreSQLWriter) throws -> Void,
        _ body: (_ other: PostgreSQLArchive) async throws -> Void,
        then: (_ holder: PostgreSQLArchive) async throws -> Void
    ) async throws {
        let uri = try PostgreSQLServer.shared.makeDatabase()
        let holder = try await PostgreSQLArchiveTests.open(uri, idleMilliseconds: milliseconds)
        let other = try await PostgreSQLArchiveTests.open(uri)
        // Where tests beside it leave no turn to anybody, a session may be lost before: that is told once.
        let stored = try await TestStore.value {
            try? await holder.append(.of(PostgreSQLArchiveTests.events(0..<10)))
        } until: {
            $0 != nil
        }
        #expect(stored?.stored == 10)
        let (holds, goesOn) = (Shared(false), Promise<Void>())
        // Also where the body throws: else its thread stands still for ever.
        defer { goesOn.fulfil(()) }
        let stopped = Task {
            try await holder.writer.run { writer in
                try holding(writer)
                holds.update { $0 = true }
                _ = goesOn.wait()
            }
        }
        #expect(try await eventually { holds.value })
        try await body(other)
        goesOn.fulfil(())
        _ = try await stopped.value
        try await then(holder)
        await holder.close()
        await other.close()
    }

    @Test func `another node writes on for one that hangs, which writes nothing when it wakes`() async throws {
        try await Self.withHolder { writer in
            let claimed = try (try? writer.claim(Self.partition)) ?? writer.claim(Self.partition)
            #expect(claimed.map(\.next) == [10])
        } _: { other in
            let claimed = try await TestStore.value {
                try await other.claim(Self.partition)
            } until: {
                !$0.isEmpty
            }
            #expect(claimed.map(\.next) == [10])
            _ = try await other.append(.of(PostgreSQLArchiveTests.events(10..<12), from: 10))
        } then: { holder in
            let late = await TestStore.error {
                _ = try await holder.append(.of(PostgreSQLArchiveTests.events(10..<20), from: 10))
            }
            guard case .unavailable? = late else {
                Issue.record("it has written: \(late as Any)")
                return
            }
            // Where tests beside it leave no turn to anybody, the new session may be lost too.
            let claimed = try await TestStore.value {
                try? await holder.claim(Self.partition)
            } until: {
                $0 != nil
            }
            #expect(try await holder.positions().map(\.next) == [12] && claimed == [])
        }
    }

    @Test func `an erasure is done by another node where one hangs between its steps`() async throws {
        try await Self.withHolder { writer in
            let isAlone = try (try? writer.beginErasing()) ?? writer.beginErasing()
            #expect(isAlone)
        } _: { other in
            let counts = try await other.erase(Account("A"), until: .max)
            #expect(counts.events == 10)
        } then: { holder in
            let late = try? await holder.writer.run { try $0.erase(Account("A"), until: .max).counts }
            #expect(late == nil)
            let counts = try await TestStore.value {
                try? await holder.erase(Account("A"), until: .max)
            } until: {
                $0 != nil
            }
            #expect(counts?.events == 0)
        }
    }

    @Test func `a writer with nothing to do says so`() async throws {
        let uri = try PostgreSQLServer.shared.makeDatabase()
        let store = try await PostgreSQLArchiveTests.open(uri, idleMilliseconds: 1_000)
        let session = PostgreSQLServer.session(uri)
        var moments: Set<String> = []
        let speaks = try await eventually {
            _ = try? await store.claim([])
            try session.run { connection in
                let rows = try connection.run(
                    """
                    SELECT convert_to(query_start::text, 'UTF8') FROM pg_stat_activity
                    WHERE query = 'SELECT 1' AND datname = current_database()
                    """)
                for row in 0..<rows.count { moments.insert(rows.text(row, 0)) }
            }
            return moments.count >= 3
        }
        #expect(speaks)
        await store.close()
    }
}
