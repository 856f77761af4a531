extension ActionQueue {
    /// The identity of a row.
    struct Name: Hashable, Sendable {
        let kind: String
        let id: String

        /// Compares bytes, as the primary key of a store does.
        static func == (a: Self, b: Self) -> Bool { Exact(a.id) == Exact(b.id) && Exact(a.kind) == Exact(b.kind) }

        func hash(into hasher: inout Hasher) {
            hasher.combine(Exact(kind))
            hasher.combine(Exact(id))
        }
    }

    struct Row: Sendable {
        var action: DeferredAction
        /// It increases with each change: rows are sent in this order.
        var order: Int
        /// This value was sent, and its answer has not settled it.
        var isSent = false
        /// An earlier value was sent, and no answer settled it: the server may have it.
        var isUncertain = false
        /// `before` was read from the server, or from the store, since the last attempt ended.
        var isRead = false
        /// When the last attempt ended.
        var triedUntil: Milliseconds?
        /// It was in a batch that failed as a whole, so it is sent alone.
        var isSuspect = false

        var name: Name { Name(kind: action.kind, id: action.id) }
    }

    /// An action that was done, kept for answers to earlier reads.
    struct Settled: Sendable {
        let value: String
        let at: Milliseconds
    }

    var inOrder: [Row] { rows.values.sorted { $0.order < $1.order } }

    mutating func load(_ actions: [DeferredAction], at now: Milliseconds, _ effects: inout [Effect]) {
        guard !isLoaded else { return }
        isLoaded = true
        let sorted = actions.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
        for (index, (_, stored)) in sorted.enumerated() {
            var action = stored
            // The clock was ahead, or the file is damaged: the action must expire some day.
            action.at = min(action.at, now)
            let name = Name(kind: action.kind, id: action.id)
            if var row = rows[name] {
                // It was set before the store was read. The newer value wins, but the older row has the server's status.
                row.action.before = action.before
                (row.isUncertain, row.isRead, row.triedUntil) = (true, true, now)
                rows[name] = row
                effects.append(.persist(action: row.action))
            } else {
                // The process that stored it may have sent it, and an earlier value too. No row shows whether there was an
                // answer. For the server's status, the row is trusted.
                rows[name] = Row(
                    action: action, order: index - sorted.count, isSent: true, isUncertain: true, isRead: true,
                    triedUntil: now)
                note(action)
            }
        }
        if !rows.isEmpty { dueAt = min(dueAt ?? now, now) }
    }

    mutating func set(
        _ name: Name, _ value: String, before: String?, at now: Milliseconds, _ effects: inout [Effect]
    ) {
        guard var row = rows[name] else { return add(name, value, before: before, at: now, &effects) }
        guard Exact(row.action.value) != Exact(value) else { return }
        effects.append(.apply(kind: name.kind, id: name.id, value: value))
        if isLoaded, row.action.before.map(Exact.init) == Exact(value), !row.isSent, !row.isUncertain {
            // It was undone before it was sent: the server has this value.
            rows[name] = nil
            return effects.insert(.delete(kind: name.kind, id: name.id), at: 0)
        }
        if let sent = flight.first(where: { $0.name == name && Exact($0.action.value) == Exact(value) }) {
            // The value is again the one in flight: a retry of it is the same request with the same key.
            row.action.key = sent.action.key
            row.action.at = sent.action.at
            row.isSent = true
            row.isUncertain = sent.wasUncertain
        } else {
            row.action.key = nextKey()
            row.action.at = now
            row.isUncertain = row.isUncertain || row.isSent
            row.isSent = false
            dueAt = dueAt ?? now + settings.coalescing
        }
        row.action.value = value
        row.isSuspect = false
        row.order = nextOrder()
        rows[name] = row
        effects.insert(.persist(action: row.action), at: 0)
    }

    private mutating func add(
        _ name: Name, _ value: String, before: String?, at now: Milliseconds, _ effects: inout [Effect]
    ) {
        guard before.map(Exact.init) != Exact(value) else { return }
        guard rows.count < settings.maximumRows else {
            return effects.append(.refused(kind: name.kind, id: name.id, value: value))
        }
        let action = DeferredAction(
            kind: name.kind, id: name.id, value: value, before: before, key: nextKey(), at: now)
        rows[name] = Row(action: action, order: nextOrder())
        note(action)
        dueAt = dueAt ?? now + settings.coalescing
        effects += [.persist(action: action), .apply(kind: name.kind, id: name.id, value: value)]
    }

    mutating func reloaded(_ name: Name, _ value: String, askedAt: Milliseconds, _ effects: inout [Effect]) {
        // A read that began before the server did an action is older than the action. The event of the action reloads the thing.
        let known = settled[name].flatMap { askedAt < $0.at ? $0.value : nil } ?? value
        if var row = rows[name] {
            // The server may do an action in flight after this read.
            let isTried = flight.contains { $0.name == name } || askedAt < row.triedUntil ?? askedAt
            row.isRead = row.isRead || !isTried
            if row.action.before.map(Exact.init) != Exact(known) {
                row.action.before = known
                effects.append(.persist(action: row.action))
            }
            rows[name] = row
        }
        let shown = rows[name]?.action.value ?? known
        if Exact(shown) != Exact(value) { effects.append(.apply(kind: name.kind, id: name.id, value: shown)) }
    }

    /// Undoes the rows that have been kept too long and are not in flight.
    mutating func expire(at now: Milliseconds, _ effects: inout [Effect]) {
        guard let expiresAt, expiresAt <= now else { return }
        let sending = Set(flight.map(\.name))
        for row in inOrder where row.action.at + settings.maximumAge <= now && !sending.contains(row.name) {
            remove(row.name, &effects)
            let isKnown = row.isRead || !(row.isSent || row.isUncertain)
            effects.append(
                .undo(kind: row.action.kind, id: row.action.id, value: isKnown ? row.action.before : nil))
            effects.append(.expired(action: row.action))
        }
        findExpiry()
    }

    mutating func findExpiry() {
        let sending = Set(flight.map(\.name))
        expiresAt = rows.values.lazy.filter { !sending.contains($0.name) }.map(\.action.at).min().map {
            $0 + settings.maximumAge
        }
    }

    mutating func remove(_ name: Name, _ effects: inout [Effect]) {
        rows[name] = nil
        effects.append(.delete(kind: name.kind, id: name.id))
    }

    mutating func nextOrder() -> Int {
        order += 1
        return order
    }

    private mutating func note(_ action: DeferredAction) {
        let end = action.at + settings.maximumAge
        expiresAt = min(expiresAt ?? end, end)
    }

    private mutating func nextKey() -> String {
        keys += 1
        return "\(settings.keyPrefix)-\(keys)"
    }
}
