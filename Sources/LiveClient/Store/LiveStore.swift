import LiveState
import Locks

/// Stores a machine's metadata, in one transaction with the app's state.
///
/// In an implementation of your own, `commit` writes all of it or nothing, even if the process ends. Commits of one area are
/// written in the order in which they were requested.
public protocol LiveStore: Sendable {
    /// What the app's part of a commit writes with. It is valid until that part returns.
    associatedtype Transaction

    /// Returns the metadata of an area. Nil: nothing is stored for it, which means the first start.
    func load(area: String) async throws -> UpdateMetadata?

    /// Stores the metadata, and what `changes` writes. If `changes` throws, nothing changes.
    func commit(area: String, metadata: UpdateMetadata, changes: @Sendable (Transaction) throws -> Void) async throws
}

/// Stores metadata as long as the process lives: for state that need not survive it, for example which users are typing.
public final class MemoryStore: LiveStore {
    /// The app's state is in its own memory, so there is nothing to write with.
    public struct Transaction: Sendable {}

    private let areas = Lock<[String: UpdateMetadata]>([:])

    /// Makes an empty store.
    public init() {}

    /// Returns the metadata of an area; nil if nothing is stored for it.
    public func load(area: String) async throws -> UpdateMetadata? { areas.withLock { $0[area] } }

    /// Stores the metadata, unless `changes` throws.
    public func commit(
        area: String, metadata: UpdateMetadata, changes: @Sendable (Transaction) throws -> Void
    ) async throws {
        try changes(Transaction())
        areas.withLock { $0[area] = metadata }
    }
}

/// Why a store cannot be used, or why a request to it failed.
public enum StoreError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The file was written by another version of the app, or of the SDK.
    case otherSchema(found: Int64, wanted: Int64)
    /// The file belongs to another account.
    case otherAccount(found: String, wanted: String)
    /// The data in the file came from another server.
    case otherServer(found: String, wanted: String)
    /// The file is the database of another program.
    case notAStore(path: String)
    /// The file was corrupt. It is at this path now, and the store was recreated empty.
    case corrupt(setAside: String)
    /// It did not answer in time: the disk hangs, or another process holds the file. A retry may succeed.
    case noAnswer
    /// ``SQLiteStore/close()`` was called.
    case closed
    /// SQLite's extended result code (sqlite.org/rescode.html), and its message. The code is 0 for an error of another store.
    case failed(code: Int, message: String)

    /// What failed, for a log. It does not contain the account.
    public var description: String {
        switch self {
        case .otherSchema(let found, let wanted): "the store has schema \(found), not \(wanted); it is left as it is"
        case .otherAccount: "the store is another account's; it is left as it is"
        case .otherServer(let found, let wanted): "the store is of \(found), not of \(wanted); it is left as it is"
        case .notAStore(let path): "\(path) is no store of this SDK; it is left as it is"
        case .corrupt(let path): "the store was corrupt and was recreated; the old one is at \(path)"
        case .noAnswer: "the store does not answer"
        case .closed: "the store is closed"
        case .failed(0, let message): "the store has failed: \(message)"
        case .failed(let code, let message): "SQLite error \(code): \(message)"
        }
    }
}

extension StoreError {
    /// Primary result codes that do not concern the stored data: busy, locked, no memory, interrupted, an error of the disk,
    /// full, the file cannot be opened, the locks of the log.
    private static let passingCodes = [5, 6, 7, 9, 10, 13, 14, 15]

    /// Whether a retry may succeed with the file as it is: another process holds it, the disk fails, or the store did not answer
    /// in time.
    public var mayPass: Bool {
        switch self {
        case .noAnswer: true
        // The lowest byte of an extended code is the primary one.
        case .failed(let code, _): Self.passingCodes.contains(code & 0xFF)
        case .otherSchema, .otherAccount, .otherServer, .notAStore, .corrupt, .closed: false
        }
    }

    /// Whether the store was recreated.
    var isCorrupt: Bool { if case .corrupt = self { true } else { false } }

    /// Makes the error from what any store has thrown.
    init(reading error: any Error) {
        self = error as? StoreError ?? .failed(code: 0, message: "\(error)")
    }
}
