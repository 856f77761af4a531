import CloseCodes
import HTTP
import LiveState

/// What carries a client's streams and requests. Each product of the SDK that has one brings it, and chooses it where a configuration is
/// made without one.
///
/// A client uses no other door to the network: which transport to take, when, and with which token is decided before.
public struct LiveTransport: Sendable {
    /// Begins for one client.
    package let begin: @Sendable (TransportTrust) throws(LiveClientError) -> any ClientNetwork

    package init(_ begin: @escaping @Sendable (TransportTrust) throws(LiveClientError) -> any ClientNetwork) {
        self.begin = begin
    }
}

/// Whom a transport trusts.
package struct TransportTrust: Sendable {
    /// Whether the client's address is one of TLS.
    package let isSecure: Bool
    /// The path of a PEM file with the authorities to trust instead of the system's.
    package let authorities: String?
}

/// The network as one client has it.
package protocol ClientNetwork: AnyObject, Sendable {
    var loop: any ClientLoop { get }

    /// Opens a stream, or asks for a document. Called on the loop, and reports there, until it has ended or was let go.
    func open(_ request: StreamRequest, _ report: @escaping (ChannelEvent) -> Void) -> any LiveChannel
}

/// A stream or a request that a ``ClientNetwork`` carries. Lives on its loop.
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
    /// It is over.
    case ended(ChannelEnding)
}

/// How a stream or a request ended.
package enum ChannelEnding: Sendable, Equatable {
    /// What ``StreamForm/document`` asks for: the whole answer, whatever its status.
    case answered(ServerAnswer)
    /// The server answered, and with no stream.
    case refused(ServerAnswer)
    /// Close frames went both ways, or an event stream said `bye`; `.noStatus` where the frame was empty.
    case closed(CloseCode, reason: String)
    /// It is lost, or never came to be; with why, for an application's log.
    case lost(ConnectionLoss, String)
    /// The request cannot be made by this transport, now or later.
    case invalid(String)

    /// For an application's log; what a peer wrote stands in it as it came.
    var summary: String {
        switch self {
        case .answered(let answer), .refused(let answer): "the server refused with status \(answer.status)"
        case .closed(let code, let reason): "the server closed with code \(code.rawValue): \(reason)"
        case .lost(_, let why), .invalid(let why): why
        }
    }
}

/// What a client asks a server for.
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
    /// What a document is asked for with, as JSON; the request is a `POST` then.
    package var jsonBody: [UInt8]?
    /// A message of the server. Over it the stream is ended.
    package var maximumMessageBytes = 1 << 20
    /// A sign of life is asked for so often.
    package var pingMilliseconds: UInt64 = 25_000
    /// How much longer than another request the answer may take: the wait of a long poll.
    package var patienceMilliseconds: UInt64 = 0

    package init(url: WebSocketURL) { self.url = url }

    /// How often an event stream that is silent says so, in seconds: as often as a server takes it.
    private var beatSeconds: UInt64 { min(max((pingMilliseconds + 999) / 1_000, 5), 300) }

    /// The same for one attempt.
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
