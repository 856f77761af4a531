// Tests: PostgreSQLMarker.swift, MarkMessage.swift, MarkListener.swift, MarkSession.swift

import Foundation
import LiveUpdates
import PostgreSQL
import Synchronization
import TestHarness
import Testing

@testable import Archive

/// Each mark that moves is told once on every node, whatever is lost when.
@Suite(.enabled(if: PostgreSQLServer.isInstalled)) struct PostgreSQLMarkTests {
    private static let listeners = """
        SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()
        """

    @Test func `a mark that moves is reported to the other nodes once, and to its own node not at all`() async throws {
        let uri = try PostgreSQLServer.shared.makeDatabase()
        let (own, others) = (Box(), Box())
        let first = try await PostgreSQLArchiveTests.open(uri) { own.add($0) }
        let second = try await PostgreSQLArchiveTests.open(uri) { others.add($0) }
        let session = PostgreSQLServer.session(uri)
        // Nothing is told to one that does not listen yet.
        let listening = try await eventually {
            try session.run { try $0.run(Self.listeners).integer(0, 0) } == 2
        }
        #expect(listening)
        _ = try await first.append(.of(PostgreSQLArchiveTests.events(0..<5)))
        let id = ArchiveID(stamp: 1003, topic: 0, partition: 0, offset: 0, check: 0)
        // The longest names that there are.
        let long = String(repeating: "\u{1}é", count: 85)
        for mark in [
            ReadMark("A", "P", ("incident", "I1"), upTo: id), ReadMark("A", "P", ("incident", "I1"), upTo: id),
            ReadMark(long, long, (String(long.prefix(42)), long), upTo: id), ReadMark("A", "P", nil, upTo: id),
        ] { _ = try await first.mark(mark) }
        #expect(try await eventually { others.messages.count >= 3 })
        #expect(others.messages.map(\.thing?.id) == ["I1", long, nil])
        #expect(others.messages[1].account == Account(long) && others.messages[1].person == long)
        #expect(others.messages.allSatisfy { $0.upTo == id } && own.messages.isEmpty)
        await first.close()
        await second.close()
    }

    private static func listening(_ session: Session) throws -> Set<Int64> {
        try session.run { connection in
            let rows = try connection.run(
                """
                SELECT pid::bigint FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()
                """)
            return Set((0..<rows.count).map { rows.integer($0, 0) })
        }
    }

    private static let before = ArchiveID(stamp: 1001, topic: 0, partition: 0, offset: 0, check: 0)
    private static let after = ArchiveID(stamp: 1003, topic: 0, partition: 0, offset: 0, check: 7)
    private static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

    @Test func `what is marked while nobody answers the one who listens is reported once somebody does`() async throws {
        let uri = try PostgreSQLServer.shared.makeDatabase()
        let others = Box()
        let session = PostgreSQLServer.session(uri)
        let first = try await PostgreSQLArchiveTests.open(uri)
        let known = try await TestStore.value {
            try Self.listening(session)
        } until: {
            !$0.isEmpty
        }
        let second = try await PostgreSQLArchiveTests.open(uri, milliseconds: 5_000, askMilliseconds: 200) {
            others.add($0)
        }
        let found = try await TestStore.value {
            try Self.listening(session).subtracting(known)
        } until: {
            !$0.isEmpty
        }
        let listener = pid_t(try #require(found.first))
        _ = try await first.append(.of(PostgreSQLArchiveTests.events(0..<5)))
        // It has heard of something, so that it knows what it misses.
        let hears = try await eventually {
            _ = try await first.mark(ReadMark("A", "Z\(others.messages.count)", nil, upTo: Self.before, now: Self.now))
            return !others.messages.isEmpty
        }
        #expect(hears)
        kill(listener, SIGSTOP)
        defer { kill(listener, SIGCONT) }
        for (thing, person) in [(("incident", "I1"), "P"), (("incident", "none"), "P"), (nil, "Q")]
            as [((String, String)?, String)]
        { _ = try await first.mark(ReadMark("A", person, thing, upTo: Self.after, now: Self.now)) }
        // What a node has made itself it does not tell twice.
        _ = try await second.mark(ReadMark("A", "O", nil, upTo: Self.after, now: Self.now))
        // Heard of behind all that was missed, whether it is read or notified.
        _ = try await first.mark(ReadMark("A", "last", nil, upTo: Self.after, now: Self.now))
        let heard = try await eventually { others.messages.contains { $0.person == "last" } }
        #expect(heard)
        let late = others.messages.filter { $0.upTo.stamp == 1003 }
        #expect(late.map { "\($0.person) \($0.thing?.id ?? "")" } == ["P I1", "P none", "Q ", "last "])
        #expect(late.allSatisfy { $0.upTo >= Self.after && $0.account == Account("A") })
        let early = others.messages.filter { $0.upTo.stamp == 1001 }.map(\.person)
        #expect(early.count == Set(early).count)
        await first.close()
        await second.close()
    }

    /// More marks of one moment than a step has rows, in each of the three tables, and a connection that is cut between steps.
    @Test func `what was missed is handed on in steps, whatever is cut between them`() async throws {
        let uri = try PostgreSQLServer.shared.makeDatabase()
        let store = try await PostgreSQLArchiveTests.open(uri)
        _ = try await store.append(.of(PostgreSQLArchiveTests.events(0..<50)))
        let listener = MarkSession(
            PostgreSQLServer.session(uri), channel: PostgreSQLArchive.channel("S"), askMilliseconds: 1,
            rowsOfStep: 3)
        #expect(try listener.wait().isEmpty)
        try PostgreSQLServer.shared.cutSessions(of: uri)
        let now = Self.now
        var expected: Set<String> = []
        for number in 0..<7 {
            for (thing, person) in [
                (("incident", "I\(number)"), "P"), (("incident", "I\(number)"), "Q"),
                (("incident", "none \(number)"), "P"), (nil, "R\(number)"),
            ] as [((String, String)?, String)] {
                let mark = ReadMark("A", person, thing, upTo: Self.after, now: now)
                // The session that it had was cut, and is replaced.
                let outcome = try await TestStore.value {
                    try? await store.mark(mark)
                } until: {
                    $0 != nil
                }
                #expect(outcome == .moved)
                expected.insert("\(person) \(thing?.1 ?? "")")
            }
        }
        var reported: Set<String> = []
        var steps = 0
        while reported.count < expected.count, steps < 100 {
            if steps % 3 == 2 { try PostgreSQLServer.shared.cutSessions(of: uri) }
            // A session whose end was not seen yet fails once.
            let step = try await TestStore.value {
                try? listener.wait()
            } until: {
                $0 != nil
            }
            let messages = try #require(step)
            #expect(messages.count <= 3)
            reported.formUnion(messages.map { "\($0.person) \($0.thing?.id ?? "")" })
            steps += 1
        }
        #expect(reported == expected)
        await store.close()
    }

    @Test func `a mark whose own node never had the answer is reported there too`() async throws {
        let uri = try PostgreSQLServer.shared.makeDatabase()
        let own = Box()
        let store = try await PostgreSQLArchiveTests.open(uri) { own.add($0) }
        let session = PostgreSQLServer.session(uri)
        let listening = try await eventually { try !Self.listening(session).isEmpty }
        #expect(listening)
        // As its transaction tells it, whose answer the node did not get.
        let mark = ReadMark("A", "P", nil, upTo: Self.after, now: Self.now)
        let payload = MarkMessage(mark).payload(from: store.sender)
        try session.run { connection in
            _ = try connection.run(
                "SELECT pg_notify(convert_from($1::bytea, 'UTF8'), convert_from($2::bytea, 'UTF8'))",
                [.text(PostgreSQLArchive.channel("S")), .text(payload)])
        }
        #expect(try await eventually { !own.messages.isEmpty })
        #expect(own.messages == [MarkMessage(mark)])
        await store.close()
    }

    @Test func `what was reported is not reported again, as far as it is remembered`() {
        func message(_ stamp: Int64, check: UInt64 = 0) -> MarkMessage {
            let id = ArchiveID(stamp: stamp, topic: 0, partition: 0, offset: 0, check: check)
            return MarkMessage(account: Account("A"), person: "P", thing: nil, upTo: id)
        }
        var reported = ReportedMarks()
        func isNews(_ stamp: Int64, check: UInt64 = 0) -> Bool { reported.isNews(message(stamp, check: check)) }
        #expect(isNews(1) && !isNews(1, check: 7))
        for stamp in 2...Int64(ReportedMarks.maximum) where !isNews(stamp) { Issue.record("\(stamp) was not told") }
        #expect(!isNews(1) && isNews(0))
        // The older half is forgotten.
        #expect(isNews(1) && !isNews(Int64(ReportedMarks.maximum)))
    }

    enum Step {
        case begin
        /// A session's message, or a row.
        case hear
        case end(hasMoved: Bool)
    }

    /// Each row: what happens to one mark, and how often it is told as one of another node.
    @Test(
        arguments: [
            ([.hear, .hear], 1), ([.begin, .end(hasMoved: true), .hear], 0),
            // Heard of before its own transaction has answered.
            ([.begin, .hear, .end(hasMoved: true)], 0), ([.begin, .hear, .hear, .end(hasMoved: true), .hear], 0),
            // The answer is lost.
            ([.begin, .hear, .end(hasMoved: false)], 1), ([.begin, .end(hasMoved: false), .hear, .hear], 1),
            // It is asked for again, and found done.
            ([.begin, .end(hasMoved: false), .begin, .hear, .end(hasMoved: false), .hear], 1),
            ([.begin, .end(hasMoved: false), .hear, .begin, .end(hasMoved: false)], 1),
            // Two at once, of which one moves it.
            ([.begin, .begin, .hear, .end(hasMoved: false), .end(hasMoved: true)], 0),
            ([.begin, .begin, .end(hasMoved: true), .hear, .end(hasMoved: false)], 0),
            ([.begin, .begin, .hear, .end(hasMoved: false), .end(hasMoved: false)], 1),
            ([.begin, .end(hasMoved: false)], 0),
        ] as [([Step], Int)]) func `a mark of this node is reported once`(row: (steps: [Step], times: Int))
    {
        let message = MarkMessage(account: Account("A"), person: "P", thing: nil, upTo: Self.after)
        var reported = ReportedMarks()
        let times = row.steps.count { step in
            switch step {
            case .begin:
                reported.begin(message)
                return false
            case .hear: return reported.isNews(message)
            case .end(let hasMoved): return reported.end(message, hasMoved: hasMoved)
            }
        }
        #expect(times == row.times)
    }

    @Test func `what was missed again is read behind what is being read`() {
        func step(_ table: Int, _ since: Int64) -> MissedMarks.Step {
            .init(table: table, after: .init(since: since, row: MissedMarks.firstRows[table]), began: since)
        }
        var missed = MissedMarks()
        #expect(missed.next == nil)
        missed.add(since: 100)
        #expect(missed.next == step(0, 100))
        let read = MissedMarks.Position(since: 170, row: [.number(3), .number(9)])
        missed.goOn(after: read)
        for moment: Int64 in [90, 80, 120] { missed.add(since: moment) }
        #expect(missed.next == .init(table: 0, after: read, began: 100))
        for next in [step(1, 100), step(2, 100), step(0, 80), step(1, 80), step(2, 80)] {
            missed.end()
            #expect(missed.next == next)
        }
        missed.end()
        #expect(missed.next == nil)
        missed.add(since: 200)
        #expect(missed.next == step(0, 200))
    }

    private final class Box: Sendable {
        private let state = Mutex<[MarkMessage]>([])
        var messages: [MarkMessage] { state.withLock { $0 } }
        func add(_ message: MarkMessage) { state.withLock { $0.append(message) } }
    }

    @Test(arguments: ["", "x", "x ", "x .", "x .6.61", "x .61.61.61", "x .zz.61.61", " .61.61.61.61.61.61", "x y z"])
    func `what is no message of a mark is passed over`(payload: String) {
        #expect(MarkMessage.read(payload) == nil)
    }
}
