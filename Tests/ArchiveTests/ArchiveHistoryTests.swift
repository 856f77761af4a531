// Tests: SQLiteArchive.swift

import Foundation
import LiveUpdates
import TestHarness
import Testing

@testable import Archive

/// Random histories of a store against a plain model of what it is to hold: every answer of every step is compared.
struct ArchiveHistoryTests {
    /// `LIVEGATE_ARCHIVE_SEED` runs the history of that seed alone; `LIVEGATE_ARCHIVE_HISTORIES` so many in
    /// SQLite, and a thirtieth in PostgreSQL, where each makes a database.
    @Test(arguments: TestStore.kinds)
    func `every answer is the model's, whatever came, went and was killed between`(kind: TestStore.Kind) async throws {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["LIVEGATE_ARCHIVE_SEED"].flatMap(UInt64.init) {
            try await ArchiveHistory.run(kind, seed: seed)
            return
        }
        let histories = environment["LIVEGATE_ARCHIVE_HISTORIES"].flatMap(Int.init) ?? 2000
        let total = kind == .sqlite ? histories : histories / 30
        let first = UInt64.random(in: 0...UInt64.max)
        print("archive histories of \(kind) from seed \(first)")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<2 {
                group.addTask {
                    for number in stride(from: worker, to: total, by: 2) {
                        try await ArchiveHistory.run(kind, seed: first &+ UInt64(number))
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}

/// One history: a store, its model, and what happens to both.
struct ArchiveHistory {
    struct Difference: Error, CustomStringConvertible {
        let description: String
    }

    private static let accounts = ["ACCOUNT-ONE", "ACCOUNT-TWO"]
    private static let people = ["PERSON-ONE", "PERSON-TWO"]
    private static let entities = ["incident", "note", "call"]

    private let seed: UInt64
    private let folder: TemporaryFolder
    private var random: SeededGenerator
    private var place: TestStore.Place
    private var store: any ArchiveStore
    private var files = 0
    private var model = ArchiveModel()
    private var now: Int64 = 1000
    private var steps: [String] = []

    static func run(_ kind: TestStore.Kind, seed: UInt64) async throws {
        let folder = TemporaryFolder(inMemory: true)
        defer { folder.remove() }
        var history = try await ArchiveHistory(kind, seed: seed, folder: folder)
        do {
            let length = 5 + history.random.below(25)
            for _ in 0..<length { try await history.step() }
            try await history.end()
        } catch {
            Issue.record("seed \(seed): \(error)\n\(history.steps.joined(separator: "\n"))")
        }
        await history.store.close()
    }

    private init(_ kind: TestStore.Kind, seed: UInt64, folder: TemporaryFolder) async throws {
        self.seed = seed
        self.folder = folder
        random = SeededGenerator(seed: seed)
        place =
            kind == .sqlite ? .file(folder.path("0")) : .database(try PostgreSQLServer.shared.makeDatabase())
        store = try await place.open()
    }

    private mutating func pick<Element>(_ all: [Element]) -> Element { all[random.below(all.count)] }

    private func expect<Value: Equatable>(_ found: Value, _ wanted: Value, _ what: String) throws {
        guard found != wanted else { return }
        throw Difference(description: "\(what): \(found), not \(wanted)")
    }

    // MARK: - Steps

    private mutating func step() async throws {
        now += Int64(random.below(20))
        switch random.below(24) {
        case 0..<8: try await append()
        case 8..<12: try await mark()
        case 12..<15: try await comparePage()
        case 15..<18: try await compareInbox()
        case 18, 19:
            let horizon = now - 20 - Int64(random.below(60))
            steps.append("keep from \(horizon)")
            try await store.keep(from: horizon)
            model.keep(from: horizon)
        case 20:
            steps.append("sweep")
            for _ in 0...random.below(4) { _ = try await store.sweep() }
        case 21: try await erase()
        case 22: try await reopen()
        default: try await killAndOpen()
        }
    }

    private mutating func append() async throws {
        let partition = Int32(random.below(3))
        let stored = model.positions[partition]?.next
        var (from, isOtherLog) = (stored ?? Int64(random.below(3)), false)
        switch random.below(12) {
        case 0: from = max(0, from - Int64(random.below(4)))
        case 1: from += Int64(random.below(3))
        case 2:
            isOtherLog = stored != nil
            from = isOtherLog ? 0 : from
        default: break
        }
        var events: [ArchivedEvent] = []
        var next = from
        let again = model.log[partition] ?? [:]
        let generation = (model.generations[partition] ?? 0) + (isOtherLog ? 1 : 0)
        for _ in 0..<random.below(6) {
            // What is read a second time is what it was.
            if !isOtherLog, let old = again[next] {
                events.append(old)
            } else {
                events.append(event(at: next, generation))
            }
            next = (events.last?.offset ?? next) + 1 + Int64(random.below(2))
        }
        // Nobody reads less of a log than stands before its next event.
        let stamps = events.first.map { ArchiveBatch.Stamps(first: $0.stamp, last: events.last?.stamp ?? 0) }
        let run = ArchiveBatch.Run(
            topic: "t", partition: partition, from: from, next: next, stamps: stamps,
            continuation: isOtherLog ? .otherLog(since: nil) : .same, events: events)
        steps.append("append \(run)")
        let found = try await store.append(ArchiveBatch(runs: [run]))
        try expect(found, model.append(run), "appended")
    }

    /// Stamps of one log are never those of another one under its name: they have another remainder.
    private mutating func event(at offset: Int64, _ generation: Int64) -> ArchivedEvent {
        var stamp = now - Int64(random.isOne(in: 4) ? random.below(60) : random.below(4))
        if random.isOne(in: 10) { stamp += Int64(random.below(80)) }
        stamp = stamp / 16 * 16 + generation % 16
        let entity = pick(Self.entities)
        return ArchivedEvent(
            pick(Self.accounts), entity, "THING-\(random.below(4))", pick(["made", "changed"]), offset: offset,
            stamp: stamp, arrival: now)
    }

    private mutating func anyID() -> ArchiveID {
        if !random.isOne(in: 4), !model.events.isEmpty { return pick(model.events).id }
        return ArchiveID(
            stamp: now - Int64(random.below(80)), topic: ArchiveID.hash(ofTopic: "t"),
            partition: Int32(random.below(3)),
            offset: Int64(random.below(40)), check: 7)
    }

    private mutating func mark() async throws {
        let thing = random.isOne(in: 4) ? nil : (pick(Self.entities), "THING-\(random.below(5))")
        let mark = ReadMark(pick(Self.accounts), pick(Self.people), thing, upTo: anyID(), now: now)
        steps.append("mark \(mark)")
        try expect(try await store.mark(mark), model.mark(mark), "marked")
    }

    private mutating func erase() async throws {
        let account = Account(pick(Self.accounts))
        let moment = now - Int64(random.below(40))
        steps.append("erase \(account) until \(moment)")
        let counts = try await store.erase(account, until: moment)
        let events = model.erase(account, until: moment)
        if !model.hasLetGo { try expect(counts.events, events, "erased") }
        if random.isOne(in: 2) { try await store.overwrite() }
    }

    private mutating func reopen() async throws {
        steps.append("reopen")
        await store.close()
        store = try await place.open()
        try await comparePage()
    }

    /// What a process that is killed leaves is what stands in its files.
    private mutating func killAndOpen() async throws {
        steps.append("kill")
        switch place {
        case .file(let old):
            let new = folder.path("\(files + 1)")
            for ending in ["", "-wal"] where FileManager.default.fileExists(atPath: old + ending) {
                try FileManager.default.copyItem(atPath: old + ending, toPath: new + ending)
            }
            files += 1
            place = .file(new)
        case .database(let uri): try PostgreSQLServer.shared.cutSessions(of: uri)
        }
        await store.close()
        store = try await place.open()
        try await comparePage()
    }

    // MARK: - Answers

    private mutating func comparePage() async throws {
        var query = PageQuery(pick(Self.accounts))
        if random.isOne(in: 3) { query.before = anyID() }
        if random.isOne(in: 3) { query.after = anyID() }
        if random.isOne(in: 4) { query.from = now - Int64(random.below(80)) }
        if random.isOne(in: 4) { query.to = now - Int64(random.below(40)) }
        if random.isOne(in: 3) { query.entities = EntityFilter([pick(Self.entities), pick(Self.entities)]) }
        if query.entities?.names.count == 1, random.isOne(in: 2) { query.thing = "THING-\(random.below(5))" }
        query.isOldestFirst = random.isOne(in: 2)
        query.limit = 1 + random.below(8)
        query.wantsPositions = true
        steps.append("page \(query)")
        try expect(try await store.page(query), model.page(query), "page")
    }

    private mutating func compareInbox() async throws {
        var query = InboxQuery(pick(Self.accounts), pick(Self.people))
        if random.isOne(in: 3) { query.before = anyID() }
        if random.isOne(in: 3) { query.entities = EntityFilter([pick(Self.entities), pick(Self.entities)]) }
        query.unreadOnly = random.isOne(in: 3)
        query.limit = 1 + random.below(8)
        steps.append("inbox \(query)")
        try expect(try await store.inbox(query), model.inbox(query), "inbox")
    }

    /// Everything is compared once more; then one account is erased, and its bytes are looked for.
    private mutating func end() async throws {
        if random.isOne(in: 2) { try await TestStore.sweep(store) }
        for account in Self.accounts {
            var query = PageQuery(account)
            query.limit = 500
            try expect(try await store.page(query), model.page(query), "all events")
            for person in Self.people {
                var query = InboxQuery(account, person)
                query.limit = 500
                try expect(try await store.inbox(query), model.inbox(query), "all things")
            }
        }
        guard random.isOne(in: 4) else { return }
        for account in Self.accounts { _ = try await store.erase(Account(account), until: .max) }
        try await store.overwrite()
        guard case .file(let path) = place else { return }
        for text in Self.accounts + Self.people + Self.entities + ["THING-", "made", "changed"] {
            guard try TestStore.files(of: path, contain: text) else { continue }
            throw Difference(description: "\(text) is still in the file")
        }
    }
}
