import LiveState
import Locks

/// Where a machine keeps its metadata, in one transaction with the app's state.
///
/// Whoever writes another: `commit` does all of it or nothing, whatever happens to the process, and commits of one area follow
/// in the order in which they were asked for.
public protocol LiveStore: Sendable {
    /// What the app's part of a commit is given to write with; valid until that part returns.
    associatedtype Transaction

    /// The metadata of an area. Nil: nothing is stored of it, which is the first start.
    func load(area: String) async throws -> UpdateMetadata?

    /// Stores the metadata, and what `changes` writes. What `changes` throws leaves everything as it was.
    func commit(area: String, metadata: UpdateMetadata, changes: @Sendable (Transaction) throws -> Void) async throws
}

/// Keeps metadata for as long as the process lives: for state that need not survive it, such as who is typing.
public final class MemoryStore: LiveStore {
    /// The app's state is its own memory: there is nothing to write with.
    public struct Transaction: Sendable {}

    private let areas = Lock<[String: UpdateMetadata]>([:])

    /// Nothing is stored yet.
    public init() {}

    /// The metadata of an area; nil: nothing is stored of it.
    public func load(area: String) async throws -> UpdateMetadata? { areas.withLock { $0[area] } }

    /// Keeps the metadata, unless `changes` throws.
    public func commit(
        area: String, metadata: UpdateMetadata, changes: @Sendable (Transaction) throws -> Void
    ) async throws {
        try changes(Transaction())
        areas.withLock { $0[area] = metadata }
    }
}

/// What a store is asked to be, and what was found in its place.
public enum StoreError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The file was written by another version of the app, or of the SDK.
    case otherSchema(found: Int64, wanted: Int64)
    /// The file is another account's.
    case otherAccount(found: String, wanted: String)
    /// What is in the file came from another server.
    case otherServer(found: String, wanted: String)
    /// The file is another program's database.
    case notAStore(path: String)
    /// The file was corrupt. It is at this path now, and in its place the store has begun anew, with nothing in it.
    case corrupt(setAside: String)
    /// It did not answer in time: a disk that hangs, or another process that holds the file. Asking again may help.
    case noAnswer
    /// ``SQLiteStore/close()`` was called.
    case closed
    /// SQLite's extended result code (sqlite.org/rescode.html), and its message. 0: what another store than SQLite's has thrown.
    case failed(code: Int, message: String)

    /// What failed, for a log; no account stands in it.
    public var description: String {
        switch self {
        case .otherSchema(let found, let wanted): "the store has schema \(found), not \(wanted); it is left as it is"
        case .otherAccount: "the store is another account's; it is left as it is"
        case .otherServer(let found, let wanted): "the store is of \(found), not of \(wanted); it is left as it is"
        case .notAStore(let path): "\(path) is no store of this SDK; it is left as it is"
        case .corrupt(let path): "the store was corrupt and has begun anew; what it was is at \(path)"
        case .noAnswer: "the store does not answer"
        case .closed: "the store is closed"
        case .failed(0, let message): "the store has failed: \(message)"
        case .failed(let code, let message): "SQLite error \(code): \(message)"
        }
    }
}

extension StoreError {
    /// Primary result codes that say nothing of what is stored: busy, locked, no memory, interrupted, an error of the disk, full,
    /// the file cannot be opened, the locks of the log.
    private static let passingCodes = [5, 6, 7, 9, 10, 13, 14, 15]

    /// Whether asking again may help, as things stand in the file already: it is held by another process, the disk fails, or did
    /// not answer in time.
    public var mayPass: Bool {
        switch self {
        case .noAnswer: true
        // The lowest byte of an extended code is the primary one.
        case .failed(let code, _): Self.passingCodes.contains(code & 0xFF)
        case .otherSchema, .otherAccount, .otherServer, .notAStore, .corrupt, .closed: false
        }
    }

    /// Whether the store has begun anew.
    var isCorrupt: Bool { if case .corrupt = self { true } else { false } }

    /// What any store has thrown.
    init(reading error: any Error) {
        self = error as? StoreError ?? .failed(code: 0, message: "\(error)")
    }
}
