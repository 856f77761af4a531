import LiveState
import Locks

/// Keeps what users did, beside the local state that shows it.
///
/// Whoever writes another: `commit` does all of it or nothing, whatever happens to the process, and its table has (kind, id) as
/// its primary key, so that opposite statuses cannot stand together.
public protocol ActionStore: Sendable {
    /// All rows, in any order.
    func loadActions() async throws -> [DeferredAction]

    /// Writes rows and local state in one transaction, in this order.
    func commit(_ changes: [ActionChange]) async throws
}

/// One write of an ``ActionStore``.
public enum ActionChange: Equatable, Sendable {
    /// Write the row of its (kind, id), in place of any other.
    case persist(DeferredAction)
    /// Delete the row of (kind, id).
    case delete(kind: String, id: String)
    /// Let the local state have this status; nil: it is not known what the server has, the thing is to be reloaded.
    case show(kind: String, id: String, value: String?)

    /// Nil: the effect is no write.
    init?(_ effect: ActionQueue.Effect) {
        switch effect {
        case .persist(let action): self = .persist(action)
        case .delete(let kind, let id): self = .delete(kind: kind, id: id)
        case .apply(let kind, let id, let value): self = .show(kind: kind, id: id, value: value)
        case .undo(let kind, let id, let value): self = .show(kind: kind, id: id, value: value)
        case .send, .requestToken, .rejected, .expired, .refused, .unauthorized: return nil
        }
    }
}

/// Keeps actions for as long as the process lives.
public final class MemoryActionStore: ActionStore {
    private struct Name: Hashable {
        let kind: String
        let id: String
    }

    private let rows = Lock<[Name: DeferredAction]>([:])
    private let show: @Sendable (_ kind: String, _ id: String, _ value: String?) -> Void

    /// - Parameter show: gives the local state a status; nil: the thing is to be reloaded.
    public init(show: @escaping @Sendable (_ kind: String, _ id: String, _ value: String?) -> Void) { self.show = show }

    /// All actions that are kept.
    public func loadActions() async throws -> [DeferredAction] { rows.withLock { Array($0.values) } }

    /// Makes the changes in their order. It throws nothing.
    public func commit(_ changes: [ActionChange]) async throws {
        for change in changes {
            switch change {
            case .persist(let action):
                rows.withLock { $0[Name(kind: action.kind, id: action.id)] = action }
            case .delete(let kind, let id): rows.withLock { $0[Name(kind: kind, id: id)] = nil }
            case .show(let kind, let id, let value): show(kind, id, value)
            }
        }
    }
}
