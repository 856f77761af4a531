import Archive
import Foundation
import LiveUpdates
import Options

/// `livebench archive`: the disk space and time that an archive in SQLite or PostgreSQL needs.
struct ArchiveBench {
    private static let events = SingleOption(
        "events", .integer("N", in: 10_000...100_000_000), help: "events to fill it with (default 1000000)")
    private static let folder = SingleOption(
        "folder", .text("FOLDER"), help: "where the file is made, and deleted at the end (default: for temporary files)"
    )
    private static let database = SingleOption(
        "store", .text("URI"),
        help: "an empty database of PostgreSQL to measure instead of a file; its tables stay in it")
    private static let each = SingleOption(
        "each", .integer("N", in: 1...10), help: "events of a thing of these accounts (default 10)")
    private static let json = Flag("json", help: "print JSON instead of a table")

    static let table = Command(
        "livebench archive", summary: "measure an archive in SQLite or PostgreSQL on this machine",
        details: [
            "One event in ten is of one account with 10,000 things, the others of 10,000 accounts; a thing of these has "
                + "ten events. Pages of 50 are read at ten depths of the large account, its inbox is read for a person "
                + "with marks, and marks are set in it. At last the large account is erased, its bytes overwritten, and "
                + "another account's inbox and marks are asked for meanwhile, and before that for comparison. Times are "
                + "medians and 99th percentiles, in ms."
        ],
        options: [events, each, folder, database, json],
        statuses: [(.success, "it was measured"), (.software, "the archive refused something")])

    /// The times of one kind of call, in ms.
    struct Row {
        let name: String
        let median: Double
        let p99: Double
        let slowest: Double
    }

    private static let accounts = 10_000
    private static let thingsOfLargeAccount = 10_000
    /// The size of a gateway's batch when it has more to write than it can.
    private static let batch = ArchiveFeed.maximumBatchEvents
    private static let partitions = 16
    private static let rounds = 200
    private static let large = Account("LARGE-ACCOUNT")
    private static let firstStamp: Int64 = 1_795_240_000_000
    private static let entities = ["incident", "note", "alert", "service", "schedule"]
    private static let types = ["created", "updated", "acknowledged", "resolved", "deleted"]

    private let store: any ArchiveStore
    private let count: Int
    /// Events for each thing of the other accounts.
    private let each: Int
    private var rows: [Row] = []
    private var eventsPerSecond = 0.0
    private var bytesPerEvent = 0.0

    static func run(_ words: [String]) async -> Never {
        let arguments = table.parseOrExit(words)
        let folderPath = URL(fileURLWithPath: arguments[folder] ?? NSTemporaryDirectory())
            .appendingPathComponent("livebench-archive-\(UUID().uuidString)").path
        do {
            try FileManager.default.createDirectory(atPath: folderPath, withIntermediateDirectories: false)
        } catch {
            StandardError.line("livebench archive: no folder \(folderPath): \(error)")
            exit(ExitStatus.system.code)
        }
        let status: ExitStatus
        do {
            let path = folderPath + "/archive"
            let uri = arguments[database]
            let store: any ArchiveStore =
                if let uri {
                    try await PostgreSQLArchive.open(.init(uri: uri, server: "bench"))
                } else {
                    try await SQLiteArchive.open(path: path, server: "bench")
                }
            var bench = ArchiveBench(
                store: store, count: arguments[events] ?? 1_000_000, each: arguments[each] ?? 10)
            try await bench.measure(uri == nil ? path : nil)
            StandardOutput.write(arguments[json] ? bench.json : bench.text)
            status = .success
        } catch {
            StandardError.line("livebench archive: \(error)")
            status = .software
        }
        try? FileManager.default.removeItem(atPath: folderPath)
        exit(status.code)
    }

    private init(store: any ArchiveStore, count: Int, each: Int) {
        self.store = store
        self.count = count
        self.each = each
    }

    private mutating func measure(_ path: String?) async throws {
        try await fill()
        for depth in 0..<10 {
            var query = PageQuery(account: Self.large)
            let stamp = Self.firstStamp + Int64(count) * Int64(10 - depth) / 10
            query.before = ArchiveID(stamp: stamp, topic: .max, partition: 0, offset: 0, check: 0)
            try await time("page at \(depth * 10) %") { store, _ in _ = try await store.page(query) }
        }
        var query = PageQuery(account: Self.large)
        query.entities = EntityFilter(["note"])
        try await time("page of one entity") { store, _ in _ = try await store.page(query) }
        query.thing = "P0000000001"
        try await time("page of one thing") { store, _ in _ = try await store.page(query) }
        let end = ArchiveID(stamp: Self.firstStamp + Int64(count), topic: 0, partition: 0, offset: 0, check: 0)
        try await time("mark") { store, round in
            let number = (round * 5 + 1) % Self.thingsOfLargeAccount
            let thing = ReadMark.Thing(entity: "note", id: Self.name(number))
            _ = try await store.mark(
                ReadMark(account: Self.large, person: "person", thing: thing, upTo: end, now: end.stamp))
        }
        try await time("inbox of 10,000 things") { store, _ in
            _ = try await store.inbox(InboxQuery(account: Self.large, person: "person"))
        }
        try await erase()
        // Only a closed store has no log beside it, whose size does not depend on what the file contains.
        let size = Int(try await store.size().bytes)
        await store.close()
        bytesPerEvent = Double(path.map(Self.size) ?? size) / Double(count)
    }

    private mutating func fill() async throws {
        var microseconds: Int64 = 0
        var offsets = [Int64](repeating: 0, count: Self.partitions)
        for start in stride(from: 0, to: count, by: Self.batch) {
            var events = [[ArchivedEvent]](repeating: [], count: Self.partitions)
            let before = offsets
            for number in start..<min(count, start + Self.batch) {
                // Most events come in an order other than the table's.
                let event = event(number)
                let partition = event.account.text.utf8.reduce(0) { ($0 * 31 + Int($1)) % Self.partitions }
                events[partition].append(
                    ArchivedEvent(
                        account: event.account, event: event.event, offset: offsets[partition],
                        stamp: Self.firstStamp + Int64(number), arrival: .max))
                offsets[partition] += 1
            }
            let runs = events.indices.map { partition in
                ArchiveBatch.Run(
                    topic: "incidents", partition: Int32(partition), from: before[partition], next: offsets[partition],
                    stamps: nil, events: events[partition])
            }
            let began = BenchEvent.now()
            _ = try await store.append(ArchiveBatch(runs: runs))
            microseconds += BenchEvent.now() - began
        }
        eventsPerSecond = Double(count) * 1e6 / Double(max(1, microseconds))
    }

    private func event(_ number: Int) -> (account: Account, event: ThinEvent) {
        let (entities, accounts) = (Self.entities, Self.accounts)
        let type = Self.types[number / 7 % Self.types.count]
        if number % 10 == 0 {
            let thing = number / 10 * 7919 % Self.thingsOfLargeAccount
            return (
                Self.large, ThinEvent(entity: entities[thing % entities.count], id: Self.name(thing), type: type)
            )
        }
        let things = max(1, count / each)
        let thing = Int(UInt64(truncatingIfNeeded: number) &* 0x9E37_79B9_7F4A_7C15 >> 32) % things
        let account = Account("PACC\(10_000 + thing % accounts)")
        return (
            account,
            ThinEvent(entity: entities[thing / accounts % entities.count], id: Self.name(thing), type: type)
        )
    }

    /// Eleven characters, about as many as an incident's id.
    private static func name(_ number: Int) -> String {
        let digits = String(number)
        return "P" + String(repeating: "0", count: max(0, 10 - digits.count)) + digits
    }

    private static func size(of path: String) -> Int {
        [path, path + "-wal"].reduce(0) { sum, file in
            let attributes = try? FileManager.default.attributesOfItem(atPath: file)
            return sum + (attributes?[.size] as? Int ?? 0)
        }
    }

    private mutating func time(_ name: String, _ call: (any ArchiveStore, Int) async throws -> Void) async throws {
        var microseconds: [UInt32] = []
        for round in 0..<Self.rounds {
            let began = BenchEvent.now()
            try await call(store, round)
            microseconds.append(UInt32(clamping: BenchEvent.now() - began))
        }
        add(name, microseconds)
    }

    private mutating func add(_ name: String, _ microseconds: [UInt32]) {
        let times = Measurement.percentiles(microseconds, [0.5, 0.99, 1])
        rows.append(Row(name: name, median: times[0], p99: times[1], slowest: times[2]))
    }

    // MARK: - Erasing

    /// Polled this often, as by some people at once.
    private static let pollMilliseconds = 5

    private mutating func erase() async throws {
        try await poll("beside nothing") { _ in try await Task.sleep(for: .seconds(2)) }
        try await poll("beside an erasure") { store in
            _ = try await store.erase(Self.large, until: .max)
            while true {
                do throws(ArchiveError) {
                    return try await store.overwrite()
                } catch .stillRead {
                    continue
                }
            }
        }
    }

    /// Reads another account's inbox, and sets marks in it at the same time, repeatedly until the other work has ended.
    private mutating func poll(
        _ what: String, until work: @escaping @Sendable (any ArchiveStore) async throws -> Void
    ) async throws {
        let store = store
        let account = Account("PACC10001")
        let times = try await withThrowingTaskGroup(of: (name: String, times: [UInt32])?.self) { group in
            group.addTask {
                let times = try await Self.poll { _ in
                    _ = try await store.inbox(InboxQuery(account: account, person: "person"))
                }
                return ("inbox", times)
            }
            group.addTask {
                let times = try await Self.poll { round in
                    let stamp = Self.firstStamp + Int64(round)
                    let id = ArchiveID(stamp: stamp, topic: 0, partition: 0, offset: 0, check: 0)
                    _ = try await store.mark(
                        ReadMark(account: account, person: "person", thing: nil, upTo: id, now: stamp))
                }
                return ("mark", times)
            }
            group.addTask {
                try await work(store)
                return nil
            }
            var times: [String: [UInt32]] = [:]
            while let part = try await group.next() {
                if let part { times[part.name] = part.times } else { group.cancelAll() }
            }
            return times
        }
        for (name, times) in times.sorted(by: { $0.key < $1.key }) { add("\(name) \(what)", times) }
    }

    private static func poll(_ call: (Int) async throws -> Void) async throws -> [UInt32] {
        var times: [UInt32] = []
        repeat {
            let began = BenchEvent.now()
            try await call(times.count)
            times.append(UInt32(clamping: BenchEvent.now() - began))
            try? await Task.sleep(for: .milliseconds(pollMilliseconds))
        } while !Task.isCancelled
        return times
    }

    // MARK: - Figures

    private static func number(_ value: Double) -> String { String(format: "%.3f", value) }

    private var text: String {
        var text =
            "\(count) events: \(Int(eventsPerSecond)) written a second, \(Self.number(bytesPerEvent)) bytes each\n"
        let width = rows.map(\.name.count).max() ?? 0
        for row in rows {
            text += row.name + String(repeating: " ", count: width - row.name.count)
            text += "  p50 \(Self.number(row.median)) ms  p99 \(Self.number(row.p99)) ms"
            text += "  slowest \(Self.number(row.slowest)) ms\n"
        }
        return text
    }

    private var json: String {
        let calls = rows.map { row in
            "{\"call\":\"\(row.name)\",\"p50_ms\":\(Self.number(row.median)),\"p99_ms\":\(Self.number(row.p99)),\"slowest_ms\":"
                + "\(Self.number(row.slowest))}"
        }
        return "{\"events\":\(count),\"events_per_second\":\(Self.number(eventsPerSecond)),"
            + "\"bytes_per_event\":\(Self.number(bytesPerEvent)),\"calls\":[\(calls.joined(separator: ","))]}\n"
    }
}
