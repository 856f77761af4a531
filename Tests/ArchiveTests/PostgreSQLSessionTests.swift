// Tests: PostgreSQLConnection.swift, Session.swift, Rows.swift, Parameter.swift, Interruption.swift, PostgreSQLError.swift

import Foundation
import PostgreSQL
import TestHarness
import Testing

/// What a session gives and takes, and that none of its waits is without an end.
@Suite(.enabled(if: PostgreSQLServer.isInstalled)) struct PostgreSQLSessionTests {
    private static func error(_ body: () throws -> Void) -> PostgreSQLError? {
        do {
            try body()
            return nil
        } catch {
            return error as? PostgreSQLError
        }
    }

    @Test func `values come back as they were given`() throws {
        try PostgreSQLServer.shared.session("postgres").run { connection in
            let rows = try connection.run(
                "SELECT $1::bigint, $2::boolean, $3::bytea, $4::bytea, $5::bytea, $6::bigint",
                [.integer(.min), .bool(true), .bytes([0, 255, 0]), .bytes([]), .null, .integer(7)])
            #expect(
                rows.count == 1 && rows.integer(0, 0) == .min && rows.bool(0, 1) && rows.bytes(0, 2) == [0, 255, 0])
            #expect(rows.bytes(0, 3) == [] && !rows.isNull(0, 3) && rows.isNull(0, 4) && rows.integer(0, 5) == 7)
            let numbers: [Int64] = [1, -1, .max]
            let lists = try connection.run(
                "SELECT n, b FROM unnest($1::bigint[], $2::bytea[]) WITH ORDINALITY k(n, b, place) ORDER BY place",
                [.integers(numbers), .byteStrings([[], [1], [2, 3]])])
            #expect((0..<lists.count).map { lists.integer($0, 0) } == numbers)
            #expect((0..<lists.count).map { lists.bytes($0, 1) } == [[], [1], [2, 3]])
            let none = try connection.run("SELECT n FROM unnest($1::bigint[]) k(n)", [.integers([])])
            #expect(none.count == 0)
        }
    }

    @Test func `a megabyte goes there and back`() throws {
        try PostgreSQLServer.shared.session("postgres").run { connection in
            let bytes = (0..<(1 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            let rows = try connection.run("SELECT $1::bytea", [.bytes(bytes)])
            #expect(rows.bytes(0, 0) == bytes)
        }
    }

    @Test func `a refusal says its state, and ends its transaction and nothing else`() throws {
        try PostgreSQLServer.shared.session("postgres").run { connection in
            try connection.command("CREATE TEMPORARY TABLE numbers (n bigint PRIMARY KEY)")
            let refused = Self.error {
                try connection.transaction {
                    _ = try connection.run("INSERT INTO numbers VALUES ($1)", [.integer(1)])
                    _ = try connection.run("INSERT INTO numbers VALUES ($1)", [.integer(1)])
                }
            }
            #expect(refused?.state == "23505")
            #expect(Self.error { try connection.command("SELEC") }?.state == "42601")
            #expect(connection.isUsable)
            #expect(try connection.run("SELECT count(*) FROM numbers").integer(0, 0) == 0)
            #expect(try connection.run("INSERT INTO numbers SELECT generate_series(1, 3)").changes == 3)
        }
    }

    @Test func `a session that was cut while nobody used it is made anew`() async throws {
        let uri = try PostgreSQLServer.shared.makeDatabase()
        let session = PostgreSQLServer.session(uri)
        try session.run { try $0.command("SELECT 1") }
        try PostgreSQLServer.shared.cutSessions(of: uri)
        // Its socket may be closed a moment after it has ended.
        let goesOn = try await eventually { (try? session.run { try $0.command("SELECT 1") }) != nil }
        #expect(goesOn)
        #expect(session.connections == 2)
    }

    @Test func `nobody waits behind a deadline`() throws {
        let session = PostgreSQLServer.session(PostgreSQLServer.shared.uri("postgres"), milliseconds: 300)
        let refused = Self.error { try session.run { try $0.command("SELECT pg_sleep(3600)") } }
        #expect(refused != nil && refused?.state == nil)
        // What did not answer is not used again.
        try session.run { try $0.command("SELECT 1") }
        #expect(session.connections == 2)
    }

    @Test func `what is interrupted ends, and nothing begins after it`() throws {
        let interruption = Interruption()
        let session = Session(
            .init(
                uri: PostgreSQLServer.shared.uri("postgres"), password: { () throws(PostgreSQLError) in nil },
                milliseconds: 3_600_000), interruption: interruption
        ) { _ in }
        try session.run { try $0.command("SELECT 1") }
        interruption.set()
        #expect(Self.error { try session.run { try $0.command("SELECT pg_sleep(3600)") } } != nil)
    }

    @Test func `a server that is not there is reported at once, and not asked again for a while`() {
        let session = PostgreSQLServer.session("postgresql://livegate@%2Fnowhere/none")
        #expect(Self.error { try session.run { _ in } }?.message.isEmpty == false)
        #expect(Self.error { try session.run { _ in } } != nil && session.connections == 0)
    }
}
