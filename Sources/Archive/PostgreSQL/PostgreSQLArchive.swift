import LiveUpdates
import PostgreSQL
import SQLite
import Synchronization

/// An archive in a database of PostgreSQL, for a fleet: each node writes the partitions whose locks it holds, and reads all.
///
/// One thread writes, one moves marks, one vacuums, a few read, one listens, each with a session of its own.
package final class PostgreSQLArchive: ArchiveStore {
    package struct Settings: Sendable {
        /// A libpq URI.
        let uri: String
        /// The Kafka cluster whose events it holds, by its id.
        let server: String
        let readers: Int
        /// A page, an inbox or a mark is answered or refused within this time, waiting included.
        let milliseconds: UInt64
        /// A writing node that sends nothing for so long is stopped or cut off: its session ends, and its locks are free.
        let idleMilliseconds: UInt64
        /// How often the session that listens for marks checks that the server still answers.
        let askMilliseconds: UInt64
        /// Asked for each connection.
        let password: @Sendable () throws(PostgreSQLError) -> String?

        package init(
            uri: String, server: String, readers: Int = defaultReaders, milliseconds: UInt64 = defaultMilliseconds,
            idleMilliseconds: UInt64 = defaultIdleMilliseconds,
            askMilliseconds: UInt64 = MarkSession.askMilliseconds,
            password: @escaping @Sendable () throws(PostgreSQLError) -> String? = { () throws(PostgreSQLError) in nil }
        ) {
            precondition((1...64).contains(readers), "an archive is read by a few")
            self.uri = uri
            self.server = server
            self.readers = readers
            self.milliseconds = milliseconds
            self.idleMilliseconds = idleMilliseconds
            self.askMilliseconds = askMilliseconds
            self.password = password
        }
    }

    /// The maximum of waiting calls; further calls are refused.
    package static let maximumWaiting = 1000
    package static let defaultReaders = 3
    /// Below the 2 s within which a caller has an answer or a refusal.
    package static let defaultMilliseconds: UInt64 = 1_800
    package static let defaultIdleMilliseconds: UInt64 = 10_000
    /// For one statement of the writer: a batch needs some tenths of a second. The feeder reports one that needs more than 2 s.
    static let writeMilliseconds: UInt64 = 10_000
    /// Between two checks whether another node has ended its erasure.
    private static let erasurePause = 50

    /// Open to tests: a blocked thread is what the other nodes see of a stopped node.
    let writer: ThreadBound<PostgreSQLWriter>
    private let marker: ThreadBound<PostgreSQLMarker>
    private let vacuumer: ThreadBound<PostgreSQLVacuumer>
    private let readers: [ThreadBound<PostgreSQLReader>]
    private let listener: MarkListener
    private let interruption: Interruption
    private let settings: Settings
    /// This node, among those that notify each other of marks. Open to tests.
    let sender: String
    /// Calls of each reader, and of the marker, the writer and the one that vacuums behind them, that have not been answered.
    private let waiting: Mutex<[Int]>

    private init(
        _ settings: Settings, moved: @escaping @Sendable (MarkMessage) -> Void
    ) throws(SQLiteError) {
        self.settings = settings
        interruption = Interruption()
        sender = String(UInt64.random(in: .min ... .max), radix: 16)
        writer = try ThreadBound()
        marker = try ThreadBound()
        vacuumer = try ThreadBound()
        var threads: [ThreadBound<PostgreSQLReader>] = []
        for _ in 0..<settings.readers { threads.append(try ThreadBound()) }
        readers = threads
        listener = try MarkListener(interruption: interruption, moved: moved)
        waiting = Mutex(Array(repeating: 0, count: settings.readers + 3))
    }

    /// Connects to the archive of this server, or makes its tables.
    ///
    /// - Parameter moved: called for marks that other nodes have moved, from any thread.
    package static func open(
        _ settings: Settings, moved: @escaping @Sendable (MarkMessage) -> Void = { _ in }
    ) async throws(ArchiveError) -> PostgreSQLArchive {
        do {
            let archive = try PostgreSQLArchive(settings, moved: moved)
            do {
                try await archive.open()
            } catch {
                await archive.close()
                throw error
            }
            return archive
        } catch {
            throw ArchiveError(postgreSQL: error)
        }
    }

    private func open() async throws {
        let (settings, interruption, locks) = (settings, interruption, LockKey(server: settings.server))
        let channel = Self.channel(settings.server)
        try await writer.open {
            try SessionProbe.check {
                Session(
                    .init(uri: settings.uri, password: settings.password, milliseconds: settings.milliseconds),
                    interruption: interruption
                ) { _ in }
            }
            let writer = PostgreSQLWriter(Self.writing(settings, interruption), locks)
            // Makes the tables.
            try writer.session.run { _ in }
            return writer
        }
        try await marker.open { [sender] in
            let session = Self.answering(settings, interruption) { _ in }
            return PostgreSQLMarker(PostgreSQLWriter(session, locks), channel: channel, sender: sender)
        }
        try await vacuumer.open {
            PostgreSQLVacuumer(
                Self.answering(settings, interruption) { try $0.command(PostgreSQLVacuumer.settings) }, locks)
        }
        for reader in readers {
            try await reader.open { PostgreSQLReader(Self.answering(settings, interruption) { _ in }) }
        }
        Task { await speak() }
        try await listener.start {
            MarkSession(
                Self.answering(settings, interruption) { _ in }, channel: channel,
                askMilliseconds: settings.askMilliseconds)
        }
    }

    /// Keeps the writer's session alive, which may have nothing to do between two batches. A stopped node loses it.
    private func speak() async {
        while !interruption.isSet {
            try? await Task.sleep(for: .milliseconds(settings.idleMilliseconds / 10))
            guard (try? await writer.run({ $0.session.speak() })) != nil else { return }
        }
    }

    static func channel(_ server: String) -> String {
        "livegate_" + String(UInt64(bitPattern: LockKey.hash(server)), radix: 16)
    }

    /// Positions are in the transactions of their rows: what a failure of the server loses is read again.
    private static func writing(_ settings: Settings, _ interruption: Interruption) -> Session {
        Session(
            .init(
                uri: settings.uri, password: settings.password, milliseconds: settings.milliseconds,
                statementMilliseconds: writeMilliseconds, isReplaceable: false), interruption: interruption
        ) { connection in
            try PostgreSQLSchema.prepare(connection, statementMilliseconds: Int(writeMilliseconds))
            try connection.command("SET synchronous_commit = off")
            try connection.command("SET idle_session_timeout = \(settings.idleMilliseconds)")
            try PostgreSQLSchema.open(connection, server: settings.server)
        }
    }

    static func answering(
        _ settings: Settings, _ interruption: Interruption, _ prepare: @escaping (Connection) throws -> Void
    ) -> Session {
        Session(
            .init(uri: settings.uri, password: settings.password, milliseconds: settings.milliseconds),
            interruption: interruption
        ) { connection in
            try PostgreSQLSchema.prepare(connection, statementMilliseconds: Int(settings.milliseconds))
            try prepare(connection)
        }
    }

    package func close() async {
        interruption.set()
        await listener.close()
        for reader in readers { await reader.close() }
        await marker.close()
        await vacuumer.close()
        await writer.close()
    }

    // MARK: - Calls

    package func append(_ batch: ArchiveBatch) async throws(ArchiveError) -> AppendOutcome {
        try await write { try $0.append(batch) }
    }

    package func positions() async throws(ArchiveError) -> [StoredPosition] { try await read { try $0.positions } }

    package func claim(_ partitions: [ArchivePartition]) async throws(ArchiveError) -> [ClaimedPartition] {
        try await write { try $0.claim(partitions) }
    }

    package func size() async throws(ArchiveError) -> ArchiveSize { try await read { try $0.size } }

    package func page(_ query: PageQuery) async throws(ArchiveError) -> EventPage {
        try await read { try $0.page(query) }
    }

    package func inbox(_ query: InboxQuery) async throws(ArchiveError) -> InboxPage {
        try await read { try $0.inbox(query) }
    }

    package func mark(_ mark: ReadMark) async throws(ArchiveError) -> MarkOutcome {
        let message = MarkMessage(mark)
        listener.begin(message)
        var outcome: MarkOutcome?
        defer { listener.end(message, outcome) }
        let found = try await call(marker, readers.count) { try $0.mark(mark) }
        outcome = found
        return found
    }

    package func clock() async throws(ArchiveError) -> StoreClock { try await write { try $0.clock } }

    package func keep(from stamp: Int64) async throws(ArchiveError) { try await write { try $0.keep(from: stamp) } }

    package func sweep() async throws(ArchiveError) -> Bool { try await write { try $0.sweep() } }

    package func erasureEnd(
        _ account: Account, stamped stamp: Int64, readAt moment: Int64
    ) async throws(ArchiveError) -> Int64 {
        try await write { try $0.erasureEnd(account, stamped: stamp, readAt: moment) }
    }

    package func erase(_ account: Account, until moment: Int64) async throws(ArchiveError) -> ErasureCounts {
        while try await !write({ try $0.beginErasing() }) {
            try? await Task.sleep(for: .milliseconds(Self.erasurePause))
        }
        do throws(ArchiveError) {
            let counts = try await eraseAlone(account, until: moment)
            try await write { try $0.endErasing() }
            return counts
        } catch {
            // Where the session is lost, the lock has gone with it.
            try? await write { try $0.endErasing() }
            throw error
        }
    }

    private func eraseAlone(_ account: Account, until moment: Int64) async throws(ArchiveError) -> ErasureCounts {
        var counts = ErasureCounts()
        while true {
            let step = try await write { try $0.erase(account, until: moment) }
            counts.events += step.counts.events
            counts.marks += step.counts.marks
            guard step.more else { return counts }
        }
    }

    package func overwrite() async throws(ArchiveError) {
        while try await call(vacuumer, readers.count + 2, { try $0.vacuum() }) {}
    }

    package func isToBeOverwritten() async throws(ArchiveError) -> Bool {
        try await write { try $0.session.run { try VacuumPass($0).step != .none } }
    }

    // MARK: - Threads

    private func write<Value: Sendable>(
        _ body: @Sendable (PostgreSQLWriter) throws -> Value
    ) async throws(ArchiveError) -> Value {
        try await call(writer, readers.count + 1, body)
    }

    private func read<Value: Sendable>(
        _ body: @Sendable (PostgreSQLReader) throws -> Value
    ) async throws(ArchiveError) -> Value {
        let index = waiting.withLock { counts in
            readers.indices.min { counts[$0] < counts[$1] } ?? 0
        }
        return try await call(readers[index], index, body)
    }

    private func call<Owner, Value: Sendable>(
        _ thread: ThreadBound<Owner>, _ index: Int, _ body: @Sendable (Owner) throws -> Value
    ) async throws(ArchiveError) -> Value {
        try begin(index)
        defer { waiting.withLock { $0[index] -= 1 } }
        let value: Value?
        do {
            value = try await thread.run(body)
        } catch {
            throw interruption.isSet ? .closed : ArchiveError(postgreSQL: error)
        }
        guard let value else { throw .closed }
        return value
    }

    private func begin(_ index: Int) throws(ArchiveError) {
        let isFull = waiting.withLock { counts in
            guard counts.reduce(0, +) < Self.maximumWaiting else { return true }
            counts[index] += 1
            return false
        }
        if isFull { throw .overloaded(maximumWaiting: Self.maximumWaiting) }
    }
}
