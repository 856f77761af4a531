import HTTP
import LiveClient

/// The credentials in every form that a request can carry: for the configured server, and for no other.
/// ``ConnectionSettings/attempt(at:credentials:since:)`` omits them if a redirect led elsewhere.
package struct OriginCredentials: Sendable {
    package var headers: [(name: String, value: String)] = []
    /// Subprotocols that carry a token.
    package var protocols: [String] = []
    /// The value of `Host`, if it was set by hand.
    package var host: String?

    package init() {}

    /// Parts of the names of headers that carry credentials: `Authorization`, `Cookie`, `X-Api-Key`, and similar ones.
    private static let wordsOfSecrets = [
        "auth", "cookie", "token", "secret", "password", "session", "api-key", "apikey",
    ]

    /// Whether a header of this name carries credentials.
    package static func isCredential(headerNamed name: String) -> Bool {
        let name = name.lowercased()
        return wordsOfSecrets.contains { name.utf8.firstRange(of: $0.utf8) != nil }
    }

    /// The beginning of a subprotocol that carries a token.
    package static let protocolPrefix = "bearer."

    package static func isCredential(protocolNamed name: String) -> Bool {
        name.lowercased().utf8.starts(with: protocolPrefix.utf8)
    }

    /// A larger message does not contain a token.
    private static let maximumMessageBytes = 1 << 20

    /// Whether a message contains a token: a JSON object with the member `token`.
    package static func isCredential(message: [UInt8]) -> Bool {
        JSONNode(message, maximumBytes: maximumMessageBytes, maximumDepth: 64)?.has("token") ?? false
    }
}

extension WebSocketURL {
    /// Whether the address contains a ticket, which stands for a token.
    package var hasTicket: Bool { parameter("ticket") != .absent }

    /// Whether it contains the ticket of `other`, under any name.
    func holdsTicket(of other: WebSocketURL) -> Bool {
        guard case .one(let ticket) = other.parameter("ticket"), !ticket.isEmpty else { return false }
        let here = Array(target.utf8)
        return [here, PercentEncoding.decoded(here[...]) ?? here].contains { $0.firstRange(of: ticket) != nil }
    }
}
