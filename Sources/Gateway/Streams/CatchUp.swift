import LiveUpdates

/// The state of a stream that is behind. Made when it falls behind or begins behind, gone when it has caught up.
final class CatchUp<Port: SubscriberPort> {
    /// The group that the stream joins when it has caught up. The group exists as long as a member is behind.
    let group: AudienceGroup<Port>
    /// Everything up to here was written for the client, or is in the page that was asked for.
    var position: StreamPosition
    /// The sequence of the last event that was written for the client, or for its group before it fell behind.
    var given: UInt64
    /// When a client that has not caught up counts as too slow, and is closed; monotonic, in milliseconds.
    let deadline: UInt64
    /// Since when; monotonic, in milliseconds.
    let since: UInt64
    /// A page was asked for and has not come.
    var isReading = false
    /// The page that was asked for was read before a reset: it is dropped when it comes.
    var ignoresPage = false
    /// A resync that is sent as soon as the socket accepts it: the reason, and the cursor after which everything follows.
    var resync: (why: ResyncReason, at: CursorText)?
    /// Events that were written, and that the socket did not accept at once.
    var unsent: [DeliveryFacts] = []
    /// A resync was sent: that is the outcome.
    var isResynced = false
    /// The control message `live` is due when the stream has caught up.
    var owesLive: Bool

    init(
        group: AudienceGroup<Port>, position: StreamPosition, since: UInt64, deadline: UInt64, owesLive: Bool = false
    ) {
        self.since = since
        self.group = group
        self.position = position
        given = position.sequence
        self.deadline = deadline
        self.owesLive = owesLive
    }
}

/// How a stream that is behind becomes live: it writes slices that the others of its group got in the last seconds, or pages
/// of the log. Each is asked for when the one before has left the socket; nothing is queued for the stream meanwhile.
extension LiveStream {
    /// The page that the stream asks ingest for. With `mode=changed` the client learns only whether there is anything.
    var pageRequest: PageRequest {
        PageRequest(
            limit: changed == nil ? fanOut.policy.eventsPerPage : 1, entities: form.entities,
            withCursors: form.needsCursors, alwaysFresh: changed != nil)
    }

    func fallBehind(_ now: UInt64) {
        guard case .live(let group) = state else { return }
        fanOut.fallBehind(self, group, now: now)
        let catchUp = CatchUp(
            group: group, position: StreamPosition(sequence: fanOut.sequence), since: now,
            deadline: now + fanOut.policy.maximumLagMilliseconds)
        state = .behind(catchUp)
        wishWake(at: catchUp.deadline)
    }

    /// Writes or asks for what comes next, once all that was written before has left.
    func proceed(_ catchUp: CatchUp<Port>, _ now: UInt64) {
        // What was written before leaves first; the socket reports when it has left.
        guard !catchUp.isReading, port.pendingBytes == 0 else { return }
        if let resync = catchUp.resync { return restart(resync.why, resync.at, catchUp, now) }
        if catchUp.position.isLive, !catchUp.owesLive, !goesOnFromLog(catchUp, now) { return }
        catchUp.isReading = true
        port.read(account, ReadRequest(position: catchUp.position, page: pageRequest))
    }

    /// Whether the log has to be read, because the recent slices of the group do not reach back far enough. Otherwise the
    /// slices are written here. Only for a stream that was a member before.
    private func goesOnFromLog(_ catchUp: CatchUp<Port>, _ now: UInt64) -> Bool {
        // What came since did not pass the filter: nothing is missed, however much of the log is gone.
        if catchUp.group.lastSequence <= catchUp.position.sequence {
            caughtUp(.none, catchUp, now)
            return false
        }
        guard !isServedAlone else { return true }
        let limit = fanOut.policy.maximumPendingBytes
        guard let recent = catchUp.group.recent.next(after: catchUp.position.sequence, limit: limit) else {
            return true
        }
        for (slice, facts) in recent.slices {
            // They were consumed then; but a replayed event is no measure of the age in which events come.
            write(slice, facts.map { DeliveryFacts(replayed: Int($0.count), at: $0.consumed) }, now)
        }
        catchUp.position = StreamPosition(sequence: recent.sequence)
        catchUp.given = recent.sequence
        // More follows when these have left.
        return false
    }

    /// Writes the events of a page, or notes that the log no longer has them.
    func consume(_ page: PageAnswer, _ catchUp: CatchUp<Port>, _ now: UInt64) {
        guard case .page(let events, let next, let isComplete) = page.answer else {
            catchUp.resync = (.expired, page.fresh)
            catchUp.position = StreamPosition(sequence: page.sequence)
            changed?.drop()
            floors = []
            return proceed(catchUp, now)
        }
        catchUp.position = next
        if changed != nil {
            // Only the last page can show that there is nothing.
            if events.isEmpty, !isComplete { return proceed(catchUp, now) }
            // The cursor is of now, and so is the stream from here on.
            if !events.isEmpty {
                signal(at: page.fresh.bytes, DeliveryFacts(replayed: 1, at: fanOut.moment), now)
            }
            return caughtUp(page.fresh, catchUp, now)
        }
        if let last = events.last { catchUp.given = last.sequence }
        let fresh = aboveFloors(events)
        let messages = fanOut.encoder.page(fresh, of: account, form)
        if !messages.isEmpty { write(messages, DeliveryFacts(replayed: fresh.count, at: fanOut.moment), now) }
        if isComplete { caughtUp(page.fresh, catchUp, now) } else if messages.isEmpty { proceed(catchUp, now) }
    }

    /// The client misses nothing any more: the stream joins its group. `fresh` is the account's cursor of now, where `live`
    /// is owed.
    private func caughtUp(_ fresh: CursorText, _ catchUp: CatchUp<Port>, _ now: UInt64) {
        goLive()
        fanOut.endBehind(self, catchUp.group)
        if !catchUp.isResynced { fanOut.catchUps[.caughtUp, default: 0] += 1 }
        if let (at, facts) = changed?.pending { signal(at: at, facts, now) }
        if catchUp.owesLive { return sendLive(at: fresh, now) }
        // The group got a beat for events that its filter left out; this stream did not.
        if let missed = catchUp.group.lastBeat, missed.sequence > catchUp.given {
            sendBeat(at: fresh.bytes.isEmpty ? missed.cursor : fresh.bytes, now)
        }
        sendSourceState(now)
    }

    // MARK: - Resync

    /// The node's logs were dropped and begin again, from the account's fresh cursor on.
    func handle(_ reset: AccountReset, _ now: UInt64) {
        if case .live = state, port.pendingBytes > 0 { fallBehind(now) }
        switch state {
        case .joining, .ended: return
        case .live:
            changed?.drop()
            resetLive(reset.why, reset.cursor, now)
        case .behind(let catchUp):
            changed?.drop()
            floors = []
            catchUp.ignoresPage = catchUp.isReading
            // Not the fan-out's position of now: what came after the reset has not been given.
            catchUp.position = StreamPosition(sequence: reset.sequence)
            catchUp.resync = (min(reset.why, catchUp.resync?.why ?? reset.why), reset.cursor)
            proceed(catchUp, now)
        }
    }

    private func resetLive(_ why: ResyncReason, _ at: CursorText, _ now: UInt64) {
        guard hasControls else {
            return close(
                why == .epoch ? "positions have lost their meaning" : "what it missed is no longer in the log")
        }
        sendResync(why, at: at, now)
        sendLive(at: at, now)
        guard !floors.isEmpty, case .live(let group) = state else { return }
        floors = []
        fanOut.leave(self, group)
        goLive()
    }

    /// Sends the resync that is owed. The stream stays behind, at the position of the cursor that the resync carries.
    private func restart(_ why: ResyncReason, _ at: CursorText, _ catchUp: CatchUp<Port>, _ now: UInt64) {
        guard hasControls else { return close("what it missed is no longer in the log") }
        catchUp.resync = nil
        if !catchUp.isResynced { fanOut.catchUps[.resync, default: 0] += 1 }
        catchUp.isResynced = true
        catchUp.owesLive = true
        sendResync(why, at: at, now)
    }
}

@available(*, unavailable)
extension CatchUp: Sendable {}
