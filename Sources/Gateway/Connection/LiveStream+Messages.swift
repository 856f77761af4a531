import LiveUpdates
import Reactor

/// What a stream says besides events: for those who asked for cursors, and for `mode=changed`.
extension LiveStream {
    func sendControl(_ message: ControlMessage) {
        guard hasControls, !hasEnded else { return }
        write(loop.fanOut.encoder.control(message, form.carrier))
    }

    /// Replay is over. Whoever comes while the source is stalled hears of it here.
    func tellLive(_ fresh: CursorText) {
        sendControl(.live(at: fresh.bytes))
        toldSource = nil
        tellSource()
    }

    func tellResync(_ why: ResyncReason, _ at: CursorText) {
        loop.counters.resyncs[why.rawValue, default: 0] += 1
        sendControl(.resync(why, at: at.bytes))
    }

    /// Tells the state of the source where the client knows another one. Behind, it is told once that is over.
    func tellSource() {
        guard hasControls, behind == nil else { return }
        guard let state = loop.sourceState, state.isStalled != (toldSource?.isStalled ?? false) else { return }
        toldSource = state
        sendControl(.source(state))
    }

    // MARK: - Beats

    /// A client that hears nothing for so long is given a fresh cursor, so that silence does not expire the one it has.
    func scheduleBeat() {
        guard hasControls else { return }
        scheduleBeat(after: beatMilliseconds)
    }

    private var beatMilliseconds: UInt64 {
        parameters.beatSeconds.map { UInt64($0) * 1000 } ?? loop.policy.quietMilliseconds
    }

    private func scheduleBeat(after delay: UInt64) {
        beatTimer = loop.eventLoop.schedule(afterMilliseconds: delay) { [weak self] in self?.beatIsDue() }
    }

    /// Messages do not move the timer: they are many and beats are few.
    private func beatIsDue() {
        beatTimer = nil
        guard !hasEnded else { return }
        let silent = loop.eventLoop.now - lastMessageAt
        if silent < beatMilliseconds { return scheduleBeat(after: beatMilliseconds - silent) }
        guard behind == nil else { return scheduleBeat(after: beatMilliseconds) }
        loop.askFreshCursor(connection)
    }

    /// The cursor for a beat. What came before it has been written, since it came the same way.
    func tookFresh(_ cursor: CursorText) {
        guard !hasEnded else { return }
        if behind == nil { sendControl(.beat(at: cursor.bytes)) }
        scheduleBeat()
    }

    // MARK: - mode=changed

    func changesCame(_ events: [LoggedEvent]) {
        let last = events.last { event in form.entities.map { $0.passes(event.event.entity) } ?? true }
        if let last { signal(at: last.at) }
    }

    /// Says that something has changed: at once, or at the end of the interval since it was said last.
    func signal(at cursor: [UInt8]) {
        guard let interval = changed?.intervalMilliseconds else { return }
        let now = loop.eventLoop.now
        guard let last = changed?.lastAt, now - last < interval else {
            changed?.lastAt = now
            changed?.pending = nil
            return write(loop.fanOut.encoder.control(.changed(at: cursor), form.carrier))
        }
        changed?.pending = cursor
        guard changed?.timer == nil else { return }
        changed?.timer = loop.eventLoop.schedule(afterMilliseconds: last + interval - now) { [weak self] in
            guard let self else { return }
            changed?.timer = nil
            // Behind, it is said when that is over.
            if behind == nil, let cursor = changed?.pending { signal(at: cursor) }
        }
    }
}

/// What `mode=changed` remembers between two messages.
struct ChangedSignal {
    let intervalMilliseconds: UInt64
    var lastAt: UInt64?
    /// The newest cursor that has not been told.
    var pending: [UInt8]?
    var timer: Timer?

    init(_ intervalMilliseconds: UInt64) { self.intervalMilliseconds = intervalMilliseconds }
}

extension SourceState {
    var isStalled: Bool {
        if case .stalled = self { true } else { false }
    }
}
