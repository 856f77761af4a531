import LiveUpdates
import Reactor

/// Joins, reads and resyncs: what the loops ask of the logs.
extension Ingest {
    /// How long a join waits for a look at the broker. Nobody is refused because the broker cannot be asked.
    static let undecidedMilliseconds: UInt64 = 3_000

    func subscribe(_ subscriber: Subscriber, _ request: JoinRequest, now: UInt64) {
        // From here on the account's events come to the loop; the connection waits for its answer.
        if subscriptions.add(subscriber.account, loop: subscriber.loop, withCursors: request.withCursors) {
            history.retain(subscriber.account)
        }
        join(Undecided(subscriber: subscriber, request: request, since: now), .earlier)
    }

    private func join(_ join: Undecided, _ ends: EndsSeen) {
        let (subscriber, request) = (join.subscriber, join.request)
        var outcome = JoinAnswer.Outcome.now
        if let cursor = request.since {
            switch history.resume(cursor, account: subscriber.account, now: wallClock, ends: ends) {
            case .accepted(let position, let floors): outcome = .resumed(position, floors: floors)
            case .refused(let why): outcome = .refused(why)
            case .undecided:
                undecided.append(join)
                return
            }
        }
        let fresh = freshCursor(subscriber.account)
        answer(
            subscriber,
            .joined(
                subscriber.connection,
                JoinAnswer(outcome: outcome, sequence: history.lastSequence, fresh: fresh)))
    }

    /// What was further than the broker was seen to be is judged anew: after a wake, and after a look.
    ///
    /// - Parameters:
    ///   - ends: how good the ends are that are known now, for joins that came before `lookBegan`.
    ///   - lookBegan, now: monotonic, in milliseconds; `wallClock` is since 1970.
    func decide(_ ends: EndsSeen, lookBegan: UInt64, now: UInt64, wallClock: Int64) {
        self.wallClock = wallClock
        let waiting = undecided
        undecided = []
        for join in waiting {
            let isLate = now >= join.since + Self.undecidedMilliseconds
            let isOfNow = ends == .now && join.since <= lookBegan
            self.join(join, isOfNow ? .now : isLate ? .unknown : .earlier)
        }
    }

    func unsubscribe(_ subscriber: Subscriber, withCursors: Bool) {
        undecided.removeAll {
            $0.subscriber.loop == subscriber.loop && $0.subscriber.connection == subscriber.connection
        }
        if subscriptions.remove(subscriber.account, loop: subscriber.loop, withCursors: withCursors) {
            history.release(subscriber.account)
        }
    }

    func read(_ subscriber: Subscriber, _ request: ReadRequest) {
        let page = history.read(
            account: subscriber.account, from: request.position, limit: request.limit, entities: request.entities,
            now: wallClock, withCursors: request.withCursors)
        // Only the last page, and the one that says that there is none, is followed by a cursor of now.
        let needsFresh: Bool
        switch page {
        case .page(_, _, let isComplete): needsFresh = isComplete || request.alwaysFresh
        case .lost: needsFresh = true
        }
        answer(
            subscriber,
            .page(
                subscriber.connection,
                PageAnswer(
                    answer: page, sequence: history.lastSequence,
                    fresh: needsFresh ? freshCursor(subscriber.account) : .none)))
    }

    /// Positions have lost their meaning: the logs begin anew, and everybody is told.
    func reset(_ why: ResyncReason, wallClock: Int64) {
        self.wallClock = wallClock
        history.reset()
        for (loop, outlet) in outlets.enumerated() {
            var cursors: [Account: CursorText] = [:]
            for entry in subscriptions.all where entry.hasSubscribers(onLoop: loop) {
                cursors[entry.account] = freshCursor(entry.account)
            }
            outlet.mailbox.post(.reset(why, sequence: history.lastSequence, cursors: cursors))
        }
    }

    /// Lets go of some of what is older than the retention. Bounded work; now and then.
    func sweep(wallClock: Int64) { history.sweep(now: wallClock) }

    func tell(_ state: SourceState) {
        for outlet in outlets { outlet.mailbox.post(.source(state)) }
    }
}
