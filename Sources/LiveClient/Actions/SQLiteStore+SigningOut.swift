import LiveState
import SQLite

/// What a store holds when its account signs out.
public struct SignedOut: Equatable, Sendable {
    /// It stays where it is, for the next time. Otherwise it is deleted.
    public let isKept: Bool
    /// What somebody did and the server is not known to have: the oldest first. It is sent the next time, or deleted too.
    public let pending: [DeferredAction]

    /// What stays, or was deleted.
    public init(isKept: Bool, pending: [DeferredAction]) { (self.isKept, self.pending) = (isKept, pending) }
}

extension SQLiteStore {
    /// The store's account signs out on this device: closes the file, whose machines and actions were ended before.
    ///
    /// - Parameter keep: false deletes the file, and one that was set aside: nothing of the account is left on the device.
    /// - Returns: what stays, or what was deleted without being sent.
    @discardableResult
    public func signOut(keep: Bool = true) async throws -> SignedOut {
        let pending: [DeferredAction]
        do {
            pending = try await transaction { try SQLiteActionStore.read($0) }
        } catch  where !keep {
            // What cannot be read is deleted all the same.
            pending = []
        }
        await close()
        if !keep {
            try await Self.remove(path: path + StoreFile.asideEnding)
            try await Self.remove(path: path)
        }
        return SignedOut(isKept: keep, pending: pending.sorted { $0.at < $1.at })
    }
}
