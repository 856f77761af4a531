import HTTP
import Reactor
import Transport
import WebSocket

/// A client's session on its loop: turns what the connection delivers into updates. Stops the loop at its end.
final class LiveSession {
    private let buffer: UpdateBuffer
    private let loop: EventLoop
    private let token: @Sendable () async throws -> String
    private let connection: PersistentConnection<LiveSession>
    /// The newest that was delivered: where the next stream goes on. Never before its update stands in the buffer.
    private var cursor: LiveCursor?
    /// Counts the streams: what was asked for one is not sent on another.
    private var stream = 0
    private var pace = RenewalPace()
    /// While the next token has to wait.
    private var renewalTimer: Timer?

    init(
        _ settings: ConnectionSettings, from cursor: LiveCursor?, token: @escaping @Sendable () async throws -> String,
        buffer: UpdateBuffer, loop: EventLoop
    ) {
        self.cursor = cursor
        self.buffer = buffer
        self.loop = loop
        self.token = token
        connection = PersistentConnection<LiveSession>(
            settings, maximumRedirects: nil, reconnects: true, policy: ReconnectPolicy(refreshesToken: true),
            on: TransportLoop(loop: loop))
    }

    func start() {
        let bound = LoopBound(self, loop: loop)
        buffer.setRoom { bound.loop.execute { bound.value.connection.resumeReading() } }
        connection.start(self)
    }

    func close() { connection.close() }

    private func push(_ update: LiveUpdate) {
        if !buffer.push(update) { connection.pauseReading() }
        if let newer = update.cursor { cursor = newer }
    }
}

@available(*, unavailable) extension LiveSession: Sendable {}

extension LiveSession: PersistentConnectionOwner {
    func connectionPrepares(_ url: WebSocketURL, isSameOrigin: Bool) {
        let bound = LoopBound(self, loop: loop)
        let token = token
        Task {
            do {
                let fresh = try await token()
                bound.loop.execute { bound.value.proceed(token: fresh) }
            } catch {
                let why = "\(error)"
                bound.loop.execute { bound.value.connection.fail(.credentials(why)) }
            }
        }
    }

    private func proceed(token: String) {
        connection.proceed(headers: [("Authorization", "Bearer " + token)], host: nil, since: cursor)
    }

    /// Asks for the next token while the stream goes on with the one that it has. Where there is none yet, or the same, it ends
    /// with that one, and comes back with another.
    private func renewToken() {
        if let timer = renewalTimer.take() { loop.cancel(timer) }
        let wait = pace.wait(now: loop.now)
        guard wait == 0 else {
            renewalTimer = loop.schedule(afterMilliseconds: wait) { [weak self] in
                self?.renewalTimer = nil
                self?.renewToken()
            }
            return
        }
        let bound = LoopBound(self, loop: loop)
        let (token, stream) = (token, stream)
        Task {
            guard let fresh = try? await token() else { return }
            bound.loop.execute { bound.value.send(fresh, on: stream) }
        }
    }

    private func send(_ token: String, on stream: Int) {
        guard stream == self.stream, connection.renew(token: token) else { return }
        pace.sent(now: loop.now)
    }

    func connectionOpened(_ opening: Opening) {
        stream += 1
        pace = RenewalPace()
        push(.connected)
        // Without a cursor to go on from, something may have been missed; everything from here on is delivered.
        if cursor == nil { push(.resync(.start, nil)) }
    }

    func connectionReceived(_ kind: MessageKind, _ payload: [UInt8]) {
        guard kind == .text else { return }
        switch StreamMessage(payload) {
        case .event(let event): push(.event(event))
        case .live(let cursor): push(.live(cursor))
        case .beat(let cursor): push(.beat(cursor))
        case .resync(let why, let cursor): push(.resync(why, cursor))
        case .source(let source): push(.source(source))
        case .expiring: renewToken()
        // The close that follows says the same.
        case .bye: break
        case .token: break
        case .changed, .unknownControl, .other: break
        }
    }

    func connectionReceivedPing(_ payload: [UInt8]) {}
    func connectionReceivedPong(_ payload: [UInt8], roundTrip: Duration?) {}
    func connectionDrained() {}
    func connectionRedirected(to url: WebSocketURL) {}

    func connectionEnded(_ ending: ConnectionEnding, retryMilliseconds: UInt64?) {
        if let timer = renewalTimer.take() { loop.cancel(timer) }
        guard let retryMilliseconds else {
            buffer.finish(LiveClientError(ending))
            return loop.stop()
        }
        push(.disconnected(reason: ending.summary, retry: .milliseconds(Int64(retryMilliseconds))))
    }
}

extension ConnectionEnding {
    /// For an application's log; what a peer wrote stands in it as it came.
    var summary: String {
        switch self {
        case .notConnected(let failure): failure.description
        case .refused(let answer), .answered(let answer): "the server refused with status \(answer.status)"
        case .closed(let code, let reason): "the server closed with code \(code.rawValue): \(reason)"
        case .broken(let error): error.description
        case .cut(let how): how
        case .closeUnanswered: "no answer to the close"
        case .noPong: "no pong in time"
        case .aborted: "dropped"
        }
    }
}
