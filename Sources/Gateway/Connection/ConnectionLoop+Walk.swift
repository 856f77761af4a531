import WebSocket

/// What concerns all connections of a loop: each is reached in a slice of some tick.
extension ConnectionLoop {
    /// The way through all connections, a slice a tick.
    struct Walk {
        /// The next slot; nil: nobody walks.
        var next: Int?
        /// Whether another one follows, for what came up meanwhile.
        var isOwed = false
        /// Whether those that are reached are closed, and those that come.
        var closes: CloseCode?
    }

    /// Goes over all connections from the next tick on, once for all that one tick asks for: a reset comes in as many messages
    /// as there are slices of accounts. What is asked for on the way is done on another way, behind it.
    func walkAll() {
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
            guard exchange(&walk.isOwed, with: false) else { return fanOut.forgetResets() }
            return walkAll()
        }
        walk.next = slot
        eventLoop.executeNextTick { self.walkOn() }
    }

    private func settle(_ connection: Connection) {
        if let code = walk.closes {
            connection.close(code)
        } else {
            connection.subscription?.settle(now: eventLoop.now)
        }
    }

    /// Closes every connection, and those that come; their ends follow within the close timeout.
    func closeAll(_ code: CloseCode) {
        walk.closes = code
        walkAll()
    }

    /// Cuts every connection at once.
    func cutAll() {
        for slot in 0..<connections.slots { connections[slot: slot]?.cut() }
    }

    /// Calls `done` once, when the last connection has gone or the time is up.
    func whenEmpty(within milliseconds: UInt64, _ done: @escaping () -> Void) {
        guard connections.count > 0 else { return done() }
        let timer = eventLoop.schedule(afterMilliseconds: milliseconds) { self.becameEmpty() }
        emptied = { [eventLoop] in
            eventLoop.cancel(timer)
            done()
        }
    }

    func becameEmpty() {
        if let emptied = emptied.take() { emptied() }
    }
}
