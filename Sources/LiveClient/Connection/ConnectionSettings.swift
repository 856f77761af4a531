import HTTP
import TLS
import WebSocket

/// What a client asks a server for.
package enum StreamForm: Sendable, Equatable {
    case webSocket
    /// Server-sent events.
    case eventStream
    /// One answer, for example a page of `/sync/v1`.
    case document
}

/// What it takes to open one connection.
package struct ConnectionSettings: Sendable {
    package var url: WebSocketURL
    package var form = StreamForm.webSocket
    /// For `wss`; required there.
    package var tls: TLSContext?
    package var proxy: ProxyServer?
    /// The value of `Host` where it is not the address's own.
    package var host: String?
    /// The value of `Sec-WebSocket-Version`: 13, or 8, which was the same on the wire.
    package var version = 13
    package var protocols: [String] = []
    /// Fields besides those of the handshake itself.
    package var headers: [(name: String, value: String)] = []
    /// Offered where it is set.
    package var deflate: DeflateOffer?
    package var limits = ClientLimits()
    /// Pings are sent so often; nil sends none.
    package var pingMilliseconds: UInt64?

    package init(url: WebSocketURL) { self.url = url }

    func offer() -> UpgradeOffer {
        var offer = UpgradeOffer(target: url.target, host: host ?? url.host, key: OpeningHandshake.makeKey())
        offer.version = version
        offer.protocols = protocols
        offer.extensions = deflate?.text
        offer.headers = headers
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
        if let scheme, scheme != "http", scheme != "https" { throw .unknownScheme(scheme) }
        let url = try WebSocketURL(scheme == nil ? "http://" + text : text)
        guard case .host(let host, let port) = url.place else { throw .noHost }
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
