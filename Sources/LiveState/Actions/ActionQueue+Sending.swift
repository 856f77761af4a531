extension ActionQueue {
    /// An action in flight, as it was sent.
    struct Sent: Sendable {
        let name: Name
        let action: DeferredAction
        /// Whether the server may have had an earlier value when it was sent.
        let wasUncertain: Bool
        /// Whether the server had `before`, as far as is known. If not, an undo must reload.
        let isBeforeKnown: Bool
    }

    enum TokenState: Equatable, Sendable {
        /// `isFresh`: it came after the last 401, and the server has not accepted it yet.
        case usable(isFresh: Bool)
        case asked
        case askAgain(at: Milliseconds)
        case unauthorized
    }

    /// When something is to be tried. Nil: only an input can make it possible.
    var nextAttempt: Milliseconds? {
        guard isLoaded, isReachable, flight.isEmpty, !rows.isEmpty else { return nil }
        switch token {
        case .usable: return dueAt.map { max($0, waitUntil ?? $0) }
        case .askAgain(let at): return at
        case .asked, .unauthorized: return nil
        }
    }

    mutating func reached(_ isReachable: Bool, at now: Milliseconds) {
        if isReachable, !self.isReachable {
            if !isServersWait { waitUntil = nil }
            if let due = dueAt { dueAt = min(due, now) }
            if case .askAgain = token { token = .askAgain(at: now) }
        }
        self.isReachable = isReachable
    }

    mutating func renewed() {
        if case .usable = token { return }
        token = .usable(isFresh: true)
        if !isServersWait { waitUntil = nil }
    }

    mutating func tokenFailed(_ isUnauthorized: Bool, at now: Milliseconds, _ effects: inout [Effect]) {
        guard token == .asked else { return }
        token = isUnauthorized ? .unauthorized : .askAgain(at: now + retry.wait())
        if isUnauthorized { effects.append(.unauthorized) }
    }

    mutating func askAgain(at now: Milliseconds, _ effects: inout [Effect]) {
        guard case .askAgain = token, let next = nextAttempt, next <= now else { return }
        token = .asked
        effects.append(.requestToken)
    }

    mutating func send(at now: Milliseconds, _ effects: inout [Effect]) {
        if rows.isEmpty { dueAt = nil }
        guard case .usable = token, let next = nextAttempt, next <= now else { return }
        let waiting = inOrder
        var chosen = waiting.filter { !$0.isSuspect }.prefix(settings.maximumBatch)
        if chosen.isEmpty { chosen = waiting.prefix(1) }
        batch += 1
        for row in chosen {
            flight.append(
                Sent(
                    name: row.name, action: row.action, wasUncertain: row.isUncertain,
                    isBeforeKnown: !row.isUncertain || row.isRead))
            rows[row.name]?.isSent = true
            rows[row.name]?.isRead = false
        }
        dueAt = chosen.count < waiting.count ? now : nil
        waitUntil = nil
        isServersWait = false
        findExpiry()
        effects.append(.send(batch: batch, actions: chosen.map(\.action)))
    }

    mutating func answered(
        _ batch: Int, _ results: [ActionResult], at now: Milliseconds, _ effects: inout [Effect]
    ) {
        guard let sent = land(batch, at: now) else { return }
        let byKey = Dictionary(results.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
        var news: [Effect] = []
        var again = false
        var isUnauthorized = false
        var asked: Milliseconds?
        for one in sent {
            let result = byKey[one.action.key]
            switch result.map({ ActionOutcome(status: $0.status) }) ?? .again {
            case .done: settle(one, at: now, &effects)
            case .rejected: reject(one, status: result?.status ?? 0, &effects, &news)
            case .unauthorized: isUnauthorized = true
            case .again:
                again = true
                if let wait = result?.retryAfter { asked = max(asked ?? wait, wait) }
                putBehind(one)
            }
        }
        effects += news
        if isUnauthorized {
            refuseToken(at: now, &effects)
        } else {
            token = .usable(isFresh: false)
        }
        if again { wait(asked, at: now) } else { retry.reset() }
    }

    mutating func failed(
        _ batch: Int, status: Int?, retryAfter: Milliseconds?, at now: Milliseconds, _ effects: inout [Effect]
    ) {
        guard let sent = land(batch, at: now) else { return }
        let outcome = status.map { ActionOutcome(status: $0) } ?? .again
        if outcome == .unauthorized { return refuseToken(at: now, &effects) }
        if status != nil { token = .usable(isFresh: false) }
        if outcome == .rejected {
            if sent.count == 1 {
                var news: [Effect] = []
                reject(sent[0], status: status ?? 0, &effects, &news)
                effects += news
            } else {
                // One of them may be the cause: each is sent alone.
                suspect(sent)
                dueAt = now
            }
            return retry.reset()
        }
        wait(retryAfter, at: now)
        if let status, status >= 500 {
            for one in sent { putBehind(one) }
            if retry.failures >= Self.failuresBeforeSplit { suspect(sent) }
        }
    }

    /// Returns the actions in flight, and ends their flight, if this batch is the one in flight.
    private mutating func land(_ batch: Int, at now: Milliseconds) -> [Sent]? {
        guard batch == self.batch, !flight.isEmpty else { return nil }
        let sent = flight
        flight = []
        for one in sent { rows[one.name]?.triedUntil = now }
        findExpiry()
        return sent
    }

    private mutating func putBehind(_ sent: Sent) {
        let order = nextOrder()
        rows[sent.name]?.order = order
    }

    private mutating func wait(_ asked: Milliseconds?, at now: Milliseconds) {
        dueAt = now
        isServersWait = asked != nil
        waitUntil = now + (asked.map { retry.wait(retryAfter: $0) } ?? retry.wait())
    }

    private mutating func suspect(_ sent: [Sent]) {
        for one in sent where rows[one.name]?.action.key == one.action.key { rows[one.name]?.isSuspect = true }
    }

    private mutating func refuseToken(at now: Milliseconds, _ effects: inout [Effect]) {
        dueAt = now
        if token == .usable(isFresh: true) {
            token = .unauthorized
            effects.append(.unauthorized)
        } else {
            token = .asked
            effects.append(.requestToken)
        }
    }

    private mutating func settle(_ sent: Sent, at now: Milliseconds, _ effects: inout [Effect]) {
        settled = settled.filter { now - $0.value.at < Self.settledFor }
        if settled.count < settings.maximumRows { settled[sent.name] = Settled(value: sent.action.value, at: now) }
        guard var row = rows[sent.name] else { return }
        if row.action.key == sent.action.key { return remove(sent.name, &effects) }
        row.action.before = sent.action.value
        row.isUncertain = false
        rows[sent.name] = row
        effects.append(.persist(action: row.action))
    }

    private mutating func reject(
        _ sent: Sent, status: Int, _ effects: inout [Effect], _ news: inout [Effect]
    ) {
        guard let row = rows[sent.name] else { return }
        let isReplaced = row.action.key != sent.action.key
        if isReplaced {
            rows[sent.name]?.isUncertain = sent.wasUncertain
            rows[sent.name]?.isRead = sent.isBeforeKnown
        } else {
            remove(sent.name, &effects)
            let before = sent.isBeforeKnown ? row.action.before : nil
            effects.append(.undo(kind: sent.name.kind, id: sent.name.id, value: before))
        }
        news.append(.rejected(action: sent.action, status: status, isReplaced: isReplaced))
    }
}
