import LiveState
import Locks

/// Stores what users did, together with the local state that shows it.
///
/// In an implementation of your own, `commit` writes all changes or none, even if the process ends. Its table has (kind, id) as
/// its primary key, so that two opposite statuses of one thing cannot both be present.
public protocol ActionStore: Sendable {
    /// All rows, in any order.
    func loadActions() async throws -> [DeferredAction]

    /// Writes rows and local state in one transaction, in the order of the changes.
    func commit(_ changes: [ActionChange]) async throws
}

/// One write of an ``ActionStore``.
public enum ActionChange: Equatable, Sendable {
    /// Write the row of its (kind, id), and replace any other.
    case persist(DeferredAction)
    /// Delete the row of (kind, id).
    case delete(kind: String, id: String)
    /// Set this status in the local state. Nil: it is unknown what the server has, so the thing has to be reloaded.
    case show(kind: String, id: String, value: String?)

    /// Nil if the effect is not a write.
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

/// Stores actions in memory, as long as the process lives.
public final class MemoryActionStore: ActionStore {
    private struct Name: Hashable {
        let kind: String
        let id: String
    }

    private let rows = Lock<[Name: DeferredAction]>([:])
    private let show: @Sendable (_ kind: String, _ id: String, _ value: String?) -> Void

    /// - Parameter show: sets a status in the local state; nil: the thing has to be reloaded.
    public init(show: @escaping @Sendable (_ kind: String, _ id: String, _ value: String?) -> Void) { self.show = show }

    /// All stored actions.
    public func loadActions() async throws -> [DeferredAction] { rows.withLock { Array($0.values) } }

    /// Makes the changes in order. It never throws.
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
