import LiveState
import Synchronization

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

    private let areas = Mutex<[String: UpdateMetadata]>([:])

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
    /// The file is no store of this SDK.
    case notAStore(path: String)
    /// ``SQLiteStore/close()`` was called.
    case closed
    /// SQLite's extended result code (sqlite.org/rescode.html), and its message.
    case failed(code: Int, message: String)

    /// What failed, for a log; no account stands in it.
    public var description: String {
        switch self {
        case .otherSchema(let found, let wanted): "the store has schema \(found), not \(wanted); it is left as it is"
        case .otherAccount: "the store is another account's; it is left as it is"
        case .otherServer(let found, let wanted): "the store is of \(found), not of \(wanted); it is left as it is"
        case .notAStore(let path): "\(path) is no store of this SDK; it is left as it is"
        case .closed: "the store is closed"
        case .failed(let code, let message): "SQLite error \(code): \(message)"
        }
    }
}
