import LiveUpdates
import Reactor

/// Joins, reads and resyncs: what the loops ask of the logs.
extension Ingest {
    /// How long a join waits for looks at the broker, two of them and what they may take. Nobody is refused because the
    /// broker cannot be asked.
    static let undecidedMilliseconds: UInt64 = 6_000

    /// Returns how many events the answer holds.
    func subscribe(_ subscriber: Subscriber, _ request: JoinRequest, now: UInt64) -> Int {
        // From here on the account's events come to the loop; the connection waits for its answer.
        if subscriptions.add(subscriber.account, loop: subscriber.loop, withCursors: request.withCursors) {
            history.retain(subscriber.account)
        }
        guard let cursor = request.since else {
            answer(subscriber, .now)
            return 0
        }
        switch history.resume(cursor, account: subscriber.account, now: wallClock) {
        case .accepted(let position, let floors): return resume(subscriber, at: position, floors, request.page)
        case .refused(let why): answer(subscriber, .refused(why))
        case .undecided:
            undecided.append(Undecided(subscriber: subscriber, page: request.page, since: now, cursor: cursor))
        }
        return 0
    }

    @discardableResult
    private func resume(
        _ subscriber: Subscriber, at position: StreamPosition, _ floors: [PartitionFloor], _ request: PageRequest
    ) -> Int {
        let page = page(of: subscriber.account, from: position, request)
        let join = JoinAnswer(outcome: .resumed(page, floors: floors), sequence: page.sequence, fresh: .none)
        answer(subscriber, .joined(subscriber.connection, join))
        return page.answer.count
    }

    private func answer(_ subscriber: Subscriber, _ outcome: JoinAnswer.Outcome) {
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
    ///   - lookBegan: when the look began, monotonic, in milliseconds; nil after a wake, or a look that failed.
    ///   - now: monotonic, in milliseconds; `wallClock` is since 1970.
    func decide(lookBegan: UInt64?, now: UInt64, wallClock: Int64) {
        self.wallClock = wallClock
        let waiting = undecided
        undecided = []
        for join in waiting { decide(join, lookBegan, now: now) }
    }

    /// A broker that was paused may take itself for a leader when it wakes, and tell the end of that time. So two looks in
    /// a row have to find a cursor ahead; the second begins after the other has taken its place.
    private func decide(_ join: Undecided, _ lookBegan: UInt64?, now: UInt64) {
        let account = join.subscriber.account
        let moment = join.aheadAt.map { $0 + 1 } ?? join.since
        let hasLooked = lookBegan.map { $0 >= moment } ?? false
        var resumption = history.resume(
            join.cursor, account: account, now: wallClock, ends: hasLooked ? .since(moment) : .earlier)
        if case .undecided = resumption, now >= moment + Self.undecidedMilliseconds {
            resumption = history.resume(join.cursor, account: account, now: wallClock, ends: .unknown)
        }
        switch resumption {
        case .accepted(let position, let floors): resume(join.subscriber, at: position, floors, join.page)
        case .refused(.ahead) where join.aheadAt == nil:
            var doubtful = join
            doubtful.aheadAt = lookBegan
            undecided.append(doubtful)
        case .refused(let why): answer(join.subscriber, .refused(why))
        case .undecided: undecided.append(join)
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

    /// Returns how many events the page holds.
    func read(_ subscriber: Subscriber, _ request: ReadRequest) -> Int {
        let page = page(of: subscriber.account, from: request.position, request.page)
        answer(subscriber, .page(subscriber.connection, page))
        return page.answer.count
    }

    private func page(of account: Account, from position: StreamPosition, _ request: PageRequest) -> PageAnswer {
        let page = history.read(
            account: account, from: position, limit: request.limit, entities: request.entities, now: wallClock,
            withCursors: request.withCursors)
        // Only the last page, and the one that says that there is none, is followed by a cursor of now.
        let needsFresh: Bool
        switch page {
        case .page(_, _, let isComplete): needsFresh = isComplete || request.alwaysFresh
        case .lost: needsFresh = true
        }
        return PageAnswer(
            answer: page, sequence: history.lastSequence, fresh: needsFresh ? freshCursor(account) : .none)
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

extension ReadAnswer {
    /// The events of the page.
    fileprivate var count: Int {
        if case .page(let events, _, _) = self { events.count } else { 0 }
    }
}
