import HTTP
import LiveClient
import TLS

/// Why there is no connection. A decision of an HTTP server is not one of these reasons.
package enum ConnectFailure: Error, Equatable, Sendable {
    /// The name was not found, or no address answered; with the text of the resolver or the kernel.
    case network(String)
    case tls(String)
    /// The proxy answered `CONNECT` with another status than 200.
    case proxyRefused(status: Int, reason: String)
    /// The proxy's answer is not HTTP.
    case proxyFault(ResponseFault)
    /// The time limit was exceeded.
    case deadline(milliseconds: UInt64)
    /// The connection was cut before there was an answer.
    case cut(String)
    case badAnswer(ResponseFault)
    /// A 101 that does not answer our handshake.
    case badUpgrade(UpgradeFault)
    /// The server chose extensions that do not fit what was offered.
    case badExtensions
    /// The owner has no credentials to send; with its reason.
    case credentials(String)
    /// The request cannot be sent.
    case badRequest(RequestFault)
    /// TLS to the server within TLS to the proxy, which is not supported.
    case secureProxyForSecureServer
}

extension ConnectFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .network(let text): text
        case .tls(let text): text
        case .proxyRefused(let status, let reason): "the proxy answered \(status) \(reason)"
        case .proxyFault(let fault): "the proxy's answer is broken: \(fault.explanation)"
        case .deadline(let milliseconds): "no answer within \(milliseconds / 1000) s"
        case .cut(let how): "the connection ended before the answer: \(how)"
        case .badAnswer(let fault): "the answer is broken: \(fault.explanation)"
        case .badUpgrade(let fault): fault.explanation
        case .badExtensions: "the server chose extensions that were not offered"
        case .credentials(let why): "no token: \(why)"
        case .badRequest(let fault): fault.explanation
        case .secureProxyForSecureServer: "wss through an https proxy is not supported: use an http proxy"
        }
    }
}

extension ResponseFault {
    var explanation: String {
        switch self {
        case .notHTTP: "it is not HTTP"
        case .line, .field: "a header line is malformed"
        case .headerTooLarge(let limit): "its header is over \(limit) bytes"
        case .tooManyHeaders(let limit): "it has more than \(limit) header fields"
        case .tooManyInterimResponses(let limit): "more than \(limit) interim responses"
        case .badLength: "its Content-Length is malformed"
        case .badTransferEncoding: "its Transfer-Encoding is malformed"
        case .badChunk: "a chunk is malformed"
        case .truncated: "it is cut"
        }
    }
}

extension UpgradeFault {
    var explanation: String {
        switch self {
        case .upgradeMissing: "the server's 101 has no Upgrade: websocket"
        case .connectionMissing: "the server's 101 has no Connection: Upgrade"
        case .acceptMissing: "the server's 101 has no Sec-WebSocket-Accept"
        case .acceptWrong: "the server's Sec-WebSocket-Accept is wrong"
        case .subprotocolNotOffered: "the server chose a subprotocol that was not offered"
        case .extensionsNotOffered: "the server chose extensions that were not offered"
        }
    }
}

extension RequestFault {
    package var explanation: String {
        switch self {
        case .targetNotVisibleASCII: "the address holds bytes that cannot be sent"
        case .headerNameNotToken: "the name of a header is not a token"
        case .headerValueHasControlByte(let name): "the header \(name) holds a control character"
        }
    }
}
