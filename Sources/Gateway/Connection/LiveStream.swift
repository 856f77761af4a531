import LiveUpdates
import Reactor

/// The account's changes on their way to one client: what it has been given, and what it is owed.
///
///     joining ──► behind ──caught up──► live ──socket blocked──► behind ──…──► ended
///        └───────────────────────────────┘ ▲                        │
///                                           └── resync ◄─log is gone┘
///
/// Live, it costs a place in its group. Behind, it costs the position it is behind at: nothing is queued for it, and
/// when the socket drains it reads on from the slices that others have just been given, or from the log.
/// Confined to its loop. The connection under it knows sockets and frames; this knows what a client has seen.
final class LiveStream {
    /// What a stream asks of ingest at once. A page of thin messages is about as much as a socket's buffer takes.
    static let eventsPerPage = 256

    /// What a stream that is not live owes and waits for.
    struct Behind {
        var position: StreamPosition
        /// A page was asked for and has not come.
        var isReading = false
        /// The page that was asked for is of a log that is gone.
        var ignoresPage = false
        /// To be told as soon as the socket takes it: the reason, with the cursor from which everything follows.
        var resync: (why: ResyncReason, at: CursorText)?
        /// `live` is due when all is caught up.
        var owesLive = false
    }

    let parameters: LiveParameters
    let form: StreamForm
    let account: Account
    unowned let connection: Connection
    unowned let node: LoopNode

    var behind: Behind?
    private var lagTimer: Timer?
    var beatTimer: Timer?
    var lastMessageAt: UInt64
    /// Left out of what comes: what the client has had from a node that was ahead of this one.
    private var floors: [PartitionFloor] = []
    /// The state of the source that the client was told; nil is live.
    var toldSource: SourceState?
    var changed: ChangedSignal?
    private var isWatching = false
    private(set) var hasEnded = false

    init(_ parameters: LiveParameters, form: StreamForm, account: Account, connection: Connection, node: LoopNode) {
        self.parameters = parameters
        self.form = form
        self.account = account
        self.connection = connection
        self.node = node
        lastMessageAt = node.loop.now
        if parameters.isChangedMode { changed = ChangedSignal(node.policy.changedIntervalMilliseconds) }
    }

    /// Whether control messages are sent.
    var hasControls: Bool { parameters.wantsCursors }

    // MARK: - Begin and end

    /// The head has been written; ingest's answer says where the stream begins.
    func begin(_ answer: JoinAnswer) {
        switch answer.outcome {
        case .now:
            goLive()
            tellLive(answer.fresh)
        case .resumed(let position, let floors):
            self.floors = floors
            beginBehind(Behind(position: position, owesLive: true))
            catchUp()
        case .refused(let why):
            goLive()
            tellResync(why, answer.fresh)
            tellLive(answer.fresh)
        }
        scheduleBeat()
    }

    /// Takes the stream out of everything. Once, whatever state it is in.
    func end() {
        guard !hasEnded else { return }
        hasEnded = true
        if behind != nil { node.fanOut.endBehind(account: account, form) } else { leaveLive() }
        behind = nil
        for timer in [lagTimer, beatTimer, changed?.timer].compactMap({ $0 }) { node.loop.cancel(timer) }
    }

    // MARK: - Live

    private var isTold: Bool { changed != nil || !floors.isEmpty }

    private func goLive() {
        isWatching = isTold
        if isWatching {
            node.fanOut.watch(connection, account: account)
        } else {
            node.fanOut.join(connection, account: account, form)
        }
    }

    private func leaveLive() {
        if isWatching {
            node.fanOut.unwatch(connection, account: account)
        } else {
            node.fanOut.leave(connection, account: account, form)
        }
    }

    /// A slice that all streams of the form share.
    func deliver(_ messages: [UInt8]) {
        write(messages)
        // Within one tick nothing has blocked yet.
        if connection.pendingBytes > node.policy.maximumPendingBytes { fallBehind() }
    }

    func write(_ bytes: [UInt8]) {
        lastMessageAt = node.loop.now
        connection.write(bytes)
    }

    /// Events for a stream that stands for itself.
    func eventsCame(_ events: [LoggedEvent]) {
        if changed != nil { return changesCame(events) }
        let fresh = events.filter { !isBelowFloor($0) }
        dropFloors(reachedBy: events)
        let messages = node.fanOut.encoder.messages(fresh, form)
        if !messages.isEmpty { deliver(messages) }
        guard floors.isEmpty, behind == nil, !hasEnded else { return }
        leaveLive()
        goLive()
    }

    private func isBelowFloor(_ event: LoggedEvent) -> Bool {
        floors.contains { $0.partition == event.partition && event.offset < $0.offset }
    }

    private func dropFloors(reachedBy events: [LoggedEvent]) {
        guard !floors.isEmpty else { return }
        floors.removeAll { floor in
            events.contains { $0.partition == floor.partition && $0.offset >= floor.offset }
        }
    }

    // MARK: - Behind

    /// The kernel has not taken everything of this tick.
    func blocked() {
        if behind == nil, !hasEnded { fallBehind() }
    }

    private func fallBehind() {
        guard behind == nil else { return }
        if isWatching {
            leaveLive()
            node.fanOut.beginBehind(account: account, form)
        } else {
            node.fanOut.fallBehind(connection, account: account, form, now: node.loop.now)
        }
        behind = Behind(position: StreamPosition(sequence: node.fanOut.sequence))
        watchLag()
    }

    private func beginBehind(_ state: Behind) {
        node.fanOut.beginBehind(account: account, form)
        behind = state
        watchLag()
    }

    private func watchLag() {
        lagTimer = node.loop.schedule(afterMilliseconds: node.policy.maximumLagMilliseconds) { [weak self] in
            guard let self else { return }
            lagTimer = nil
            connection.closeTooSlow("behind for longer than max_lag")
        }
    }

    /// Everything that was written has left.
    func drained() {
        guard behind != nil, !hasEnded else { return }
        catchUp()
    }

    private func catchUp() {
        // Whatever is still on its way leaves first; the socket tells when it has.
        guard let state = behind, !state.isReading, connection.pendingBytes == 0 else { return }
        if let resync = state.resync { return beginAnew(resync.why, resync.at) }
        if state.position.isLive, !state.owesLive, !isTold, let recent = recent(after: state.position.sequence) {
            for slice in recent.slices { write(slice) }
            behind?.position = StreamPosition(sequence: recent.sequence)
            if recent.slices.isEmpty { caughtUp() }
            // More follows when these have left.
            return
        }
        behind?.isReading = true
        node.read(
            connection,
            ReadRequest(
                position: state.position, limit: changed == nil ? Self.eventsPerPage : 1, entities: form.entities,
                withCursors: form.needsCursors, alwaysFresh: changed != nil))
    }

    private func recent(after sequence: UInt64) -> (slices: [[UInt8]], sequence: UInt64)? {
        node.fanOut.recent(
            account: account, form, after: sequence, limit: node.policy.maximumPendingBytes)
    }

    /// What was asked for has come.
    func took(_ page: PageAnswer) {
        guard behind != nil, !hasEnded else { return }
        behind?.isReading = false
        if behind?.ignoresPage == true {
            behind?.ignoresPage = false
            return catchUp()
        }
        guard case .page(let events, let position, let isComplete) = page.answer else {
            behind?.resync = (.expired, page.fresh)
            behind?.position = StreamPosition(sequence: page.sequence)
            return catchUp()
        }
        behind?.position = position
        if changed != nil {
            // That there is something is all that is told; the cursor is of now, and so is the stream from here on.
            if !events.isEmpty { signal(at: page.fresh.bytes) }
            return caughtUp(page.fresh)
        }
        let messages = node.fanOut.encoder.messages(events.filter { !isBelowFloor($0) }, form)
        dropFloors(reachedBy: events)
        if !messages.isEmpty { write(messages) }
        if isComplete { caughtUp(page.fresh) } else if messages.isEmpty { catchUp() }
    }

    private func caughtUp(_ fresh: CursorText = .none) {
        guard let state = behind else { return }
        behind = nil
        node.fanOut.endBehind(account: account, form)
        if let lagTimer = lagTimer.take() { node.loop.cancel(lagTimer) }
        goLive()
        if state.owesLive { tellLive(fresh) } else { tellSource() }
        if let at = changed?.pending { signal(at: at) }
    }

    // MARK: - Resync

    /// The node's logs begin anew; `at` is the account's fresh cursor.
    func reset(_ why: ResyncReason, at: CursorText) {
        guard !hasEnded else { return }
        floors = []
        if behind == nil, connection.pendingBytes == 0 { return beginAnewLive(why, at) }
        if behind == nil { fallBehind() }
        let isReading = behind?.isReading ?? false
        behind?.ignoresPage = isReading
        behind?.position = StreamPosition(sequence: node.fanOut.sequence)
        behind?.resync = (why, at)
        catchUp()
    }

    private func beginAnewLive(_ why: ResyncReason, _ at: CursorText) {
        guard hasControls else { return connection.closeTooSlow("the log was made anew") }
        tellResync(why, at)
        tellLive(at)
    }

    /// What is missed cannot be given. The stream goes on behind, at the place of the cursor that is told.
    private func beginAnew(_ why: ResyncReason, _ at: CursorText) {
        guard hasControls else { return connection.closeTooSlow("what it missed is no longer in the log") }
        behind?.resync = nil
        behind?.owesLive = true
        tellResync(why, at)
    }
}

@available(*, unavailable)
extension LiveStream: Sendable {}
