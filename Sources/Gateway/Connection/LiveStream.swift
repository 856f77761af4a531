import LiveUpdates
import Reactor

/// The account's changes on their way to one client: what it has been given, and what it is owed.
///
///     joining ──► behind ──caught up──► live ──socket blocked──► behind ──…──► ended
///        └───────────────────────────────┘ ▲                        │
///                                           └── resync ◄─log is gone┘
///
/// Live, it costs a place in its group. Behind, nothing is queued for it: ``CatchUp`` reads on when the socket drains.
/// Confined to its loop. The connection under it knows sockets and frames; this knows what a client has seen.
final class LiveStream {
    let parameters: LiveParameters
    let form: StreamForm
    let account: Account
    unowned let connection: Connection
    unowned let loop: ConnectionLoop

    /// Nil while the stream is live.
    private(set) var behind: CatchUp?
    var beatTimer: Timer?
    var lastMessageAt: UInt64
    /// Left out of what comes: what the client has had from a node that was ahead of this one.
    private var floors: [PartitionFloor] = []
    /// The state of the source that the client was told; nil is live.
    var toldSource: SourceState?
    var changed: ChangedSignal?
    private var isWatching = false
    private(set) var hasEnded = false

    init(_ parameters: LiveParameters, form: StreamForm, account: Account, connection: Connection, loop: ConnectionLoop)
    {
        self.parameters = parameters
        self.form = form
        self.account = account
        self.connection = connection
        self.loop = loop
        lastMessageAt = loop.eventLoop.now
        if parameters.isChangedMode { changed = ChangedSignal(loop.policy.changedIntervalMilliseconds) }
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
        case .resumed(let page, let floors):
            self.floors = floors
            loop.fanOut.beginBehind(account: account, form)
            behind = CatchUp(self, from: StreamPosition(sequence: 0), owesLive: true)
            behind?.took(page)
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
        if behind == nil { leaveLive() } else { leaveBehind() }
        for timer in [beatTimer, changed?.timer].compactMap({ $0 }) { loop.eventLoop.cancel(timer) }
    }

    // MARK: - Live

    /// Whether it cannot be given what all streams of its form share.
    var standsAlone: Bool { changed != nil || !floors.isEmpty }

    private func goLive() {
        isWatching = standsAlone
        if isWatching {
            loop.fanOut.watch(connection, account: account)
        } else {
            loop.fanOut.join(connection, account: account, form)
        }
    }

    private func leaveLive() {
        if isWatching {
            loop.fanOut.unwatch(connection, account: account)
        } else {
            loop.fanOut.leave(connection, account: account, form)
        }
    }

    /// A slice that all streams of the form share.
    func deliver(_ messages: [UInt8]) {
        write(messages)
        // Within one tick nothing has blocked yet.
        if connection.pendingBytes > loop.policy.maximumPendingBytes { fallBehind() }
    }

    func write(_ bytes: [UInt8]) {
        lastMessageAt = loop.eventLoop.now
        connection.write(bytes)
    }

    /// Events for a stream that stands for itself.
    func eventsCame(_ events: [LoggedEvent]) {
        if changed != nil { return changesCame(events) }
        let messages = messages(of: events)
        if !messages.isEmpty { deliver(messages) }
        guard floors.isEmpty, behind == nil, !hasEnded else { return }
        leaveLive()
        goLive()
    }

    /// What of the events the client has not had, in its form.
    func messages(of events: [LoggedEvent]) -> [UInt8] {
        let fresh = events.filter { !isBelowFloor($0) }
        dropFloors(reachedBy: events)
        return loop.fanOut.encoder.messages(fresh, form)
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
            loop.fanOut.beginBehind(account: account, form)
        } else {
            loop.fanOut.fallBehind(connection, account: account, form, now: loop.eventLoop.now)
        }
        behind = CatchUp(self, from: StreamPosition(sequence: loop.fanOut.sequence))
    }

    private func leaveBehind() {
        behind?.end()
        behind = nil
        loop.fanOut.endBehind(account: account, form)
    }

    /// Everything that was written has left.
    func drained() {
        behind?.proceed()
    }

    /// What was asked for while behind has come.
    func took(_ page: PageAnswer) {
        behind?.took(page)
    }

    /// Nothing is missing any more. `fresh` is the account's cursor of now.
    func caughtUp(_ fresh: CursorText = .none) {
        guard let owesLive = behind?.owesLive else { return }
        leaveBehind()
        goLive()
        if owesLive { tellLive(fresh) } else { tellSource() }
        if let at = changed?.pending { signal(at: at) }
    }

    // MARK: - Resync

    /// The node's logs begin anew; `at` is the account's fresh cursor.
    func reset(_ why: ResyncReason, at: CursorText) {
        guard !hasEnded else { return }
        floors = []
        if behind == nil, connection.pendingBytes == 0 { return beginAnewLive(why, at) }
        if behind == nil { fallBehind() }
        behind?.reset(why, at: at)
    }

    private func beginAnewLive(_ why: ResyncReason, _ at: CursorText) {
        guard hasControls else { return connection.closeTooSlow("the log was made anew") }
        tellResync(why, at)
        tellLive(at)
    }
}

@available(*, unavailable)
extension LiveStream: Sendable {}
