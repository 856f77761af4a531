import HTTP
@_exported import LiveClient
import LiveState
import Reactor
import Synchronization
import TLS
import Transport
import WebSocket

extension LiveTransport {
    /// Uses sockets, epoll and OpenSSL: for Linux.
    public static var reactor: LiveTransport {
        LiveTransport { trust throws(LiveClientError) in try ReactorNetwork(trust) }
    }
}

extension LiveClientConfiguration {
    /// Makes a configuration for an address, with the defaults and ``LiveTransport/reactor``.
    public init(url: String) { self.init(url: url, transport: .reactor) }
}

extension EventLoop: ClientLoop {
    package func wait(milliseconds: UInt64, _ action: @escaping () -> Void) -> LoopTimer {
        let timer = schedule(afterMilliseconds: milliseconds, action)
        return LoopTimer { self.cancel(timer) }
    }

    package func end() { stop() }
}

/// A client's loop, and what its connections share.
final class ReactorNetwork: ClientNetwork {
    private let events: EventLoop
    private let tls: TLSContext?
    /// Made when the first connection opens.
    private let shared = Mutex<LoopBound<TransportLoop>?>(nil)

    var loop: any ClientLoop { events }

    init(_ trust: TransportTrust) throws(LiveClientError) {
        do throws(TLSError) {
            tls = trust.isSecure ? try TLSContext.client(TLSClientSettings(authorities: trust.authorities)) : nil
        } catch {
            throw .tls(error.description)
        }
        do throws(ReactorError) {
            events = try EventLoop(label: "live-client")
        } catch {
            throw .system(error.description)
        }
    }

    func open(_ request: StreamRequest, _ report: @escaping (ChannelEvent) -> Void) -> any LiveChannel {
        let transports = shared.withLock { [events] shared in
            let made = shared ?? LoopBound(TransportLoop(loop: events), loop: events)
            shared = made
            return made
        }
        return ReactorChannel(ConnectionSettings(request, tls: tls), transports.value, report)
    }
}

extension ConnectionSettings {
    fileprivate init(_ request: StreamRequest, tls: TLSContext?) {
        self.init(url: request.url)
        self.tls = tls
        form = request.form
        protocols = request.protocols
        headers = request.headers
        jsonBody = request.jsonBody
        pingMilliseconds = request.pingMilliseconds
        limits.maximumMessageBytes = request.maximumMessageBytes
        limits.patienceMilliseconds = request.patienceMilliseconds
    }
}

extension ChannelEnding {
    /// - Parameter wasReached: whether a server, or a proxy before it, accepted the connection.
    init(_ ending: ConnectionEnding, wasReached: Bool) {
        switch ending {
        case .answered(let answer): self = .answered(answer)
        case .refused(let answer): self = .refused(answer)
        case .closed(let code, let reason): self = .closed(code, reason: reason)
        case .notConnected(let failure): self.init(failure, wasReached)
        case .broken(let error): self = .lost(.broken, error.description)
        case .cut(let how): self = .lost(.cut, how)
        case .closeUnanswered: self = .lost(.cut, "no answer to the close")
        case .aborted: self = .lost(.cut, "dropped")
        case .noPong: self = .lost(.silent, "no pong in time")
        }
    }

    private init(_ failure: ConnectFailure, _ wasReached: Bool) {
        let why = failure.description
        switch failure {
        case .badRequest, .secureProxyForSecureServer: self = .invalid(why)
        case .network, .tls, .proxyRefused, .proxyFault, .credentials: self = .lost(.unreachable, why)
        case .deadline: self = .lost(wasReached ? .silent : .unreachable, why)
        case .cut: self = .lost(.cut, why)
        case .badAnswer: self = .lost(.broken, why)
        case .badUpgrade, .badExtensions: self = .lost(.blocked, why)
        }
    }
}

/// A ``ClientConnection`` as a channel.
private final class ReactorChannel: LiveChannel {
    private let connection: ClientConnection<ReactorChannel>
    private let isEventStream: Bool
    private var report: ((ChannelEvent) -> Void)?
    private var done: (() -> Void)?
    private var hasBegun = false
    private var pings: UInt64 = 0

    init(_ settings: ConnectionSettings, _ shared: TransportLoop, _ report: @escaping (ChannelEvent) -> Void) {
        self.report = report
        isEventStream = settings.form == .eventStream
        connection = ClientConnection(settings, on: shared)
        connection.start(self)
    }

    func send(_ text: [UInt8]) { connection.send(.text, text) }

    func ping() {
        pings += 1
        connection.ping(Array("test \(pings)".utf8))
    }

    func pauseReading() { connection.pauseReading() }

    func resumeReading() { connection.resumeReading() }

    func end(withWord: Bool, _ done: @escaping () -> Void) {
        report = nil
        self.done = done
        if withWord { connection.close() } else { connection.abort() }
    }
}

@available(*, unavailable) extension ReactorChannel: Sendable {}

extension ReactorChannel: ConnectionOwner {
    func connectionOpened(_ opening: Opening) {
        if !isEventStream { report?(.opened) }
    }

    func connectionReceivedBytes() {
        if hasBegun { return }
        hasBegun = true
        report?(.opened)
    }

    func connectionReceived(_ kind: MessageKind, _ payload: [UInt8]) {
        if kind == .text { report?(.message(payload)) }
    }

    func connectionReceivedPing(_ payload: [UInt8]) { report?(.alive) }

    func connectionReceivedPong(_ payload: [UInt8], roundTrip: Duration?) { report?(.alive) }

    func connectionEnded(_ ending: ConnectionEnding) {
        report?(.ended(ChannelEnding(ending, wasReached: connection.wasReached)))
        report = nil
        done.take()?()
    }
}
