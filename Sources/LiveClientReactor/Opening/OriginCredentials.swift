import HTTP
import LiveClient

/// What says who asks, in every form that goes into a request: for the server that was named, and for no other.
/// ``ConnectionSettings/attempt(at:credentials:since:)`` leaves it out where a redirect led elsewhere.
package struct OriginCredentials: Sendable {
    package var headers: [(name: String, value: String)] = []
    /// Subprotocols that carry a token.
    package var protocols: [String] = []
    /// The value of `Host` where it was set by hand.
    package var host: String?

    package init() {}

    /// What the name of a header holds where its value says who asks: `Authorization`, `Cookie`, `X-Api-Key`, and the like.
    private static let wordsOfSecrets = [
        "auth", "cookie", "token", "secret", "password", "session", "api-key", "apikey",
    ]

    /// Whether a header of this name says who asks.
    package static func isCredential(headerNamed name: String) -> Bool {
        let name = name.lowercased()
        return wordsOfSecrets.contains { name.utf8.firstRange(of: $0.utf8) != nil }
    }

    /// What begins a subprotocol that carries a token.
    package static let protocolPrefix = "bearer."

    package static func isCredential(protocolNamed name: String) -> Bool {
        name.lowercased().utf8.starts(with: protocolPrefix.utf8)
    }

    /// A larger message is no token of anybody.
    private static let maximumMessageBytes = 1 << 20

    /// Whether a message brings a token: a JSON object with the member `token`.
    package static func isCredential(message: [UInt8]) -> Bool {
        JSONNode(message, maximumBytes: maximumMessageBytes, maximumDepth: 64)?.has("token") ?? false
    }
}

extension WebSocketURL {
    /// Whether the address brings a ticket, which stands for a token.
    package var hasTicket: Bool { parameter("ticket") != .absent }

    /// Whether it holds the ticket of `other`, whatever the name under which it stands here.
    func holdsTicket(of other: WebSocketURL) -> Bool {
        guard case .one(let ticket) = other.parameter("ticket"), !ticket.isEmpty else { return false }
        let here = Array(target.utf8)
        return [here, PercentEncoding.decoded(here[...]) ?? here].contains { $0.firstRange(of: ticket) != nil }
    }
}
