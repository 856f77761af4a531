import LiveUpdates
import WebSocket

/// What one client of a stream has been given of its account's events, and what it is owed.
///
///     joining ──► behind ──caught up──► live ──socket blocked──► behind ──…──► ended
///        └───────────────────────────────┘ ▲                        │
///                                           └── resync ◄─log is gone┘
///
/// Live, it costs a slot in its group. Behind, nothing is queued for it: it reads on when the socket drains
/// (``CatchUp``). It does no I/O and has no clock: inputs are calls, each with `now` (monotonic, in milliseconds), and
/// what it wants done goes to its port. Confined to its loop.
final class LiveStream<Port: SubscriberPort> {
    enum State {
        /// Waits for ingest's answer, which states from when on the stream gets events.
        case joining
        case live(AudienceGroup<Port>)
        case behind(CatchUp<Port>)
        /// Nothing is written any more.
        case ended
    }

    let account: Account
    let form: StreamForm
    let port: Port
    let fanOut: LoopFanOut<Port>

    var state = State.joining
    /// What `mode=changed` remembers; nil for streams of events.
    var changed: ChangedSignal?
    /// Events below these offsets are left out: the client has had them from a node that was ahead of this one.
    var floors: [PartitionFloor] = []
    /// When the client last got a message after which a beat is not due yet.
    private(set) var lastMessageAt: UInt64 = 0
    /// The earliest moment at which a call of ``wake(now:)`` is to come; `.max`: none.
    private var wakesAt = UInt64.max
    // Small fields are grouped, because every open connection has a stream.
    /// The client wants a beat after so long without a message; 0: it did not ask for beats.
    private let beatMilliseconds: UInt32
    /// The number of resets of which the client was notified, as the fan-out counts them.
    private var resetsSeen: UInt32 = 0
    private var slot32: UInt32 = 0
    /// What was written and has not left: in the loop's ledger.
    var owed = DeliveryLedger.Owed()
    /// Events that the kernel has accepted.
    var deliveries: UInt64 = 0
    /// Whether control messages are sent, and the account's events have to carry cursors for the sake of this stream.
    let hasControls: Bool
    private var awaitsFresh = false
    /// Messages to send once the stream is live again.
    var owedControls: OwedControls?
    /// Whether the client was last notified that the source is stalled.
    var sentStalled = false

    init(_ parameters: LiveParameters, form: StreamForm, account: Account, port: Port, fanOut: LoopFanOut<Port>) {
        self.account = account
        self.form = form
        self.port = port
        self.fanOut = fanOut
        hasControls = parameters.wantsCursors
        beatMilliseconds = UInt32(parameters.beatSeconds ?? 0) * 1000
        if parameters.isChangedMode { changed = ChangedSignal() }
    }

    /// The stream's index in its group. Set by the group.
    var slot: Int {
        get { Int(slot32) }
        set { slot32 = UInt32(newValue) }
    }

    /// Asks ingest to join, after the client's cursor or from now on. Once.
    func begin(since: [UInt8]?) {
        port.subscribe(account, JoinRequest(since: since, withCursors: hasControls, page: pageRequest))
    }

    /// Ends the stream in whatever state it is: it leaves its group, and ingest. May be called again.
    ///
    /// - Returns: the events that were written and have not left; the socket may still accept them. None the second time.
    @discardableResult
    func end() -> [DeliveryFacts] {
        var unsent: [DeliveryFacts] = []
        switch state {
        case .ended: return []
        case .joining: break
        case .live(let group): fanOut.leave(self, group)
        case .behind(let catchUp):
            unsent = catchUp.unsent
            fanOut.endBehind(self, catchUp.group)
        }
        unsent += fanOut.ledger.detach(&owed)
        state = .ended
        port.unsubscribe(account, withCursors: hasControls)
        return unsent
    }

    var isLive: Bool { if case .live = state { true } else { false } }

    // MARK: - Inputs

    /// Ingest has answered: all later events of the account come to this loop.
    func joined(_ answer: JoinAnswer, now: UInt64) {
        guard case .joining = state else { return }
        resetsSeen = fanOut.resets
        port.streamBegins()
        lastMessageAt = now
        switch answer.outcome {
        case .now:
            goLive()
            sendLive(at: answer.fresh, now)
        case .refused(let why):
            goLive()
            sendResync(why, at: answer.fresh, now)
            sendLive(at: answer.fresh, now)
        case .resumed(let page, let floors):
            self.floors = floors
            let catchUp = CatchUp(
                group: fanOut.beginBehind(self, account, groupForm),
                position: StreamPosition(sequence: answer.sequence),
                since: now,
                deadline: now + fanOut.policy.maximumLagMilliseconds, owesLive: true)
            state = .behind(catchUp)
            wishWake(at: catchUp.deadline)
            consume(page, catchUp, now)
        }
        wishBeat()
    }

    /// A slice that all streams of the group share. `entry` is its in the ledger; none of what holds no event.
    func deliver(_ slice: [UInt8], _ entry: UInt32, now: UInt64) {
        if resetsSeen != fanOut.resets { settle(now: now) }
        guard case .live = state else { return }
        if entry != DeliveryLedger.none { fanOut.ledger.owe(entry, to: &owed) }
        write(slice, now)
        // Within one tick nothing has blocked yet.
        if port.pendingBytes > fanOut.policy.maximumPendingBytes { fallBehind(now) }
    }

    /// Events that pass the filter, for a stream that makes its own messages.
    func events(_ events: [LoggedEvent], _ consumption: Consumption, now: UInt64) {
        settle(now: now)
        guard isLive else { return }
        let fresh = aboveFloors(events)
        let facts = DeliveryFacts(fresh, consumption)
        if changed != nil {
            if let last = fresh.last { signal(at: last.at, facts.asOne, now) }
            return
        }
        let messages = fanOut.encoder.messages(fresh, of: account, form)
        if !messages.isEmpty { deliver(messages, fanOut.ledger.add(facts), now: now) }
        guard floors.isEmpty, case .live(let group) = state else { return }
        fanOut.leave(self, group)
        goLive()
    }

    /// The filter left out many events: the cursor `at` is after all of them.
    func passedOver(at cursor: [UInt8], now: UInt64) {
        settle(now: now)
        // A signal that is owed covers everything up to its cursor, so it replaces the beat.
        if changed?.pending != nil { changed?.pending?.cursor = cursor } else { sendBeat(at: cursor, now) }
    }

    /// The page has come that was asked for while behind.
    func page(_ page: PageAnswer, now: UInt64) {
        settle(now: now)
        guard case .behind(let catchUp) = state, catchUp.isReading else { return }
        catchUp.isReading = false
        if catchUp.ignoresPage {
            catchUp.ignoresPage = false
            return proceed(catchUp, now)
        }
        consume(page, catchUp, now)
    }

    /// The cursor for a beat. What came before it has been written, since it came the same way.
    func fresh(_ cursor: CursorText, now: UInt64) {
        settle(now: now)
        awaitsFresh = false
        sendBeat(at: cursor.bytes, now)
        wishBeat(notBefore: now)
    }

    /// The kernel has not accepted everything of this tick.
    func blocked(now: UInt64) {
        settle(now: now)
        fallBehind(now)
        if case .behind(let catchUp) = state { catchUp.unsent += fanOut.ledger.detach(&owed) }
    }

    /// Everything that was written has left.
    func drained(now: UInt64) {
        if !owed.isEmpty { deliveries += fanOut.ledger.observe(&owed, form.deliveryKind, at: fanOut.moment) }
        // Nearly every call ends here: a stream that is live waits for nothing.
        guard case .behind(let blocked) = state else { return }
        observeUnsent(of: blocked)
        settle(now: now)
        if case .behind(let catchUp) = state { proceed(catchUp, now) }
    }

    /// The moment has come that was wished for, or a later one; an earlier wish may have lost its reason.
    func wake(now: UInt64) {
        wakesAt = .max
        settle(now: now)
        switch state {
        case .joining, .ended: return
        case .behind(let catchUp):
            if now >= catchUp.deadline { return close("behind for longer than max_lag") }
            wishWake(at: catchUp.deadline)
        case .live:
            if let due = changed?.due(fanOut.policy.changedIntervalMilliseconds), let pending = changed?.pending {
                if due <= now { signal(at: pending.cursor, pending.facts, now) } else { wishWake(at: due) }
            }
            guard hasControls, !awaitsFresh else { return }
            if now >= lastMessageAt + quietMilliseconds {
                guard changed?.pending == nil else {
                    // A cursor behind a signal that is still owed would hide it. The cursor that the client has hides nothing.
                    repeatCursor(now)
                    return wishBeat(notBefore: now)
                }
                awaitsFresh = true
                return port.askFreshCursor(account)
            }
        }
        wishBeat(notBefore: now)
    }

    /// Handles what concerns all streams of the loop: a reset of the logs, another state of the source.
    ///
    /// The loop calls this for all of them in slices; each input does first, so that no event and no cursor from behind a
    /// reset reaches a client before the resync does.
    func settle(now: UInt64) {
        if resetsSeen != fanOut.resets {
            let reset = fanOut.reset(of: account, since: resetsSeen)
            resetsSeen = fanOut.resets
            if let reset { handle(reset, now) }
        }
        sendSourceState(now)
    }

    /// The client is behind and cannot be given what it misses: only the close is written any more.
    func close(_ why: StaticString) {
        // The close of an event stream is this message.
        if form.carrier == .eventStream { sendBye(.tooSlow, nil) }
        fanOut.catchUps[.tooSlow, default: 0] += 1
        let unsent = end()
        port.streamEnds(.tooSlow, why, unsent)
    }

    // MARK: - Writing, and the time

    func write(_ bytes: [UInt8], _ now: UInt64) {
        lastMessageAt = now
        port.write(bytes)
    }

    /// Writes what carries no cursor: only a client that asked for beats counts it as a message.
    func writeWithoutCursor(_ bytes: [UInt8], _ now: UInt64) {
        if beatMilliseconds > 0 { lastMessageAt = now }
        port.write(bytes)
    }

    /// Asks to be called at `time`, unless an earlier call is already due.
    func wishWake(at time: UInt64) {
        guard time < wakesAt else { return }
        wakesAt = time
        port.wake(at: time)
    }

    private var quietMilliseconds: UInt64 {
        let quiet = fanOut.policy.quietMilliseconds
        return beatMilliseconds == 0 ? quiet : min(quiet, UInt64(beatMilliseconds))
    }

    /// Messages do not move the wish: they are many and beats are few.
    private func wishBeat(notBefore now: UInt64 = 0) {
        guard hasControls, !awaitsFresh else { return }
        let quiet = quietMilliseconds
        // Behind, or with a signal owed, a beat that was due is due again after the same time.
        let due = lastMessageAt + quiet
        wishWake(at: due > now ? due : now + quiet)
    }
}

@available(*, unavailable)
extension LiveStream: Sendable {}
