import HTTP
import LiveUpdates
import Reactor
import Transport
import WebSocket

/// A client's session on its loop: turns what the connection tells into updates. Stops the loop at its end.
final class LiveSession {
    private let buffer: UpdateBuffer
    private let loop: EventLoop
    private let token: @Sendable () async throws -> String
    private let connection: PersistentConnection<LiveSession>

    init(
        _ settings: ConnectionSettings, token: @escaping @Sendable () async throws -> String, buffer: UpdateBuffer,
        loop: EventLoop
    ) {
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
        connection.proceed(headers: [("Authorization", "Bearer " + token)], host: nil)
    }

    func connectionOpened(_ opening: Opening) { push(.connected) }

    func connectionReceived(_ kind: MessageKind, _ payload: [UInt8]) {
        guard kind == .text, let event = EventReader.event(payload) else { return }
        push(.event(event))
    }

    func connectionReceivedPing(_ payload: [UInt8]) {}
    func connectionReceivedPong(_ payload: [UInt8], roundTrip: Duration?) {}
    func connectionDrained() {}
    func connectionRedirected(to url: WebSocketURL) {}

    func connectionEnded(_ ending: ConnectionEnding, retryMilliseconds: UInt64?) {
        guard let retryMilliseconds else {
            buffer.finish(LiveClientError(ending))
            return loop.stop()
        }
        push(.disconnected(reason: ending.summary, retry: .milliseconds(Int64(retryMilliseconds))))
    }
}

/// Reads the protocol's messages.
enum EventReader {
    /// Three keys at one level; later versions may put more beside them.
    private static let maximumDepth = 16

    /// The event; nil for what is none: control messages, which clients pass over, and anything else.
    static func event(_ message: [UInt8]) -> LiveEvent? {
        let limits = JSONLimits(maximumBytes: 1 << 20, maximumDepth: maximumDepth)
        guard let root = try? JSONDocument(message, limits: limits).root,
            let entity = try? root.member("ent")?.string, let id = try? root.member("id")?.string,
            let type = try? root.member("type")?.string
        else { return nil }
        return LiveEvent(entity: entity, id: id, type: type)
    }
}

extension ConnectionEnding {
    /// For an application's log; what a peer wrote stands in it as it came.
    var summary: String {
        switch self {
        case .notConnected(let failure): failure.description
        case .refused(let answer): "the server refused with status \(answer.status)"
        case .closed(let code, let reason): "the server closed with code \(code.rawValue): \(reason)"
        case .broken(let error): error.description
        case .cut(let how): how
        case .closeUnanswered: "no answer to the close"
        case .noPong: "no pong in time"
        case .aborted: "dropped"
        }
    }
}
