import WebSocket

/// What concerns all connections of a loop: each is reached in a slice of some tick.
extension ConnectionLoop {
    /// A walk over all connections, one slice a tick.
    struct Walk {
        /// The next slot; nil: no walk is running.
        var next: Int?
        /// Whether another walk follows, for what was requested meanwhile.
        var isOwed = false
        /// The close notice with which the visited connections are closed.
        var closeNotice: CloseNotice?
        /// Whether the age of the visited connections is counted again.
        var appliesMaximumAges = false
    }

    /// Visits all connections from the next tick on, once for all requests of one tick: a reset comes in as many messages as
    /// there are slices of accounts. What is requested during a walk is done by another walk after it.
    func visitAllConnections() {
        guard walk.next == nil else {
            walk.isOwed = true
            return
        }
        walk.next = 0
        eventLoop.executeNextTick { self.walkOn() }
    }

    private func walkOn() {
        guard var slot = walk.next else { return }
        let isMore = eventLoop.runSlice {
            guard slot < connections.slots else { return false }
            if let connection = connections[slot: slot] { settle(connection) }
            slot += 1
            return slot < connections.slots
        }
        guard isMore else {
            walk.next = nil
            beginExpulsions()
            guard exchange(&walk.isOwed, with: false) else {
                walk.closeNotice = nil
                walk.appliesMaximumAges = false
                return fanOut.forgetResets()
            }
            return visitAllConnections()
        }
        walk.next = slot
        eventLoop.executeNextTick { self.walkOn() }
    }

    private func settle(_ connection: Connection) {
        if walk.appliesMaximumAges { connection.applyMaximumAge() }
        if let closeNotice = walk.closeNotice {
            return connection.close(closeNotice.code, retryMilliseconds: closeNotice.randomRetry(&spread))
        }
        if let identity = connection.identity, let refusal = admission.refusal(of: identity) {
            guard refusal.concernsAllTokens, connection.isEstablished else { return connection.revoke(refusal) }
            expulsions.add(connection.id)
        }
        connection.subscription?.settle(now: eventLoop.now)
    }

    /// Closes every connection; their ends follow within the close timeout. No client may be admitted any more: connections that
    /// come meanwhile are not closed.
    func closeAll(_ closeNotice: CloseNotice) {
        cancelDrain()
        walk.closeNotice = closeNotice
        visitAllConnections()
    }

    /// Another age is set.
    func applyMaximumAges() {
        walk.appliesMaximumAges = true
        visitAllConnections()
    }

    /// Calls `done` once, when the last connection has gone: at the latest when the loop stops.
    func whenEmpty(_ done: @escaping () -> Void) {
        if connections.count > 0 { emptied = done } else { done() }
    }

    func becameEmpty() {
        if let emptied = emptied.take() { emptied() }
    }
}
