import CloseCodes
import HTTP
import LiveState

/// Carries a client's streams and requests. Each product of the SDK that has a transport chooses it where the app makes a
/// configuration without one.
///
/// A client uses the network only through it. The client itself decides when to connect, how, and with which token.
public struct LiveTransport: Sendable {
    /// Starts the network for one client.
    package let begin: @Sendable (TransportTrust) throws(LiveClientError) -> any ClientNetwork

    package init(_ begin: @escaping @Sendable (TransportTrust) throws(LiveClientError) -> any ClientNetwork) {
        self.begin = begin
    }
}

/// The certificate authorities that a transport trusts.
package struct TransportTrust: Sendable {
    /// Whether the client's address uses TLS.
    package let isSecure: Bool
    /// The path of a PEM file with the authorities to trust instead of the system's.
    package let authorities: String?
}

/// The network of one client.
package protocol ClientNetwork: AnyObject, Sendable {
    var loop: any ClientLoop { get }

    /// Opens a stream, or asks for a document. Called on the loop; reports there until the channel has ended or was released.
    func open(_ request: StreamRequest, _ report: @escaping (ChannelEvent) -> Void) -> any LiveChannel
}

/// A stream or a request that a ``ClientNetwork`` carries. Lives on its loop.
package protocol LiveChannel: AnyObject {
    /// Sends a text message. A stream that cannot send does nothing.
    func send(_ text: [UInt8])
    /// Asks for a sign of life.
    func ping()
    /// Stops reading, so that the server waits.
    func pauseReading()
    func resumeReading()
    /// Ends it, with a close frame or without one. It then reports nothing more; `done` is called once it is over.
    func end(withWord: Bool, _ done: @escaping () -> Void)
}

/// What a ``LiveChannel`` reports.
package enum ChannelEvent {
    /// The server accepted a WebSocket, or the first byte of an event stream's body arrived.
    case opened
    /// Something arrived that is not a message.
    case alive
    /// A message in the form that WebSockets carry.
    case message([UInt8])
    /// The stream or request has ended.
    case ended(ChannelEnding)
}

/// How a stream or a request ended.
package enum ChannelEnding: Sendable, Equatable {
    /// The answer to ``StreamForm/document``: the whole answer, with any status.
    case answered(ServerAnswer)
    /// The server answered without a stream.
    case refused(ServerAnswer)
    /// Both sides sent close frames, or an event stream sent `bye`; `.noStatus` if the frame was empty.
    case closed(CloseCode, reason: String)
    /// The connection is lost, or was never made; with the reason for an application's log.
    case lost(ConnectionLoss, String)
    /// This transport cannot make the request, now or later.
    case invalid(String)

    /// For an application's log. It contains what the peer sent, unchanged.
    var summary: String {
        switch self {
        case .answered(let answer), .refused(let answer): "the server refused with status \(answer.status)"
        case .closed(let code, let reason): "the server closed with code \(code.rawValue): \(reason)"
        case .lost(_, let why), .invalid(let why): why
        }
    }
}

/// The form in which a client asks a server for events.
package enum StreamForm: Sendable, Equatable {
    case webSocket
    /// Server-sent events.
    case eventStream
    /// One answer, for example a page of `/sync/v1`.
    case document
}

/// A stream or a document that a client asks for.
package struct StreamRequest: Sendable {
    package var url: WebSocketURL
    package var form = StreamForm.webSocket
    /// WebSocket's subprotocols.
    package var protocols: [String] = []
    package var headers: [(name: String, value: String)] = []
    /// The body that asks for a document, as JSON. With it the request is a `POST`.
    package var jsonBody: [UInt8]?
    /// The maximum size of a server's message. A larger one ends the stream.
    package var maximumMessageBytes = 1 << 20
    /// The time between two requests for a sign of life.
    package var pingMilliseconds: UInt64 = 25_000
    /// How much longer than for another request the answer may need: the wait of a long poll.
    package var patienceMilliseconds: UInt64 = 0

    package init(url: WebSocketURL) { self.url = url }

    /// How often a silent event stream sends a beat, in seconds, within the limits that a server accepts.
    private var beatSeconds: UInt64 { min(max((pingMilliseconds + 999) / 1_000, 5), 300) }

    /// Returns this request, completed for one attempt.
    func asking(_ form: StreamForm, since: LiveCursor?, waitMilliseconds: Milliseconds, token: String) -> Self {
        var request = self
        request.form = form
        var parameters: [(name: String, value: String)] = []
        switch form {
        case .webSocket: break
        case .eventStream: parameters.append(("beat", "\(beatSeconds)"))
        case .document:
            request.url = url.replacing(pathSuffix: "/live/v1", with: "/sync/v1")
            if waitMilliseconds > 0 { parameters.append(("wait", "\((waitMilliseconds + 999) / 1000)")) }
            request.patienceMilliseconds = UInt64(waitMilliseconds)
        }
        if let since { parameters.append(("since", since.text)) }
        request.url = request.url.setting(parameters)
        request.headers.append(("Authorization", "Bearer " + token))
        return request
    }
}
