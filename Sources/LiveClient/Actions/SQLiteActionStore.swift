import LiveState

/// Stores actions in a ``SQLiteStore``, in the transaction that writes the app's tables.
public final class SQLiteActionStore: ActionStore {
    /// Sets a status in the app's tables; nil: the thing has to be reloaded. If it throws, nothing changes.
    public typealias Show =
        @Sendable (
            _ kind: String, _ id: String, _ value: String?, _ transaction: StoreTransaction
        ) throws -> Void

    /// The name under which the store knows actions.
    private static let part = "actions"

    private let store: SQLiteStore
    private let show: Show

    /// Creates the table if it is missing.
    ///
    /// - Parameter deadline: the time limit, in ms. After it this throws ``StoreError/noAnswer``; a second attempt does no harm.
    public init(_ store: SQLiteStore, deadline: Milliseconds = 10_000, show: @escaping Show) async throws {
        self.store = store
        self.show = show
        // The primary key enforces the rule: one value of a kind for one thing. The keys are unique, so that a fault here ends
        // with an error instead of an action that the server mistakes for another one.
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

    /// All stored actions; none if the store was corrupt. ``SQLiteStore/setAside`` then shows it.
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

    /// All stored actions; none if the file has no table of actions.
    static func read(_ transaction: StoreTransaction) throws -> [DeferredAction] {
        let tables = try transaction.rows("SELECT 1 FROM sqlite_master WHERE name = 'live_actions'")
        var actions: [DeferredAction] = []
        // In pages, because there may be more than one query returns.
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

    /// Stores all of the changes, or throws and stores none. After ``StoreError/corrupt(setAside:)`` there are no actions.
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

    /// The status that a pending action gives a thing; nil if there is none. Code that writes reloaded things in the same
    /// transaction puts it on top.
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

/// What a store contains when its account signs out.
public struct SignedOut: Equatable, Sendable {
    /// Whether the store remains for the next time. Otherwise it is deleted.
    public let isKept: Bool
    /// The actions that the server may not have, the oldest first. They are sent the next time, or deleted with the store.
    public let pending: [DeferredAction]

    /// Makes the result of a sign-out.
    public init(isKept: Bool, pending: [DeferredAction]) { (self.isKept, self.pending) = (isKept, pending) }
}

extension SQLiteStore {
    /// Signs the store's account out on this device: closes the file. End its machines and actions before.
    ///
    /// - Parameter keep: false deletes the file, and one that was set aside: nothing of the account remains on the device.
    /// - Returns: what remains, or what was deleted without being sent.
    @discardableResult
    public func signOut(keep: Bool = true) async throws -> SignedOut {
        let pending: [DeferredAction]
        do {
            pending = try await pendingActions()
        } catch {
            await close()
            // A file that cannot be read is deleted too.
            if keep { throw error }
            pending = []
        }
        return try await signOut(keep: keep, pending: pending)
    }

    /// The actions that were not sent.
    func pendingActions() async throws -> [DeferredAction] {
        try await transaction { try SQLiteActionStore.read($0) }
    }

    /// The same, where the pending actions are known. The file may be closed already.
    func signOut(keep: Bool, pending: [DeferredAction]) async throws -> SignedOut {
        await close()
        if !keep {
            try await Self.remove(path: path + StoreFile.asideEnding)
            try await Self.remove(path: path)
        }
        return SignedOut(isKept: keep, pending: pending.sorted { $0.at < $1.at })
    }
}
