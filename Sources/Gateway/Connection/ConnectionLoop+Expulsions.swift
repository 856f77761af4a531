import Reactor

/// Closes connections whose tokens count no more, though perhaps nobody meant them. They end one after the other over a window,
/// as in a drain, since each of them reconnects at once with a new token.
extension ConnectionLoop {
    /// The connections to close, and when. Each is in it once, even if more is lost meanwhile, so no connection's moment is put
    /// off.
    struct Expulsions {
        /// Those that were found together.
        private struct Batch {
            var connections: [ConnectionID]
            let schedule: DrainSchedule
            var slot: UInt32 = 0

            var moment: UInt64 { schedule.moment(ofSlot: slot) }
        }

        private var planned: Set<ConnectionID> = []
        private var found: [ConnectionID] = []
        private var batches: [Batch] = []
        var timer: Timer?

        /// When the next one ends; nil: none does.
        var nextMoment: UInt64? { batches.lazy.map(\.moment).min() }
        var count: Int { planned.count }
        var hasFound: Bool { !found.isEmpty }

        mutating func add(_ id: ConnectionID) {
            if planned.insert(id).inserted { found.append(id) }
        }

        /// Gives all that were added since the last time their moments.
        mutating func begin(at time: UInt64, windowMilliseconds: UInt64, _ generator: inout SpreadGenerator) {
            let schedule = DrainSchedule(
                begin: time, windowMilliseconds: windowMilliseconds, count: found.count, retryMilliseconds: 0,
                using: &generator)
            batches.append(Batch(connections: found, schedule: schedule))
            found = []
        }

        /// One whose moment has come.
        mutating func next(now: UInt64, _ generator: inout SpreadGenerator) -> ConnectionID? {
            guard let index = batches.firstIndex(where: { $0.moment <= now }) else { return nil }
            let last = batches[index].connections.count - 1
            batches[index].connections.swapAt(Int.random(in: 0...last, using: &generator), last)
            let id = batches[index].connections.removeLast()
            batches[index].slot += 1
            if last == 0 { batches.remove(at: index) }
            planned.remove(id)
            return id
        }
    }

    /// No tick of a healthy loop lasts longer.
    private static let tickMilliseconds: UInt64 = 100

    /// All connections were checked. Those found get their moments, which begin when a new token is good.
    func beginExpulsions() {
        guard expulsions.hasFound else { return }
        // The loop's time is that of its tick, a little behind.
        let wait = admission.revocations.millisecondsUntilSettled
        expulsions.begin(
            at: eventLoop.now + (wait > 0 ? wait + Self.tickMilliseconds : 0),
            windowMilliseconds: policy.expulsionWindowMilliseconds, &spread)
        expelDue()
    }

    private func expelDue() {
        if let timer = expulsions.timer.take() { eventLoop.cancel(timer) }
        let isMore = eventLoop.runSlice {
            guard let id = expulsions.next(now: eventLoop.now, &spread) else { return false }
            if let connection = connections.connection(of: id) { expel(connection) }
            return true
        }
        // What the slice has left over is due in the next tick.
        guard let moment = isMore ? eventLoop.now : expulsions.nextMoment else { return }
        expulsions.timer = eventLoop.schedule(at: moment) {
            self.expulsions.timer = nil
            self.expelDue()
        }
    }

    /// Its client may have sent another token meanwhile.
    func expel(_ connection: Connection) {
        guard let identity = connection.identity, let refusal = admission.refusal(of: identity) else { return }
        connection.revoke(refusal)
    }
}
