import LiveUpdates
import Reactor

/// Joins and reads: the loops' requests to the logs.
extension Ingest {
    /// Returns the work of the answer's page, in events.
    func subscribe(_ subscriber: Subscriber, _ request: JoinRequest, now: UInt64) -> Int {
        // From here on the loop gets the account's events; the connection waits for its answer.
        let number = history.retain(subscriber.account)
        subscriptions.add(
            subscriber.account, number, loop: subscriber.loop, withCursors: request.withCursors, resets: resets.count)
        guard let since = request.since else {
            answer(subscriber, .now)
            return 0
        }
        let account = subscriber.account
        let joiner = Joiner(subscriber: subscriber, page: request.page)
        guard let cursor = Cursor(since) else { return answer(joiner, .refused(.invalid)) }
        let entities = request.page.entities
        let resumption = history.resume(cursor, account: account, entities: entities, now: wallClock)
        guard case .undecided(let doubt) = resumption else { return answer(joiner, resumption) }
        let atOnce = undecided.add(
            joiner, account: account, cursor: cursor, entities: entities, doubt: doubt, history: history, now: now,
            wallClock: wallClock)
        return atOnce.map { answer(joiner, $0) } ?? 0
    }

    @discardableResult
    private func answer(_ joiner: Joiner, _ resumption: Resumption) -> Int {
        switch resumption {
        case .accepted(let position, let floors):
            guard let page = joiner.page else { preconditionFailure("a join asks for a page") }
            return resume(joiner.subscriber, at: position, floors, page)
        case .refused(let why): answer(joiner.subscriber, .refused(why))
        // Too many wait, and the cluster is unknown.
        case .undecided: answer(joiner.subscriber, .refused(.epoch))
        }
        return 0
    }

    private func resume(
        _ subscriber: Subscriber, at position: StreamPosition, _ floors: [PartitionFloor], _ request: PageRequest
    ) -> Int {
        let page = page(of: subscriber.account, from: position, request)
        let join = JoinAnswer(outcome: .resumed(page, floors: floors), sequence: page.sequence, fresh: .none)
        answer(subscriber, .joined(subscriber.connection, join))
        return work(of: page)
    }

    private func answer(_ subscriber: Subscriber, _ outcome: JoinAnswer.Outcome) {
        let fresh = freshCursor(subscriber.account)
        answer(
            subscriber,
            .joined(
                subscriber.connection,
                JoinAnswer(outcome: outcome, sequence: history.lastSequence, fresh: fresh)))
    }

    /// After a wake, a metadata refresh or a probe: answers the joins that can be decided. It also answers the reads for which
    /// this node has now read as far as another one.
    ///
    /// `now` is monotonic, `wallClock` since 1970, both in milliseconds.
    func decide(now: UInt64, wallClock: Int64) {
        self.wallClock = wallClock
        for (joiner, resumption) in undecided.decide(history, now: now, wallClock: wallClock) {
            answer(joiner, resumption)
        }
        for (reader, request) in behind.takeReached(history) { answerRead(reader.subscriber, request) }
    }

    /// Records at offsets that were read once more.
    func probed(_ records: [RecordProbes.Found], now: UInt64, wallClock: Int64) {
        for found in records {
            if let record = found.record {
                undecided.probed(found.probe, found: record)
            } else {
                undecided.askAgain(found.probe)
            }
        }
        decide(now: now, wallClock: wallClock)
    }

    func unsubscribe(_ subscriber: Subscriber, withCursors: Bool) {
        undecided.remove(Joiner(subscriber: subscriber))
        _ = behind.remove(Joiner(subscriber: subscriber))
        let number = history.release(subscriber.account)
        subscriptions.remove(number, loop: subscriber.loop, withCursors: withCursors)
    }

    /// Returns the work of the page, in events.
    func read(_ subscriber: Subscriber, _ request: ReadRequest) -> Int {
        if request.waits, let upTo = request.page.upTo,
            let floors = history.unread(upTo: upTo, account: subscriber.account), !floors.isEmpty,
            behind.add(Joiner(subscriber: subscriber), request, until: floors)
        {
            return 0
        }
        return answerRead(subscriber, request)
    }

    /// Answers a read that waits, with what there is.
    func readNow(_ subscriber: Subscriber) -> Int {
        behind.remove(Joiner(subscriber: subscriber)).map { answerRead(subscriber, $0) } ?? 0
    }

    @discardableResult
    private func answerRead(_ subscriber: Subscriber, _ request: ReadRequest) -> Int {
        let page = page(of: subscriber.account, from: request.position, request.page)
        answer(subscriber, .page(subscriber.connection, page))
        return work(of: page)
    }

    /// The events of a page that was just read. An event that the filter left out counts an eighth, which is its cost.
    private func work(of page: PageAnswer) -> Int {
        guard case .page(let events, _, _) = page.answer else { return 0 }
        return events.count + (history.lastReadEvents - events.count) / 8
    }

    private func page(of account: Account, from position: StreamPosition, _ request: PageRequest) -> PageAnswer {
        let page = history.read(
            account: account, from: position, limit: request.limit, entities: request.entities, now: wallClock,
            withCursors: request.withCursors)
        // Only the last page, or the report that there is none, is followed by a cursor of now.
        let needsFresh: Bool
        var reach = NodeReach.unasked
        switch page {
        case .page(_, _, let isComplete):
            needsFresh = isComplete || request.alwaysFresh
            if isComplete, let upTo = request.upTo { reach = self.reach(upTo, account) }
        case .lost: needsFresh = true
        }
        return PageAnswer(
            answer: page, sequence: history.lastSequence, fresh: needsFresh ? freshCursor(account) : .none, reach: reach
        )
    }

    private func reach(_ upTo: [UInt8], _ account: Account) -> NodeReach {
        guard let unread = history.unread(upTo: upTo, account: account) else { return .unasked }
        return unread.isEmpty ? .reached : .behind
    }

    /// To be called now and then, whether brokers answer or not: a wait ends by its time, not by an arrival.
    ///
    /// `now` is monotonic, `wallClock` since 1970, both in milliseconds.
    func endWaits(now: UInt64, wallClock: Int64) {
        sweep(wallClock: wallClock)
        if !undecided.isEmpty || !behind.isEmpty { decide(now: now, wallClock: wallClock) }
        serveSnapshots(now: now)
    }

    /// Drops some of what is older than the retention. Bounded work; now and then.
    func sweep(wallClock: Int64) { history.sweep(now: wallClock) }

    func notify(_ state: SourceState) {
        for outlet in outlets { outlet.mailbox.post(.source(state)) }
    }
}
