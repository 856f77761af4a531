import Reactor

/// A drain's part on one loop: its connections end one by one, each at the moment of a slot.
extension ConnectionLoop {
    /// The connections that end, and when. As large as there were connections when the window began.
    final class Drain {
        /// Those that were there when the window began; some may have ended meanwhile.
        var connections: [ConnectionID] = []
        /// The next slot of the table that is checked.
        var nextEntry = 0
        /// Nil until every loop has reported its connections.
        var schedule: DrainSchedule?
        /// In ascending order.
        var slots: [UInt32] = []
        var nextSlot = 0
        var timer: Timer?

        /// The slot whose moment comes next; nil: all have passed.
        var slot: UInt32? { nextSlot < slots.count ? slots[nextSlot] : nil }

        /// Removes a random one of those that are left.
        func next(_ generator: inout SpreadGenerator) -> ConnectionID {
            connections.swapAt(Int.random(in: connections.indices, using: &generator), connections.count - 1)
            return connections.removeLast()
        }
    }

    /// Collects the open connections, in slices, and reports their number. ``beginDrain(_:slots:)`` then closes them.
    func gatherForDrain(_ done: @escaping (Int) -> Void) {
        cancelDrain()
        let drain = Drain()
        self.drain = drain
        gather(drain, done)
    }

    private func gather(_ drain: Drain, _ done: @escaping (Int) -> Void) {
        let isMore = eventLoop.runSlice {
            guard drain.nextEntry < connections.slots else { return false }
            if let connection = connections[slot: drain.nextEntry] { drain.connections.append(connection.id) }
            drain.nextEntry += 1
            return true
        }
        if isMore { eventLoop.executeNextTick { self.gather(drain, done) } } else { done(drain.connections.count) }
    }

    /// Closes the collected connections, each at the moment of a slot.
    ///
    /// - Parameter slots: as many as there are connections.
    func beginDrain(_ schedule: DrainSchedule, slots: [UInt32]) {
        guard let drain, drain.schedule == nil else { return }
        precondition(drain.connections.count == slots.count, "a slot for each connection")
        drain.schedule = schedule
        drain.slots = slots
        closeDue(drain, schedule)
    }

    private func closeDue(_ drain: Drain, _ schedule: DrainSchedule) {
        let isMore = eventLoop.runSlice {
            // An operator may have cancelled the drain, or another one has begun.
            guard self.drain === drain, let slot = drain.slot, schedule.moment(ofSlot: slot) <= eventLoop.now else {
                return false
            }
            drain.nextSlot += 1
            let id = drain.next(&spread)
            connections.connection(of: id)?.leave(.restart, retryMilliseconds: schedule.retryMilliseconds(ofSlot: slot))
            return true
        }
        if isMore { return eventLoop.executeNextTick { self.closeDue(drain, schedule) } }
        guard self.drain === drain, let slot = drain.slot else { return }
        drain.timer = eventLoop.schedule(at: schedule.moment(ofSlot: slot)) {
            drain.timer = nil
            self.closeDue(drain, schedule)
        }
    }

    /// Ends the drain: every connection that was not closed yet stays.
    func cancelDrain() {
        if let timer = drain?.timer.take() { eventLoop.cancel(timer) }
        drain = nil
    }
}
