import LiveUpdates
import Reactor

/// The way of one stream from where it is behind to where it is live: slices that others have just been given, or pages
/// of the log, each asked for when the one before has left.
///
/// Made when a stream falls behind or begins so, gone when it has caught up. Nothing is queued for a stream meanwhile:
/// all it costs is this. Confined to its loop.
final class CatchUp {
    /// What a stream asks of ingest at once. A page of thin messages is about as much as a socket's buffer takes.
    static let eventsPerPage = 256

    private unowned let stream: LiveStream
    private var position: StreamPosition
    /// A page was asked for and has not come.
    private var isReading = false
    /// The page that was asked for is of a log that is gone.
    private var ignoresPage = false
    /// To be told as soon as the socket takes it: the reason, with the cursor from which everything follows.
    private var resync: (why: ResyncReason, at: CursorText)?
    /// `live` is due when all is caught up.
    private(set) var owesLive: Bool
    private var lagTimer: Timer?
    private var loop: ConnectionLoop { stream.loop }

    init(_ stream: LiveStream, from position: StreamPosition, owesLive: Bool = false) {
        self.stream = stream
        self.position = position
        self.owesLive = owesLive
        watchLag()
    }

    private func watchLag() {
        lagTimer = loop.eventLoop.schedule(afterMilliseconds: loop.policy.maximumLagMilliseconds) { [weak self] in
            guard let self else { return }
            lagTimer = nil
            stream.connection.closeTooSlow("behind for longer than max_lag")
        }
    }

    /// The stream has caught up, or has ended.
    func end() {
        if let lagTimer = lagTimer.take() { loop.eventLoop.cancel(lagTimer) }
    }

    /// Gives what comes next, if nothing that was written before waits for the socket.
    func proceed() {
        // Whatever is still on its way leaves first; the socket tells when it has.
        guard !isReading, stream.connection.pendingBytes == 0 else { return }
        if let resync { return beginAnew(resync.why, resync.at) }
        if position.isLive, !owesLive, !stream.standsAlone, let recent = recent {
            for slice in recent.slices { stream.write(slice) }
            position = StreamPosition(sequence: recent.sequence)
            if recent.slices.isEmpty { stream.caughtUp() }
            // More follows when these have left.
            return
        }
        isReading = true
        let request = Self.pageRequest(stream.form, isChangedMode: stream.changed != nil)
        loop.read(stream.connection, ReadRequest(position: position, page: request))
    }

    /// What a stream of this form asks for at once.
    static func pageRequest(_ form: StreamForm, isChangedMode: Bool) -> PageRequest {
        PageRequest(
            limit: isChangedMode ? 1 : eventsPerPage, entities: form.entities, withCursors: form.needsCursors,
            alwaysFresh: isChangedMode)
    }

    private var recent: (slices: [[UInt8]], sequence: UInt64)? {
        loop.fanOut.recent(
            account: stream.account, stream.form, after: position.sequence, limit: loop.policy.maximumPendingBytes)
    }

    /// What was asked for has come.
    func took(_ page: PageAnswer) {
        isReading = false
        if ignoresPage {
            ignoresPage = false
            return proceed()
        }
        guard case .page(let events, let next, let isComplete) = page.answer else {
            resync = (.expired, page.fresh)
            position = StreamPosition(sequence: page.sequence)
            return proceed()
        }
        position = next
        if stream.changed != nil {
            // That there is something is all that is told; the cursor is of now, and so is the stream from here on.
            if !events.isEmpty { stream.signal(at: page.fresh.bytes) }
            return stream.caughtUp(page.fresh)
        }
        let messages = stream.messages(of: events)
        if !messages.isEmpty { stream.write(messages) }
        if isComplete { stream.caughtUp(page.fresh) } else if messages.isEmpty { proceed() }
    }

    // MARK: - Resync

    /// The node's logs begin anew; `at` is the account's fresh cursor.
    func reset(_ why: ResyncReason, at: CursorText) {
        ignoresPage = isReading
        position = StreamPosition(sequence: loop.fanOut.sequence)
        resync = (why, at)
        proceed()
    }

    /// What is missed cannot be given. The stream goes on behind, at the place of the cursor that is told.
    private func beginAnew(_ why: ResyncReason, _ at: CursorText) {
        guard stream.hasControls else {
            return stream.connection.closeTooSlow("what it missed is no longer in the log")
        }
        resync = nil
        owesLive = true
        stream.tellResync(why, at)
    }
}

@available(*, unavailable)
extension CatchUp: Sendable {}
