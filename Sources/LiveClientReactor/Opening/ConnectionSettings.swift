import HTTP
import LiveClient
import TLS
import WebSocket

/// The settings to open one connection.
package struct ConnectionSettings: Sendable {
    package var url: WebSocketURL
    package var form = StreamForm.webSocket
    /// For `wss`, where it is required.
    package var tls: TLSContext?
    /// For other servers, to which redirects lead; nil: ``tls``, which sends no certificate of ours.
    package var tlsElsewhere: TLSContext?
    package var proxy: ProxyServer?
    /// The value of `Host`, if it is not that of the address.
    package var host: String?
    /// The value of `Sec-WebSocket-Version`: 13, or 8, which was the same on the wire.
    package var version = 13
    package var protocols: [String] = []
    /// Fields in addition to those of the handshake itself.
    package var headers: [(name: String, value: String)] = []
    /// The body that asks for a document, as JSON. With it the request is a `POST`.
    package var jsonBody: [UInt8]?
    /// Offered if it is set.
    package var deflate: DeflateOffer?
    package var limits = ClientLimits()
    /// The ping interval; nil sends no pings.
    package var pingMilliseconds: UInt64?

    package init(url: WebSocketURL) { self.url = url }

    /// These settings for one attempt at `url`, to which a redirect may have led. A server other than the configured one receives
    /// no credentials.
    ///
    /// - Parameter since: the cursor to resume from; it replaces the `since` of the address.
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

    /// The opening of one connection; its request is the only one that the server gets.
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

/// An HTTP proxy that connects us with `CONNECT` (RFC 9110 §9.3.6).
package struct ProxyServer: Sendable, Equatable {
    package let host: String
    package let port: Int
    /// Whether the connection to the proxy uses TLS.
    package let isSecure: Bool
    /// `user:password`.
    package let credentials: [UInt8]?

    /// Parses `[http://|https://][user:password@]host[:port]`.
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

    /// The request for a connection to a server.
    func request(to authority: String) throws(RequestFault) -> [UInt8] {
        var headers = [(name: "Host", value: authority)]
        if let credentials { headers.append(("Proxy-Authorization", "Basic " + Base64.encode(credentials))) }
        return try ClientRequest.serialized(method: "CONNECT", target: authority, headers: headers)
    }
}

/// What one connection may cost a client, in bytes and in time.
package struct ClientLimits: Sendable, Equatable {
    /// The limit of a server's message. A larger one closes the connection with 1009.
    package var maximumMessageBytes = 64 << 20
    /// Frames of one message: 64 MiB in frames of 64 bytes.
    package var maximumFragments = 1 << 20
    /// The server's pings and pongs in a second; each ping costs an answer.
    package var maximumControlFramesPerSecond = 1000
    /// From the first step of connecting to the whole answer. It is absolute: bytes that trickle in do not extend it.
    package var connectMilliseconds: UInt64 = 10_000
    /// How much longer than ``connectMilliseconds`` an answer may need: the wait of a long poll.
    package var patienceMilliseconds: UInt64 = 0
    /// An event stream that brings nothing for this time is lost: a server sends a comment every 25 s.
    package var silenceMilliseconds: UInt64 = 75_000
    /// How much of the body of a document is kept.
    package var maximumDocumentBytes = 16 << 20
    /// From our close frame to the server's.
    package var closeMilliseconds: UInt64 = 5_000
    /// From the exchange of close frames until the server closes the connection. RFC 6455 §7.1.1 wants the server to close first;
    /// after this time we do it.
    package var lingerMilliseconds: UInt64 = 1_000
    /// How much of the body of a refusal is kept.
    package var maximumRefusalBytes = 4 << 10
    /// From a ping to its pong. Without a pong in this time the connection is lost.
    package var pongMilliseconds: UInt64 = 10_000
    /// The limit of bytes waiting to be sent. Above it the connection does not read on, and answers to pings wait.
    package var maximumPendingBytes = 256 << 10

    package init() {}
}
