import HTTP
import LiveClient
import TLS
import WebSocket

/// What it takes to open one connection.
package struct ConnectionSettings: Sendable {
    package var url: WebSocketURL
    package var form = StreamForm.webSocket
    /// For `wss`; required there.
    package var tls: TLSContext?
    /// For other servers, where redirects lead; nil: ``tls``, which shows no certificate of ours.
    package var tlsElsewhere: TLSContext?
    package var proxy: ProxyServer?
    /// The value of `Host` where it is not the address's own.
    package var host: String?
    /// The value of `Sec-WebSocket-Version`: 13, or 8, which was the same on the wire.
    package var version = 13
    package var protocols: [String] = []
    /// Fields besides those of the handshake itself.
    package var headers: [(name: String, value: String)] = []
    /// What a document is asked for with, as JSON; the request is a `POST` then.
    package var jsonBody: [UInt8]?
    /// Offered where it is set.
    package var deflate: DeflateOffer?
    package var limits = ClientLimits()
    /// Pings are sent so often; nil sends none.
    package var pingMilliseconds: UInt64?

    package init(url: WebSocketURL) { self.url = url }

    /// These for one attempt: at `url`, where a redirect may have led. Another server than the one that was named is shown
    /// nothing that says who asks.
    ///
    /// - Parameter since: where to go on; it takes the place of the address's own `since`.
    package func attempt(
        at url: WebSocketURL, credentials: OriginCredentials, since: LiveCursor?
    ) -> ConnectionSettings {
        var settings = self
        settings.url = url.setting(since.map { [("since", $0.text)] } ?? [])
        guard url.hasSameOrigin(as: self.url) else {
            settings.tls = tlsElsewhere ?? tls
            return settings
        }
        settings.host = credentials.host
        settings.headers += credentials.headers
        settings.protocols += credentials.protocols
        return settings
    }

    /// The opening of one connection; its request is all that the server is asked.
    func handshake() -> OpeningHandshake {
        OpeningHandshake(
            offer(), form: form, deflate: deflate,
            maximumBodyBytes: form == .document ? limits.maximumDocumentBytes : limits.maximumRefusalBytes)
    }

    private func offer() -> UpgradeOffer {
        var offer = UpgradeOffer(target: url.target, host: host ?? url.host, key: OpeningHandshake.makeKey())
        offer.version = version
        offer.protocols = protocols
        offer.extensions = deflate?.text
        offer.headers = headers
        offer.jsonBody = jsonBody
        return offer
    }
}

/// An HTTP proxy that connects us by `CONNECT` (RFC 9110 §9.3.6).
package struct ProxyServer: Sendable, Equatable {
    package let host: String
    package let port: Int
    /// Whether the way to the proxy is TLS.
    package let isSecure: Bool
    /// `user:password`.
    package let credentials: [UInt8]?

    /// Reads `[http://|https://][user:password@]host[:port]`.
    package init(_ text: String) throws(URLFault) {
        let scheme = text.firstRange(of: "://").map { text[..<$0.lowerBound].lowercased() }
        if let scheme, scheme != "http", scheme != "https" {
            throw scheme.contains(":") || scheme.contains("@") ? .userInformation : .unknownScheme(scheme)
        }
        let url = try WebSocketURL(scheme == nil ? "http://" + text : text)
        guard case .host(let host, let port) = url.destination else { throw .noHost }
        self.host = host
        self.port = port
        isSecure = url.isSecure
        credentials = url.userInformation
    }

    /// The request that asks for a way to a server.
    func request(to authority: String) throws(RequestFault) -> [UInt8] {
        var headers = [(name: "Host", value: authority)]
        if let credentials { headers.append(("Proxy-Authorization", "Basic " + Base64.encode(credentials))) }
        return try ClientRequest.serialized(method: "CONNECT", target: authority, headers: headers)
    }
}

/// What one connection may cost a client, in bytes and in time.
package struct ClientLimits: Sendable, Equatable {
    /// A message of the server. Over it the connection is closed with 1009.
    package var maximumMessageBytes = 64 << 20
    /// Frames of one message: 64 MiB in frames of 64 bytes.
    package var maximumFragments = 1 << 20
    /// Pings and pongs of the server in a second; each costs an answer.
    package var maximumControlFramesPerSecond = 1000
    /// From the first step of connecting to the whole answer, absolute: bytes that trickle in do not prolong it.
    package var connectMilliseconds: UInt64 = 10_000
    /// How much longer an answer may take than ``connectMilliseconds``: the wait of a long poll.
    package var patienceMilliseconds: UInt64 = 0
    /// An event stream that brings nothing for so long is lost: a server writes a comment every 25 s.
    package var silenceMilliseconds: UInt64 = 75_000
    /// What is kept of the body of a document.
    package var maximumDocumentBytes = 16 << 20
    /// From our close frame to the server's.
    package var closeMilliseconds: UInt64 = 5_000
    /// From the exchange of close frames to the server's closing of the connection, which RFC 6455 §7.1.1 wants to come
    /// first; afterwards we do it.
    package var lingerMilliseconds: UInt64 = 1_000
    /// What is kept of the body of a refusal.
    package var maximumRefusalBytes = 4 << 10
    /// From a ping to its pong; without one by then the connection is lost.
    package var pongMilliseconds: UInt64 = 10_000
    /// What is read no further from while a send is under way: over it the answers to pings wait.
    package var maximumPendingBytes = 256 << 10

    package init() {}
}
