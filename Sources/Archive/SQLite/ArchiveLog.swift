import SQLite
import Synchronization

/// How long the write-ahead log of an archive becomes, in bytes.
struct LogLimits: Sendable {
    enum Step: Equatable, Sendable {
        case none, checkpoint, wait, cut
    }

    /// Above it the log is written into the file, concurrently with the writer.
    var checkpoint = 32 << 20
    /// Above it the writer waits until that is done, so that the log begins from its start again. It is then at most as long as
    /// this and one transaction. Its file keeps that size: to allocate it again cost a tenth of the writer's time.
    var wait = 256 << 20
    /// Above it, if there are readers all the time, the log is cut at the first moment without one.
    var cut = 512 << 20

    /// What is to be done after a transaction that leaves the log at so many bytes.
    func step(_ bytes: Int, isCheckpointing: Bool) -> Step {
        if bytes > cut { return .cut }
        if bytes > wait { return .wait }
        return bytes > checkpoint && !isCheckpointing ? .checkpoint : .none
    }
}

/// Keeps the write-ahead log of an archive short. It writes the log into the file on a thread of its own, while the writer is
/// in its next transaction. So one waits for the disk while the other works.
///
/// SQLite begins the log from its start if all of it is in the file before a transaction begins. Where batch follows batch that
/// never happens, so the writer waits for it now and then (``LogLimits``).
final class ArchiveLog: Sendable {
    private let checkpointer: ThreadBound<Database>
    private let limits: LogLimits
    /// A checkpoint is being made, or waits for its turn.
    private let isCheckpointing = Atomic(false)
    /// None is to be made.
    private let isHeld = Atomic(false)
    /// The writer's; nil before the archive is open.
    private let pages = Mutex<LogPages?>(nil)
    /// The page where the pass over the file's pages goes on; nil: no pass is running.
    private let nextPage = Mutex<Int?>(nil)

    init(_ limits: LogLimits) throws(SQLiteError) {
        self.limits = limits
        checkpointer = try ThreadBound()
    }

    /// Opens a connection of its own to the file that the writer has opened.
    func open(path: String, of writer: ThreadBound<ArchiveWriter>) async throws {
        let counted = try await writer.run { $0.database.logPages }
        pages.withLock { $0 = counted }
        try await checkpointer.open {
            let database = try Database(path: path, cleansPages: true)
            try ArchiveSchema.openForCheckpoints(database)
            return database
        }
    }

    func close() async { await checkpointer.close() }

    /// To be called after each call of the writer. What it stores for a waiting person does not wait for the disk here. The
    /// next call repeats what fails, as on a full disk.
    func keepShort(_ writer: ThreadBound<ArchiveWriter>, mayWait: Bool) async {
        let bytes = (pages.withLock { $0?.count } ?? 0) * ArchiveSchema.pageBytes
        let step = limits.step(bytes, isCheckpointing: isCheckpointing.load(ordering: .relaxed))
        switch step {
        case .none: break
        case .wait where mayWait:
            // Behind the one that is being made.
            try? await checkpoint()
        case .cut where mayWait:
            try? await checkpoint()
            // While there are readers the log cannot be cut: then the next call tries again.
            _ = try? await writer.run { try $0.database.cutLog(waitingMilliseconds: 50) }
        case .checkpoint, .wait, .cut:
            guard !isCheckpointing.exchange(true, ordering: .relaxed) else { return }
            Task {
                try? await checkpoint()
                isCheckpointing.store(false, ordering: .relaxed)
            }
        }
    }

    /// A pass over the file's pages has begun, and was stopped by an error.
    var isCleaning: Bool { nextPage.withLock { $0 != nil } }

    /// Overwrites what deleted rows have left behind in the file's pages, while others read and write.
    ///
    /// - Throws: `SQLITE_BUSY` where another connection makes a checkpoint. The next call goes on behind the clean pages.
    func cleanPages() async throws {
        var page: Int? = nextPage.withLock { $0 ?? 0 }
        while let first = page {
            nextPage.withLock { $0 = first }
            guard let next = try await checkpointer.run({ try $0.cleanPages(from: first) }) else {
                throw ArchiveError.closed
            }
            page = next
        }
        nextPage.withLock { $0 = nil }
    }

    /// Writes the part of the log into the file that has no readers.
    func fileLog() async { try? await checkpoint() }

    /// Until ``release()`` no checkpoint is made here: the writer makes one, which another checkpoint must not block.
    func hold() async {
        isHeld.store(true, ordering: .relaxed)
        // Behind the one that is being made.
        _ = try? await checkpointer.run { _ in }
    }

    func release() { isHeld.store(false, ordering: .relaxed) }

    private func checkpoint() async throws {
        guard let pages = pages.withLock({ $0 }) else { return }
        try await checkpointer.run { database in
            if !isHeld.load(ordering: .relaxed) { try database.checkpoint(pages) }
        }
    }
}
