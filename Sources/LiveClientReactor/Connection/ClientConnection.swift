import HTTP
import LiveClient
import Reactor
import TLS
import Transport
import WebSocket

/// One connection of a client, from the first packet to the last. It connects, asks a proxy, and does the TLS and HTTP
/// handshakes. Then it carries messages in both directions as a WebSocket, or in one direction as server-sent events; or it
/// fetches one document and ends. It lives on a loop and reports to its owner, which it holds until the end.
///
/// It opens once and never reconnects. To reconnect, make another one.
package final class ClientConnection<Owner: ConnectionOwner> {
    enum Phase {
        case new
        case connecting(Connector)
        case askingProxy(ResponseParser)
        case shakingHands(OpeningHandshake)
        /// Frames are exchanged, or the close frames.
        case open
        case streaming(EventStreamReading)
        case ended
    }

    let settings: ConnectionSettings
    let shared: TransportLoop
    var owner: Owner?
    var phase = Phase.new
    var transport: Transport<ClientConnection<Owner>>?
    var session: WebSocketSession?
    var heartbeat = Heartbeat()
    /// The deadline of the current step: connecting, closing, lingering.
    private var deadline: Timer?
    var pingTimer: Timer?
    var pongTimer: Timer?
    /// The ending that was decided before the transport has ended.
    var ending: ConnectionEnding?
    var events: [WebSocketEvent] = []
    var isPaused = false
    /// Whether something has arrived since the last check.
    var isAlive = false
    /// Whether a peer has accepted the connection: a later failure does not mean that there is no path to it.
    package private(set) var wasReached = false

    package init(_ settings: ConnectionSettings, on shared: TransportLoop) {
        precondition(!settings.url.isSecure || settings.tls != nil, "wss needs a TLS context")
        self.settings = settings
        self.shared = shared
    }

    var loop: EventLoop { shared.loop }

    /// Begins to connect, and to report to `owner`. Call it once, on the loop.
    package func start(_ owner: Owner) {
        guard case .new = phase else { preconditionFailure("a connection is started once") }
        self.owner = owner
        let limit = settings.limits.connectMilliseconds
        setDeadline(limit + settings.limits.patienceMilliseconds) { $0.connectIsLate() }
        if let proxy = settings.proxy, proxy.isSecure, settings.url.isSecure {
            loop.executeNextTick { self.finish(.notConnected(.secureProxyForSecureServer)) }
            return
        }
        phase = .connecting(
            Connector.connect(to: endpoint, loop: loop, limitMilliseconds: limit) { [self] result in
                connected(result)
            })
    }

    private var endpoint: Endpoint {
        if let proxy = settings.proxy { return Endpoint(host: proxy.host, port: UInt16(proxy.port)) }
        switch settings.url.destination {
        case .host(let name, let port): return Endpoint(host: name, port: UInt16(port))
        case .unix(let path): return .address(.unix(Array(path.utf8)))
        }
    }

    private func connected(_ result: consuming Result<FileDescriptor, ReactorError>) {
        guard ending == nil else { return finish(.aborted) }
        do throws(ReactorError) {
            let descriptor = try result.get()
            let isProxied = settings.proxy != nil
            let handshake = settings.handshake()
            try begin(descriptor, isProxied ? .askingProxy(ResponseParser()) : .shakingHands(handshake))
        } catch {
            if case .connectTimedOut = error { return connectIsLate() }
            finish(.notConnected(.network(error.description)))
        }
    }

    private func begin(_ descriptor: consuming FileDescriptor, _ next: Phase) throws(ReactorError) {
        do throws(TLSError) {
            let transport = try Transport<ClientConnection<Owner>>(
                descriptor, security: settings.firstSecurity, on: shared)
            self.transport = transport
            wasReached = true
            phase = next
            transport.start(self)
        } catch {
            finish(.notConnected(.tls(error.description)))
        }
    }

    /// Ends with what has arrived by now: a refusal, or nothing.
    func connectIsLate() {
        switch phase {
        case .new, .open, .streaming, .ended: return
        case .connecting(let connector):
            connector.cancel()
            finish(.notConnected(.deadline(milliseconds: settings.limits.connectMilliseconds)))
        case .askingProxy:
            end(.notConnected(.deadline(milliseconds: settings.limits.connectMilliseconds)))
        case .shakingHands(let handshake):
            let limit = settings.limits.connectMilliseconds + settings.limits.patienceMilliseconds
            end(refusal(handshake) ?? .notConnected(.deadline(milliseconds: limit)))
        }
    }

    /// A refusal counts even if its body is cut. A part of a document does not count.
    func refusal(_ handshake: OpeningHandshake) -> ConnectionEnding? {
        guard let refused = handshake.refused, settings.form != .document else { return nil }
        return .refused(refused)
    }

    // MARK: Ending

    /// Sets the deadline, which replaces that of the step before.
    func setDeadline(_ milliseconds: UInt64, _ expired: @escaping (ClientConnection<Owner>) -> Void) {
        clearDeadline()
        deadline = loop.schedule(afterMilliseconds: milliseconds) { [weak self] in
            guard let self else { return }
            self.deadline = nil
            expired(self)
        }
    }

    func clearDeadline() {
        if let timer = deadline { loop.cancel(timer) }
        deadline = nil
    }

    /// Sets the ending, unless it is decided already, and closes the transport.
    func end(_ ending: ConnectionEnding, afterFlush: Bool = false) {
        if self.ending == nil { self.ending = ending }
        transport?.close(afterFlush: afterFlush)
    }

    func finish(_ ending: ConnectionEnding) {
        guard let owner else { return }
        clearDeadline()
        for timer in [pingTimer, pongTimer] { if let timer { loop.cancel(timer) } }
        phase = .ended
        session = nil
        transport = nil
        self.owner = nil
        owner.connectionEnded(self.ending ?? ending)
    }

    /// Drops the connection, or the attempt at one, without a close frame.
    package func abort() {
        switch phase {
        case .new, .ended: return
        case .connecting(let connector):
            ending = .aborted
            connector.cancel()
        case .askingProxy, .shakingHands, .open, .streaming: end(.aborted)
        }
    }
}

@available(*, unavailable) extension ClientConnection: Sendable {}

extension ConnectionSettings {
    /// The security of the first bytes: that of the proxy, or of the server.
    var firstSecurity: TransportSecurity {
        guard let proxy else { return serverSecurity }
        guard proxy.isSecure, let tls else { return .plain }
        return .client(tls, name: proxy.host)
    }

    var serverSecurity: TransportSecurity {
        guard url.isSecure, let tls, case .host(let name, _) = url.destination else { return .plain }
        return .client(tls, name: name)
    }
}

/// What a ``ClientConnection`` reports to its user. All calls come on the connection's loop.
///
/// Any method of the connection may be called from any of these, also those that close it.
package protocol ConnectionOwner: AnyObject {
    /// The server answered 101, or began its stream. It comes before everything except the end.
    func connectionOpened(_ opening: Opening)

    /// Bytes of an event stream's body arrived: an event, a comment, or a part of one. It comes before their content.
    func connectionReceivedBytes()

    func connectionReceived(_ kind: MessageKind, _ payload: [UInt8])

    /// An event stream has reached a position to resume from. It comes after the message with that position.
    func connectionReached(_ cursor: LiveCursor)

    /// A ping arrived, and was answered.
    func connectionReceivedPing(_ payload: [UInt8])

    /// A pong arrived.
    ///
    /// - Parameter roundTrip: the time since the ping that it answers; nil if it answers none of ours.
    func connectionReceivedPong(_ payload: [UInt8], roundTrip: Duration?)

    /// The kernel has accepted everything that was sent.
    func connectionDrained()

    /// The connection is over. It comes exactly once, after every other call, and never from within a method of the connection.
    func connectionEnded(_ ending: ConnectionEnding)
}

extension ConnectionOwner {
    package func connectionReceivedBytes() {}
    package func connectionReached(_ cursor: LiveCursor) {}
    package func connectionReceivedPing(_ payload: [UInt8]) {}
    package func connectionReceivedPong(_ payload: [UInt8], roundTrip: Duration?) {}
    package func connectionDrained() {}
}
