import LiveState

/// Keeps actions in a ``SQLiteStore``, in the transaction that writes the app's tables.
public final class SQLiteActionStore: ActionStore {
    /// Gives the app's tables a status; nil: the thing is to be reloaded. What it throws leaves everything as it was.
    public typealias Show =
        @Sendable (
            _ kind: String, _ id: String, _ value: String?, _ transaction: StoreTransaction
        ) throws -> Void

    /// What the store calls actions.
    private static let part = "actions"

    private let store: SQLiteStore
    private let show: Show

    /// Makes the table where it is missing.
    ///
    /// - Parameter deadline: so long that may take, in ms. It throws ``StoreError/noAnswer`` then; making it again does no harm.
    public init(_ store: SQLiteStore, deadline: Milliseconds = 10_000, show: @escaping Show) async throws {
        self.store = store
        self.show = show
        // The primary key is the rule itself: no two values of a kind for one thing. No two rows have the same key, so that a
        // fault here ends with an error instead of an action that the server takes for another one.
        try await Deadline.run(milliseconds: deadline, late: StoreError.noAnswer) {
            try await store.add { transaction in
                try transaction.execute(
                    """
                    CREATE TABLE IF NOT EXISTS live_actions (
                        kind TEXT NOT NULL, id TEXT NOT NULL, value TEXT NOT NULL, before TEXT,
                        key TEXT NOT NULL UNIQUE, at INTEGER NOT NULL, PRIMARY KEY (kind, id)
                    ) STRICT, WITHOUT ROWID
                    """)
            }
        }
    }

    /// All actions that are kept; none where the store was corrupt, and ``SQLiteStore/setAside`` says so.
    public func loadActions() async throws -> [DeferredAction] {
        do {
            return try await readActions()
        } catch StoreError.corrupt {
            return try await readActions()
        }
    }

    private func readActions() async throws -> [DeferredAction] {
        try await store.transaction(of: Self.part) { try Self.read($0) }
    }

    /// All that is kept; nothing where the file has no table of actions.
    static func read(_ transaction: StoreTransaction) throws -> [DeferredAction] {
        let tables = try transaction.rows("SELECT 1 FROM sqlite_master WHERE name = 'live_actions'")
        var actions: [DeferredAction] = []
        // By pieces, for there may be more than one query gives.
        while !tables.isEmpty {
            let last = actions.last
            let isBehind = last == nil ? ">=" : ">"
            let rows = try transaction.rows(
                """
                SELECT kind, id, value, before, key, at FROM live_actions WHERE (kind, id) \(isBehind) (?, ?)
                ORDER BY kind, id LIMIT \(StoreTransaction.maximumRows)
                """, [.text(last?.kind ?? ""), .text(last?.id ?? "")])
            for row in rows {
                guard let kind = row[0].text, let id = row[1].text, let value = row[2].text, let key = row[4].text,
                    let at = row[5].integer
                else { continue }
                actions.append(DeferredAction(kind: kind, id: id, value: value, before: row[3].text, key: key, at: at))
            }
            if rows.count < StoreTransaction.maximumRows { break }
        }
        return actions
    }

    /// Stores all of the changes, or throws and stores none. After ``StoreError/corrupt(setAside:)`` no action is kept.
    public func commit(_ changes: [ActionChange]) async throws {
        let show = show
        try await store.transaction(of: Self.part) { transaction in
            for change in changes {
                switch change {
                case .persist(let action): try Self.persist(action, transaction)
                case .delete(let kind, let id):
                    try transaction.execute(
                        "DELETE FROM live_actions WHERE kind = ? AND id = ?", [.text(kind), .text(id)])
                case .show(let kind, let id, let value): try show(kind, id, value, transaction)
                }
            }
        }
    }

    /// The status that a pending action gives a thing; nil: none. For what writes reloaded things in the same transaction: it
    /// puts this on top.
    public func pending(_ kind: String, _ id: String, in transaction: StoreTransaction) throws(StoreError) -> String? {
        try transaction.rows(
            "SELECT value FROM live_actions WHERE kind = ? AND id = ?", [.text(kind), .text(id)]
        ).first?[0].text
    }

    private static func persist(_ action: DeferredAction, _ transaction: StoreTransaction) throws {
        try transaction.execute(
            """
            INSERT INTO live_actions (kind, id, value, before, key, at) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (kind, id) DO UPDATE SET
                value = excluded.value, before = excluded.before, key = excluded.key, at = excluded.at
            """,
            [
                .text(action.kind), .text(action.id), .text(action.value), action.before.map { .text($0) } ?? .null,
                .text(action.key), .integer(action.at),
            ])
    }
}

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
