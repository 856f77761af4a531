import HTTP
import LiveClient
import Reactor
import TLS
import Transport
import WebSocket

/// One connection of a client, from the first packet to the last: connects, says TLS, asks a proxy, shakes hands, and
/// then carries messages, as a WebSocket, or as server-sent events one way; or it brings one document and ends. Lives
/// on a loop and reports to its owner, which it holds until the end.
///
/// It opens once and never comes back; who wants that makes another one.
package final class ClientConnection<Owner: ConnectionOwner> {
    enum Phase {
        case new
        case connecting(Connector)
        case askingProxy(ResponseParser)
        case shakingHands(OpeningHandshake)
        /// Frames flow, or the end of them is being said.
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
    /// Of the step that is under way: connecting, closing, lingering.
    private var deadline: Timer?
    var pingTimer: Timer?
    var pongTimer: Timer?
    /// Decided before the transport has ended.
    var ending: ConnectionEnding?
    var events: [WebSocketEvent] = []
    var isPaused = false
    /// Whether something came since the last check.
    var isAlive = false
    /// Whether somebody has taken the connection: what fails afterwards is not for want of a way there.
    package private(set) var wasReached = false

    package init(_ settings: ConnectionSettings, on shared: TransportLoop) {
        precondition(!settings.url.isSecure || settings.tls != nil, "wss needs a TLS context")
        self.settings = settings
        self.shared = shared
    }

    var loop: EventLoop { shared.loop }

    /// Begins to connect, and to report to `owner`. Once, on the loop.
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

    /// Tells what has come by now: a refusal, or nothing.
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

    /// A refusal counts even where its body is cut; half of a document is none.
    func refusal(_ handshake: OpeningHandshake) -> ConnectionEnding? {
        guard let refused = handshake.refused, settings.form != .document else { return nil }
        return .refused(refused)
    }

    // MARK: Ending

    /// Replaces the deadline of the step before.
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

    /// Decides how it has ended, unless that was decided before, and closes the transport.
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

    /// Drops the connection, or the attempt at one, without another word.
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
    /// How the first byte goes out: to the proxy, or to the server.
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

/// What a ``ClientConnection`` reports to the one that uses it. All of it comes on the connection's loop.
///
/// Any method of the connection may be called from any of these, closing included.
package protocol ConnectionOwner: AnyObject {
    /// The server said 101, or began its stream. Before everything but the end.
    func connectionOpened(_ opening: Opening)

    /// Bytes of an event stream's body came: an event, a comment, a part of one. Before what they hold.
    func connectionReceivedBytes()

    func connectionReceived(_ kind: MessageKind, _ payload: [UInt8])

    /// An event stream has come to a position that can be resumed from; behind the message that leads there.
    func connectionReached(_ cursor: LiveCursor)

    /// A ping came; it was answered.
    func connectionReceivedPing(_ payload: [UInt8])

    /// A pong came.
    ///
    /// - Parameter roundTrip: since the ping that it answers; nil for one that answers none of ours.
    func connectionReceivedPong(_ payload: [UInt8], roundTrip: Duration?)

    /// Everything that was sent has been taken by the kernel.
    func connectionDrained()

    /// It is over, exactly once, and after every other call. Never comes from within a method of the connection.
    func connectionEnded(_ ending: ConnectionEnding)
}

extension ConnectionOwner {
    package func connectionReceivedBytes() {}
    package func connectionReached(_ cursor: LiveCursor) {}
    package func connectionReceivedPing(_ payload: [UInt8]) {}
    package func connectionReceivedPong(_ payload: [UInt8], roundTrip: Duration?) {}
    package func connectionDrained() {}
}
