import LiveUpdates

/// One request to `/sync/v1`, from its admission to its answer: a page at once, or the first event that comes.
///
/// While it waits it costs a slot in a line, and nothing that does not concern it can end the wait: it is answered from
/// the events that the loop was given, and the log is not read again. It does no I/O; see ``LiveStream``.
final class Poll<Port: SubscriberPort> {
    /// Events that are asked of ingest at once, however many the answer may hold: as many as `max_sync_events` is by
    /// default. So what a page costs is bounded, for ingest's turn, for the loop's, and in memory.
    static var eventsPerPage: Int { 500 }

    enum State {
        /// Waits for ingest's answer, which mostly holds the page.
        case joining
        /// A page has not filled the answer, and another one was asked for; or this node is behind the one that the client's
        /// `upto` is of, and the page comes when it has read on.
        case reading
        /// Nothing yet; the first event that passes the filter is the answer. It is owed when the line is closed.
        case waiting(AudienceGroup<Port>, PollLine<Port>)
        /// Answered, or gone.
        case ended
    }

    let account: Account
    private let parameters: SyncParameters
    /// How long it may wait for an event, and for the node to read as far as `upto` names. Both are limited by the life of the
    /// token; in milliseconds.
    private let patience: UInt64
    private let upToPatience: UInt64
    private let port: Port
    private let fanOut: LoopFanOut<Port>

    private(set) var state = State.joining
    /// The poll's index in its line. Set by the line.
    var slot = 0
    private var resetsSeen: UInt32 = 0
    /// The answer as far as it was read; text, because events need several times its memory.
    private var answer = SyncPage()
    private var floors: [PartitionFloor] = []
    /// It does not wait any more: where nothing is there, that is the answer.
    private var isHurried = false

    /// The node was waited for, as far as that is to be.
    private var hasWaitedForNode = false

    init(
        _ parameters: SyncParameters, tokenMilliseconds: UInt64 = .max, account: Account, port: Port,
        fanOut: LoopFanOut<Port>
    ) {
        self.parameters = parameters
        patience = min(parameters.waitMilliseconds, tokenMilliseconds)
        upToPatience = min(parameters.upToMilliseconds, tokenMilliseconds)
        self.account = account
        self.port = port
        self.fanOut = fanOut
    }

    /// Asks ingest to join after the client's cursor. Once.
    func begin() {
        port.subscribe(
            account,
            JoinRequest(since: parameters.since, withCursors: waits, page: pageRequest))
    }

    /// Ends the poll in whatever state it is. May be called again.
    func end() {
        switch state {
        case .ended: return
        case .joining, .reading: break
        case .waiting(let group, let line): fanOut.leave(self, group, line)
        }
        state = .ended
        port.unsubscribe(account, withCursors: waits)
    }

    /// Whether live events may become its answer.
    private var waits: Bool { patience > 0 && parameters.since != nil }

    /// The rest of the answer that may still be filled, or a page of it.
    private var pageRequest: PageRequest {
        PageRequest(
            limit: min(parameters.limit - answer.count, Self.eventsPerPage), entities: parameters.entities,
            withCursors: true, upTo: parameters.upTo)
    }

    // MARK: - Inputs

    func joined(_ answer: JoinAnswer, now: UInt64) {
        guard case .joining = state else { return }
        resetsSeen = fanOut.resets
        // An invalid cursor is a bad request; every other outcome is an answer.
        if case .refused(.invalid) = answer.outcome {} else { port.pollBegins() }
        switch answer.outcome {
        case .refused(let why): refuse(why, answer.fresh)
        case .now: reply(at: answer.fresh.bytes, more: false)
        case .resumed(let page, let floors):
            self.floors = floors
            consume(page, now)
        }
    }

    func page(_ page: PageAnswer, now: UInt64) {
        answerIfDue()
        if case .reading = state { consume(page, now) }
    }

    private func consume(_ page: PageAnswer, _ now: UInt64) {
        guard case .page(let found, let position, let isComplete) = page.answer else {
            return refuse(.expired, page.fresh)
        }
        fanOut.encoder.append(found, of: account, withAid: parameters.withAid, to: &answer)
        if isComplete { return end(page, at: position, now) }
        if answer.count >= parameters.limit, let last = found.last { return reply(at: last.at, more: true) }
        // An answer is short of its limit only when there is no more.
        state = .reading
        port.read(account, ReadRequest(position: position, page: pageRequest))
    }

    /// Nothing follows the page on this node. Another one may have read further, as the client knows.
    private func end(_ page: PageAnswer, at position: StreamPosition, _ now: UInt64) {
        switch page.reach {
        case .unasked where answer.count == 0 && waits: wait(now)
        case .unasked, .reached: reply(at: page.fresh.bytes, more: false)
        case .behind where hasWaitedForNode || isHurried || upToPatience == 0 || answer.count >= parameters.limit:
            reply(at: page.fresh.bytes, more: true)
        case .behind:
            hasWaitedForNode = true
            state = .reading
            port.read(account, ReadRequest(position: position, page: pageRequest, waits: true))
            wake(after: upToPatience, now)
        }
    }

    private func wake(after milliseconds: UInt64, _ now: UInt64) {
        let (time, overflow) = now.addingReportingOverflow(milliseconds)
        port.wake(at: overflow ? .max : time)
    }

    private func wait(_ now: UInt64) {
        let (group, line) = fanOut.join(self, account, StreamForm(individual: parameters.entities))
        state = .waiting(group, line)
        guard !isHurried else { return port.askFreshCursor(account) }
        wake(after: patience, now)
    }

    /// The client has waited as long as it wanted to. It still gets an event that comes before the cursor.
    func wake() {
        answerIfDue()
        switch state {
        case .waiting: port.askFreshCursor(account)
        case .reading where hasWaitedForNode: port.readNow(account)
        case .joining, .reading, .ended: break
        }
    }

    /// The node has no time for a wait any more. As when the time is up, at whatever time.
    func answerNow() {
        isHurried = true
        wake()
    }

    /// The time is up; what came before the cursor would have been its answer.
    func fresh(_ cursor: CursorText) {
        answerIfDue()
        if case .waiting = state { reply(at: cursor.bytes, more: false) }
    }

    /// Follows what came before this input: the events that it is owed, and a reset of the logs; see
    /// ``LiveStream/settle(now:)``. Whichever of the two came first is the answer.
    func answerIfDue() {
        let reset = fanOut.reset(of: account, since: resetsSeen)
        answerOwed(before: reset)
        switch state {
        case .joining, .ended: return
        case .reading, .waiting:
            resetsSeen = fanOut.resets
            if let reset { refuse(reset.why, reset.cursor) }
        }
    }

    /// Answers with the events that are owed. If the client has had all of them from another node, it waits on, behind them.
    private func answerOwed(before reset: AccountReset?) {
        while case .waiting(let group, let line) = state, let owed = line.owed, owed.resets < reset?.first ?? .max {
            let limit = parameters.limit
            if floors.isEmpty {
                let body = line.body(owed, of: account, limit, withAid: parameters.withAid, fanOut.encoder)
                end()
                return port.pollEnds(answer: body, DeliveryFacts(owed.events.prefix(limit), owed.consumption))
            }
            let fresh = owed.events.filter { event in !floors.contains { $0.isAbove(event) } }
            guard fresh.isEmpty else {
                end()
                return port.pollEnds(
                    answer: fanOut.encoder.body(fresh, of: account, limit: limit, withAid: parameters.withAid),
                    DeliveryFacts(fresh.prefix(limit), owed.consumption))
            }
            state = .waiting(group, fanOut.moveOn(self, group, line))
        }
    }

    // MARK: - The answer

    private func reply(at cursor: [UInt8], more: Bool) {
        let answer = exchange(&self.answer, with: SyncPage())
        end()
        let facts = DeliveryFacts(replayed: answer.count, at: fanOut.moment)
        // It may have some MB: the last word on it is here, so that none of them is copied.
        port.pollEnds(answer: (consume answer).finished(at: cursor, more: more), facts)
    }

    private func refuse(_ why: ResyncReason, _ fresh: CursorText) {
        end()
        port.pollEnds(refused: why, fresh: fresh)
    }
}

@available(*, unavailable)
extension Poll: Sendable {}
