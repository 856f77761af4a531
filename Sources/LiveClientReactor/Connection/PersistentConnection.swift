import HTTP
import LiveClient
import Reactor
import TLS
import Transport
import WebSocket

/// A connection that is opened again: it follows redirects, and reconnects where the protocol requires that of a client.
///
/// It lives on a loop, and holds its owner until it is over.
package final class PersistentConnection<Owner: PersistentConnectionOwner> {
    private enum State {
        case new
        /// The owner has to prepare an attempt.
        case preparing
        case trying(ClientConnection<PersistentConnection<Owner>>)
        case waiting(Timer)
        case over
    }

    private let settings: ConnectionSettings
    private let shared: TransportLoop
    /// How many redirects one attempt follows; nil follows none.
    private let maximumRedirects: Int?
    private let reconnects: Bool
    /// Whether a document that the server postpones is requested again, even if there is no other reconnect.
    private let asksAgain: Bool
    private var policy: ReconnectPolicy
    private var path: RedirectPath
    private var owner: Owner?
    private var state = State.new
    private var openedAt: UInt64?
    private var isClosing = false
    /// `Authorization` of the last attempt, or its stream's later token; and the value that has expired, which no attempt uses.
    private var credentials: String?
    private var expiredCredentials: String?

    package init(
        _ settings: ConnectionSettings, maximumRedirects: Int?, reconnects: Bool,
        asksAgain: Bool = false, policy: ReconnectPolicy = ReconnectPolicy(), on shared: TransportLoop
    ) {
        self.settings = settings
        self.maximumRedirects = maximumRedirects
        self.reconnects = reconnects
        self.asksAgain = asksAgain
        self.policy = policy
        self.shared = shared
        path = RedirectPath(settings.url)
    }

    private var loop: EventLoop { shared.loop }

    /// The open connection, or the attempt at one.
    private var connection: ClientConnection<PersistentConnection<Owner>>? {
        if case .trying(let connection) = state { connection } else { nil }
    }

    /// Begins. Call it once, on the loop.
    package func start(_ owner: Owner) {
        self.owner = owner
        prepare()
    }

    private func prepare() {
        state = .preparing
        owner?.connectionPrepares(path.current, isSameOrigin: path.isSameOrigin)
    }

    private func prepare(afterMilliseconds milliseconds: UInt64) {
        state = .waiting(loop.schedule(afterMilliseconds: milliseconds) { [weak self] in self?.prepare() })
    }

    /// Makes the attempt that was being prepared.
    ///
    /// - Parameters:
    ///   - shown: the credentials. If a redirect led to another server, none of them is sent.
    ///   - since: the cursor to resume from; it replaces the `since` of the address.
    package func proceed(_ shown: OriginCredentials, since: LiveCursor? = nil) {
        guard case .preparing = state, !isClosing else { return }
        let isSameOrigin = path.isSameOrigin
        credentials = shown.headers.first { $0.name.lowercased() == "authorization" && isSameOrigin }?.value
        if let credentials, credentials == expiredCredentials {
            return fail(.credentials("what is at hand is still the one that has expired"))
        }
        let settings = settings.attempt(at: path.current, credentials: shown, since: since)
        let connection = ClientConnection<PersistentConnection<Owner>>(settings, on: shared)
        state = .trying(connection)
        connection.start(self)
    }

    /// Gives up the attempt that was being prepared, as if it had failed.
    package func fail(_ failure: ConnectFailure) {
        guard case .preparing = state, !isClosing else { return }
        connectionEnded(.notConnected(failure))
    }

    // MARK: The interface

    package var isOpen: Bool { connection?.isOpen ?? false }

    package var pendingBytes: Int { connection?.pendingBytes ?? 0 }

    /// Whether the connection, or the attempt at one, is with the configured server, for which the credentials are meant.
    package var isSameOrigin: Bool { path.isSameOrigin }

    /// Sends a message. Returns false and sends nothing without an open connection, or if ``keepsBack(_:)`` is true.
    @discardableResult
    package func send(_ kind: MessageKind, _ payload: [UInt8]) -> Bool {
        !keepsBack(payload) && connection?.send(kind, payload) ?? false
    }

    /// Whether this message contains a token, and the server is not the configured one.
    package func keepsBack(_ payload: [UInt8]) -> Bool {
        !isSameOrigin && OriginCredentials.isCredential(message: payload)
    }

    /// Continues the open stream with this token, if it is not the last one. A server after a redirect never receives it.
    ///
    /// - Returns: whether it was sent.
    @discardableResult
    package func renew(token: String) -> Bool {
        let next = "Bearer " + token
        guard isSameOrigin, settings.form == .webSocket, next != credentials, let message = NextToken.message(token),
            send(.text, message)
        else { return false }
        credentials = next
        return true
    }

    package func ping(_ payload: [UInt8]) { connection?.ping(payload) }

    package func pong(_ payload: [UInt8]) { connection?.pong(payload) }

    package func pauseReading() { connection?.pauseReading() }

    package func resumeReading() { connection?.resumeReading() }

    /// Ends it for good: an open connection with a close frame, an attempt or a wait at once.
    package func close(_ code: CloseCode = .normal, reason: String = "") {
        isClosing = true
        switch state {
        case .new, .over: break
        case .trying(let connection): connection.close(code, reason: reason)
        case .waiting(let timer):
            loop.cancel(timer)
            finishSoon()
        case .preparing: finishSoon()
        }
    }

    /// Drops everything without a close frame.
    package func abort() {
        isClosing = true
        if let connection { connection.abort() } else { close() }
    }

    private func finishSoon() {
        loop.executeNextTick { self.finish(.aborted) }
    }

    private func finish(_ ending: ConnectionEnding) {
        guard let owner else { return }
        state = .over
        self.owner = nil
        owner.connectionEnded(ending, retryMilliseconds: nil)
    }
}

@available(*, unavailable) extension PersistentConnection: Sendable {}

extension PersistentConnection: ConnectionOwner {
    package func connectionOpened(_ opening: Opening) {
        openedAt = loop.now
        owner?.connectionOpened(opening)
    }

    package func connectionReceived(_ kind: MessageKind, _ payload: [UInt8]) {
        owner?.connectionReceived(kind, payload)
    }

    package func connectionReached(_ cursor: LiveCursor) { owner?.connectionReached(cursor) }

    package func connectionReceivedPing(_ payload: [UInt8]) { owner?.connectionReceivedPing(payload) }

    package func connectionReceivedPong(_ payload: [UInt8], roundTrip: Duration?) {
        owner?.connectionReceivedPong(payload, roundTrip: roundTrip)
    }

    package func connectionDrained() { owner?.connectionDrained() }

    package func connectionEnded(_ ending: ConnectionEnding) {
        let lasted = openedAt.map { loop.now - $0 }
        openedAt = nil
        if isClosing { return finish(ending) }
        if case .closed(.tokenExpired, _) = ending { expiredCredentials = credentials }
        var ending = ending
        if case .answered(let answer) = ending {
            if follows(answer) { return }
            switch owner?.connectionAnswered(answer) ?? .done {
            case _ where isClosing: return finish(ending)
            case .done: return finish(ending)
            case .again(let milliseconds):
                policy.succeeded()
                path = RedirectPath(settings.url)
                return prepare(afterMilliseconds: milliseconds)
            case .refused: ending = .refused(answer)
            }
        }
        if case .refused(let answer) = ending, follows(answer) { return }
        // The next attempt goes to the server that the user configured.
        path = RedirectPath(settings.url)
        guard reconnects || asksAgain && ending.isPostponement,
            case .wait(let milliseconds) = policy.verdict(on: ending, openMilliseconds: lasted)
        else { return finish(ending) }
        prepare(afterMilliseconds: milliseconds)
        owner?.connectionEnded(ending, retryMilliseconds: milliseconds)
    }

    private func follows(_ answer: ServerAnswer) -> Bool {
        guard let maximumRedirects, let location = answer.redirect else { return false }
        do throws(RedirectPath.Problem) {
            try path.follow(location, maximum: maximumRedirects)
        } catch {
            owner?.connectionRemains(error)
            return false
        }
        guard !path.current.isSecure || settings.tls != nil else { return false }
        owner?.connectionRedirected(to: path.current)
        prepare()
        return true
    }
}

/// What a ``PersistentConnection`` reports to its user. All calls come on its loop.
package protocol PersistentConnectionOwner: AnyObject {
    /// An attempt is about to be made: call ``PersistentConnection/proceed(_:since:)``, now or later on the loop.
    ///
    /// - Parameter isSameOrigin: false if a redirect leads away from the server that the credentials are meant for.
    func connectionPrepares(_ url: WebSocketURL, isSameOrigin: Bool)

    func connectionOpened(_ opening: Opening)
    func connectionReceived(_ kind: MessageKind, _ payload: [UInt8])
    func connectionReached(_ cursor: LiveCursor)
    func connectionReceivedPing(_ payload: [UInt8])
    func connectionReceivedPong(_ payload: [UInt8], roundTrip: Duration?)
    func connectionDrained()

    /// A redirect of the server is followed.
    func connectionRedirected(to url: WebSocketURL)

    /// A redirect of the server is not followed.
    func connectionRemains(_ problem: RedirectPath.Problem)

    /// A document has arrived. The result states what follows.
    func connectionAnswered(_ answer: ServerAnswer) -> AfterAnswer

    /// An attempt, or the connection that it led to, has ended.
    ///
    /// - Parameter retryMilliseconds: the wait before another attempt; nil: it is over, and nothing follows.
    func connectionEnded(_ ending: ConnectionEnding, retryMilliseconds: UInt64?)
}

/// What follows a document.
package enum AfterAnswer: Equatable, Sendable {
    /// The client requests the next one.
    case again(afterMilliseconds: UInt64)
    /// It was the last.
    case done
    /// It was an error, not a document. Whether to reconnect is decided as for any refusal.
    case refused
}

extension PersistentConnectionOwner {
    package func connectionReached(_ cursor: LiveCursor) {}
    package func connectionRemains(_ problem: RedirectPath.Problem) {}
    package func connectionAnswered(_ answer: ServerAnswer) -> AfterAnswer { .refused }
}
