import LiveUpdates

/// From an account's events to the subscribers of one loop.
///
/// Messages of one account and one form are encoded once a wake and shared; a subscriber gets a reference to them.
/// Confined to its loop.
final class LoopFanOut<Port: SubscriberPort> {
    typealias Group = AudienceGroup<Port>

    /// Bytes of recent slices on this loop, all forms together; over it, streams that are behind go on from the log.
    static var maximumRecentBytes: Int { 32 * 1_048_576 }

    /// Replaced when settings are reloaded.
    var policy: StreamPolicy
    /// All events up to here that concern this loop were handed out, or will be read from the log by streams that are behind.
    private(set) var sequence: UInt64 = 0
    let encoder: FormEncoder
    /// Nil until ingest reported one.
    var sourceState: SourceState? {
        didSet { isStalled = sourceState?.isStalled ?? false }
    }
    private(set) var isStalled = false

    /// Counts the messages of resets. A subscriber that has seen fewer handles the last one of its account before any other
    /// input.
    private(set) var resets: UInt32 = 0
    /// The last reset of each account, until all subscribers have handled it.
    private var resetsByAccount: [Account: AccountReset] = [:]

    /// Resyncs that were sent, by reason.
    var resyncs: [ResyncReason: UInt64] = [:]
    private(set) var audiences: [Account: Audience<Port>] = [:]
    private var recentBytes = 0
    /// Deliveries that were handed to the kernel, and those that still wait for it.
    var ledger = DeliveryLedger()
    /// The time of what is happening, monotonic, in microseconds: set by the loop before it calls, for what is measured.
    var moment: UInt64 = 0
    /// Streams that are behind.
    private(set) var behind = 0
    /// How being behind ended, by outcome.
    var catchUps: [CatchUpOutcome: UInt64] = [:]
    private var closedLines = ClosedLines<Port>()

    /// `topics` as partitions number them.
    init(policy: StreamPolicy, topics: [String]) {
        self.policy = policy
        encoder = FormEncoder(ids: ArchiveIDs(topics: topics))
    }

    /// A message of ingest reports that this loop has been sent everything up to `sequence`.
    func advance(to sequence: UInt64) {
        if sequence > self.sequence { self.sequence = sequence }
    }

    // MARK: - Members

    /// From now on the stream gets what all others of its form get.
    func join(_ stream: LiveStream<Port>, _ account: Account, _ form: StreamForm) -> Group {
        let group = audience(account).group(account, form)
        group.add(stream)
        return group
    }

    func join(_ poll: Poll<Port>, _ account: Account, _ form: StreamForm) -> (Group, PollLine<Port>) {
        let group = audience(account).group(account, form)
        return (group, group.add(poll))
    }

    func leave(_ stream: LiveStream<Port>, _ group: Group) {
        group.remove(stream)
        tidy(group)
    }

    func leave(_ poll: Poll<Port>, _ group: Group, _ line: PollLine<Port>) {
        line.remove(poll)
        tidy(group)
    }

    /// The poll is owed nothing of what its line is owed: it waits in the next one, which may be closed already.
    func moveOn(_ poll: Poll<Port>, _ group: Group, _ line: PollLine<Port>) -> PollLine<Port> {
        guard let next = line.next else { preconditionFailure("a line that is closed is followed by another one") }
        line.remove(poll)
        next.add(poll)
        if next.owed != nil { closedLines.add(next, group) }
        return next
    }

    /// The stream has been given all events up to ``sequence``, and accepts no more for now. Its group exists until
    /// ``endBehind(_:_:)``.
    func fallBehind(_ stream: LiveStream<Port>, _ group: Group, now: UInt64) {
        group.remove(stream)
        group.behindStreams[ObjectIdentifier(stream)] = stream
        behind += 1
        if group.form.isShared { group.recent.keep(after: sequence, now: now) }
    }

    /// For a stream that begins behind, since it has to be given what it missed before it joins.
    func beginBehind(_ stream: LiveStream<Port>, _ account: Account, _ form: StreamForm) -> Group {
        let group = audience(account).group(account, form)
        group.behindStreams[ObjectIdentifier(stream)] = stream
        behind += 1
        return group
    }

    /// The stream has caught up, or has ended.
    func endBehind(_ stream: LiveStream<Port>, _ group: Group) {
        guard group.behindStreams.removeValue(forKey: ObjectIdentifier(stream)) != nil else {
            preconditionFailure("a stream caught up that had not been behind")
        }
        behind -= 1
        if group.behindStreams.isEmpty { dropRecent(of: group) }
        tidy(group)
    }

    private func audience(_ account: Account) -> Audience<Port> {
        if let audience = audiences[account] { return audience }
        let audience = Audience<Port>()
        audiences[account] = audience
        return audience
    }

    private func tidy(_ group: Group) {
        guard group.isEmpty, let audience = audiences[group.account] else { return }
        audience.remove(group)
        if audience.isEmpty { audiences[group.account] = nil }
    }

    // MARK: - Delivering

    /// Delivers `batch` to every stream of its accounts; polls are owed it from now on, and answered by ``answerNext()``.
    /// Returns the number of messages delivered and owed.
    ///
    /// `sequence` is the last one in the batch; `now` is monotonic, in milliseconds.
    func deliver(_ batch: [AccountEvents], sequence: UInt64, now: UInt64) -> Int {
        advance(to: sequence)
        var deliveries = 0
        for part in batch {
            // All subscribers may have left since ingest checked.
            guard let audience = audiences[part.account], let last = part.events.last else { continue }
            let events = part.events
            let matches = audience.match(events)
            let unfiltered = audience.unfiltered
            encoder.begin(events, of: part.account)
            // A stream with messages of its own may join a group that shares meanwhile; that group must have had its turn.
            for group in unfiltered where group.form.isShared {
                group.lastSequence = last.sequence
                guard group.needsSlices else { continue }
                let facts = DeliveryFacts(events, part.consumption)
                deliveries += events.count * share(encoder.all(group.form), facts, events[0].sequence, group, now)
            }
            for (group, passing) in matches where group.form.isShared {
                group.lastSequence = events[passing[passing.count - 1]].sequence
                guard group.needsSlices else { continue }
                let first = events[passing[0]].sequence
                let facts = DeliveryFacts(passing.map { events[$0] }, part.consumption)
                deliveries += passing.count * share(encoder.some(passing, group.form), facts, first, group, now)
            }
            for group in unfiltered where !group.form.isShared { deliveries += hand(events, part, group, now) }
            for (group, passing) in matches where !group.form.isShared {
                let all = passing.count == events.count
                deliveries += hand(all ? events : passing.map { events[$0] }, part, group, now)
            }
            giveCursor(last, to: audience.passedOver(policy.maximumPassedOver), now)
        }
        return deliveries
    }

    /// Delivers a slice to a group; returns to how many streams. `first` is the sequence of the first event in it; without
    /// facts it holds no event.
    private func share(_ slice: [UInt8], _ facts: DeliveryFacts?, _ first: UInt64, _ group: Group, _ now: UInt64) -> Int
    {
        if group.recent.isKept {
            recentBytes -= group.recent.bytes
            group.recent.append(slice, facts, first: first, sequence: sequence, now: now)
            recentBytes += group.recent.bytes
            if recentBytes > Self.maximumRecentBytes { dropRecent(of: group) }
        }
        let count = group.streams.count
        if let facts, count > 0 {
            group.lastEntry = ledger.add(facts, after: group.lastEntry)
            group.deliver(slice, group.lastEntry, now: now)
        } else {
            group.deliver(slice, DeliveryLedger.none, now: now)
        }
        return count
    }

    private func hand(_ events: [LoggedEvent], _ part: AccountEvents, _ group: Group, _ now: UInt64) -> Int {
        group.lastSequence = events[events.count - 1].sequence
        let count = group.streams.count + group.waitingPolls
        group.deliver(events, part.consumption, now: now)
        if let line = group.closeLine(.init(events: events, consumption: part.consumption, resets: resets)) {
            closedLines.add(line, group)
        }
        return count * events.count
    }

    /// Whether polls are owed events that have come.
    var owesAnswers: Bool { !closedLines.isEmpty }

    /// Answers one poll of those that are owed events. Returns whether more are left.
    func answerNext() -> Bool {
        guard owesAnswers else { return false }
        let (line, group) = closedLines.next()
        line.polls.last?.answerIfDue()
        if line.polls.isEmpty {
            closedLines.removeCurrent()
            tidy(group)
        }
        return owesAnswers
    }

    /// Gives groups whose filter left out many events the cursor of the last one, so that what does not concern a client
    /// does not let its cursor expire.
    private func giveCursor(_ last: LoggedEvent, to groups: [Group], _ now: UInt64) {
        guard !last.at.isEmpty else { return }
        for group in groups {
            group.noteBeat(last)
            if group.form.isShared {
                _ = share(encoder.control(.beat(at: last.at), group.form.carrier), nil, last.sequence, group, now)
            } else {
                group.passedOver(at: last.at, now: now)
            }
        }
    }

    private func dropRecent(of group: Group) {
        recentBytes -= group.recent.bytes
        group.recent.drop()
    }

    /// Notifies a person's streams of what that person has read on another device.
    ///
    /// Goes over the account's streams of this loop once, so that no stream pays for an index while no marks move.
    func read(_ notice: ReadNotice, now: UInt64) {
        guard let audience = audiences[notice.account] else { return }
        let thing = notice.thing.map { ThingName(entity: $0.entity, id: $0.id) }
        let message = ControlMessage.read(thing, upTo: notice.upTo)
        // All are found before the first is notified: a stream that handles a reset first may fall behind, or join another group.
        let streams = audience.groups.flatMap { $0.streams(of: notice.person) }
        for stream in streams { stream.markMoved(message, now) }
    }

    // MARK: - Reset

    /// Ingest has dropped logs. Each subscriber of an account in `cursors` handles this before its next input, or when the loop's
    /// walk over all connections reaches it, whichever comes first.
    func reset(_ why: ResyncReason, sequence: UInt64, cursors: [Account: CursorText]) {
        advance(to: sequence)
        resets &+= 1
        for (account, cursor) in cursors {
            // Some may not have handled the one before.
            let earlier = resetsByAccount[account]
            resetsByAccount[account] = AccountReset(
                number: resets, first: earlier?.first ?? resets, why: min(why, earlier?.why ?? why),
                sequence: sequence, cursor: cursor)
        }
    }

    /// The last reset of an account, if a subscriber that has seen `seen` of all resets has not handled it.
    func reset(of account: Account, since seen: UInt32) -> AccountReset? {
        guard seen != resets, let reset = resetsByAccount[account], reset.number > seen else { return nil }
        return reset
    }

    /// Every subscriber has handled the resets.
    func forgetResets() { resetsByAccount = [:] }
}

/// How a stream's being behind ended.
enum CatchUpOutcome: String, CaseIterable, Sendable {
    case caughtUp = "caught_up"
    case resync
    case tooSlow = "too_slow"
}

/// What a subscriber needs to know of a reset.
struct AccountReset {
    /// As ``LoopFanOut/resets`` counts.
    let number: UInt32
    /// The number of the first one of the account that some subscriber may not have handled.
    let first: UInt32
    let why: ResyncReason
    /// The position at which everything begins again.
    let sequence: UInt64
    /// The account's cursor of that position.
    let cursor: CursorText
}

@available(*, unavailable)
extension LoopFanOut: Sendable {}

extension SourceState {
    var isStalled: Bool {
        if case .stalled = self { true } else { false }
    }
}
