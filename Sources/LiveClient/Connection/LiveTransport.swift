import HTTP
import Reactor
import TLS
import Transport
import WebSocket

/// What carries a client's streams and requests.
///
/// ``ReactorTransport`` is ours, over epoll and OpenSSL. `URLSessionTransport` is the one for Apple's platforms. A
/// client uses no other door to the network: which way to go, when, and with which token is decided before.
package protocol LiveTransport: Sendable {
    /// Opens a stream, or asks for a document. Called on the loop, and reports there, until it has ended or was let
    /// go.
    func open(
        _ settings: ConnectionSettings, on shared: TransportLoop, _ report: @escaping (ChannelEvent) -> Void
    ) -> any LiveChannel
}

/// A stream or a request that a ``LiveTransport`` carries. Lives on the loop that it was opened on.
package protocol LiveChannel: AnyObject {
    /// Sends a text message; a stream that cannot does nothing.
    func send(_ text: [UInt8])
    /// Asks for a sign of life.
    func ping()
    /// Reads no further, so that the server waits.
    func pauseReading()
    func resumeReading()
    /// Ends it: with a close frame, or without another word. Reports nothing any more; `done` once it is over.
    func end(withWord: Bool, _ done: @escaping () -> Void)
}

/// What a ``LiveChannel`` reports.
package enum ChannelEvent {
    /// A WebSocket was accepted, or the first byte of an event stream's body came.
    case opened
    /// Something came that is no message.
    case alive
    /// A message in the form that WebSockets carry.
    case message([UInt8])
    /// It is over. `wasReached`: a server, or somebody before it, took the connection.
    case ended(ConnectionEnding, wasReached: Bool)
}

/// Over Reactor and OpenSSL.
package struct ReactorTransport: LiveTransport {
    package init() {}

    package func open(
        _ settings: ConnectionSettings, on shared: TransportLoop, _ report: @escaping (ChannelEvent) -> Void
    ) -> any LiveChannel {
        ReactorChannel(settings, shared, report)
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
        report?(.ended(ending, wasReached: connection.wasReached))
        report = nil
        done.take()?()
    }
}
