import SQLite
import Synchronization

/// How long the write-ahead log of an archive becomes, in bytes.
struct LogLimits: Sendable {
    enum Step: Equatable, Sendable {
        case none, checkpoint, wait, cut
    }

    /// Above it the log is written into the file, beside the writer.
    var checkpoint = 32 << 20
    /// Above it the writer waits until that is done, so that the log begins from its start again: then it is no longer than
    /// this and one transaction. The log's file stays so long: to find its room anew took a tenth of the writer's time.
    var wait = 256 << 20
    /// Above it, where somebody reads all the time, the log is cut as soon as nobody does.
    var cut = 512 << 20

    /// What is to be done after a transaction that leaves the log at so many bytes.
    func step(_ bytes: Int, isCheckpointing: Bool) -> Step {
        if bytes > cut { return .cut }
        if bytes > wait { return .wait }
        return bytes > checkpoint && !isCheckpointing ? .checkpoint : .none
    }
}

/// Keeps the write-ahead log of an archive short: writes it into the file on a thread of its own, while the writer is in its
/// next transaction, so that one waits for the disk while the other works.
///
/// SQLite begins the log from its start where all of it stands in the file before a transaction begins. Where batch follows
/// batch that never happens, so that the writer waits for it now and then (``LogLimits``).
final class ArchiveLog: Sendable {
    private let checkpointer: ThreadBound<Database>
    private let isCheckpointing = Atomic(false)
    /// The writer's; nil before the archive is open.
    private let pages = Mutex<LogPages?>(nil)

    private let limits: LogLimits

    init(_ limits: LogLimits) throws(SQLiteError) {
        self.limits = limits
        checkpointer = try ThreadBound()
    }

    /// Opens a connection of its own to the file that the writer has opened.
    func open(path: String, of writer: ThreadBound<ArchiveWriter>) async throws {
        let counted = try await writer.run { $0.database.logPages }
        pages.withLock { $0 = counted }
        try await checkpointer.open {
            let database = try Database(path: path)
            try ArchiveSchema.openForCheckpoints(database)
            return database
        }
    }

    func close() async { await checkpointer.close() }

    /// To be called after each transaction. What fails, as on a full disk, is tried again after the next one.
    func keepShort(_ writer: ThreadBound<ArchiveWriter>) async {
        let bytes = (pages.withLock { $0?.count } ?? 0) * ArchiveSchema.pageBytes
        switch limits.step(bytes, isCheckpointing: isCheckpointing.load(ordering: .relaxed)) {
        case .none: break
        case .checkpoint:
            guard !isCheckpointing.exchange(true, ordering: .relaxed) else { return }
            Task {
                try? await checkpoint()
                isCheckpointing.store(false, ordering: .relaxed)
            }
        // Behind the one that is being made.
        case .wait: try? await checkpoint()
        case .cut:
            try? await checkpoint()
            // Readers keep it for as long as they read: then the next call tries again.
            _ = try? await writer.run { try $0.database.cutLog(waitingMilliseconds: 50) }
        }
    }

    private func checkpoint() async throws { try await checkpointer.run { try $0.checkpoint() } }
}
