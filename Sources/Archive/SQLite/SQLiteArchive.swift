import LiveUpdates
import SQLite
import Synchronization

/// An archive in one file of SQLite, for one node: one thread writes, a few read.
package final class SQLiteArchive: ArchiveStore {
    /// The maximum of waiting calls; further calls are refused.
    package static let maximumWaiting = 1000
    package static let defaultReaders = 2
    /// Attempts to cut the log while it has readers, each ``ArchiveWriter/logMilliseconds`` long. If they are made again each
    /// second, the writer has nine tenths of its time.
    static let cutAttempts = 5

    private let writer: ThreadBound<ArchiveWriter>
    private let readers: [ThreadBound<ArchiveReader>]
    private let log: ArchiveLog
    /// Calls of each reader, and of the writer behind them, that have not been answered.
    private let waiting: Mutex<[Int]>

    private init(readers: Int, _ limits: LogLimits) throws(SQLiteError) {
        writer = try ThreadBound()
        var threads: [ThreadBound<ArchiveReader>] = []
        for _ in 0..<readers { threads.append(try ThreadBound()) }
        self.readers = threads
        log = try ArchiveLog(limits)
        waiting = Mutex(Array(repeating: 0, count: readers + 1))
    }

    /// Opens the archive of this server, which is a Kafka cluster by its id, or makes one.
    package static func open(
        path: String, server: String, readers: Int = defaultReaders
    ) async throws(ArchiveError) -> SQLiteArchive {
        try await open(path: path, server: server, readers: readers, LogLimits())
    }

    static func open(
        path: String, server: String, readers: Int, _ limits: LogLimits
    ) async throws(ArchiveError) -> SQLiteArchive {
        precondition((1...64).contains(readers), "an archive is read by a few")
        do {
            let archive = try SQLiteArchive(readers: readers, limits)
            try await archive.writer.open {
                try ArchiveWriter(path: path, server: server, keptLogBytes: limits.wait)
            }
            try await archive.log.open(path: path, of: archive.writer)
            for reader in archive.readers { try await reader.open { try ArchiveReader(path: path) } }
            return archive
        } catch {
            throw ArchiveError(error)
        }
    }

    /// Gives a damaged file another name in the same folder, and returns it. No process may have it open.
    package static func setAside(path: String, moment: Int64) throws(ArchiveError) -> String {
        let other = "\(path).damaged-\(moment)"
        do throws(SQLiteError) {
            try Database.rename(path: path, to: other)
        } catch {
            throw ArchiveError(error)
        }
        return other
    }

    package func close() async {
        for reader in readers { await reader.close() }
        await log.close()
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
        try await write(mayWaitForLog: false) { try $0.mark(mark) }
    }

    package func clock() async throws(ArchiveError) -> StoreClock {
        try await write { StoreClock(now: nil, horizon: $0.horizon) }
    }

    package func keep(from stamp: Int64) async throws(ArchiveError) { try await write { try $0.keep(from: stamp) } }

    package func sweep() async throws(ArchiveError) -> Bool { try await write { try $0.sweep() } }

    package func erasureEnd(
        _ account: Account, stamped stamp: Int64, readAt moment: Int64
    ) async throws(ArchiveError) -> Int64 {
        try await write { try $0.erasureEnd(account, stamped: stamp, readAt: moment) }
    }

    package func erase(_ account: Account, until moment: Int64) async throws(ArchiveError) -> ErasureCounts {
        var counts = ErasureCounts()
        while true {
            let step = try await write { try $0.erase(account, until: moment) }
            counts.events += step.counts.events
            counts.marks += step.counts.marks
            guard step.more else { return counts }
        }
    }

    /// First the log, then the file. After the cut, no page that is read or written has anything of what was erased before,
    /// even if another program writes the log into the file.
    package func overwrite() async throws(ArchiveError) {
        guard try await isToBeOverwritten() else { return }
        if !log.isCleaning { try await cutLog() }
        do {
            try await log.cleanPages()
        } catch {
            // SQLITE_BUSY: another program makes a checkpoint.
            throw (error as? SQLiteError).map { $0.code & 0xFF } == 5 ? .stillRead : ArchiveError(error)
        }
        guard try await write({ try $0.setOverwritten() }) else { throw .stillRead }
    }

    private func cutLog() async throws(ArchiveError) {
        for _ in 0..<Self.cutAttempts {
            // Concurrently with the writer, so that little is left for it.
            await log.fileLog()
            await log.hold()
            defer { log.release() }
            if try await write({ try $0.cutLog() }) { return }
        }
        throw .stillRead
    }

    package func isToBeOverwritten() async throws(ArchiveError) -> Bool {
        try await write { try $0.isToBeOverwritten }
    }

    // MARK: - Threads

    private func write<Value: Sendable>(
        mayWaitForLog: Bool = true, _ body: @Sendable (ArchiveWriter) throws -> Value
    ) async throws(ArchiveError) -> Value {
        try begin(readers.count)
        defer { end(readers.count) }
        let value: Value?
        do {
            value = try await writer.run(body)
        } catch {
            await log.keepShort(writer, mayWait: mayWaitForLog)
            throw ArchiveError(error)
        }
        await log.keepShort(writer, mayWait: mayWaitForLog)
        guard let value else { throw .closed }
        return value
    }

    private func read<Value: Sendable>(
        _ body: @Sendable (ArchiveReader) throws -> Value
    ) async throws(ArchiveError) -> Value {
        let index = waiting.withLock { counts in
            readers.indices.min { counts[$0] < counts[$1] } ?? 0
        }
        try begin(index)
        defer { end(index) }
        let value: Value?
        do {
            value = try await readers[index].run(body)
        } catch {
            throw ArchiveError(error)
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

    private func end(_ index: Int) { waiting.withLock { $0[index] -= 1 } }
}
