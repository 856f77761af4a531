import HTTP
import TLS

/// The credential of a request.
package enum Credential: Sendable, Equatable {
    /// None: the caller is anonymous, or is refused.
    case none
    /// A token, by any transport of it.
    case token([UInt8])
    /// A ticket, which replaces a token once.
    case ticket([UInt8])

    /// The prefix of the subprotocol that carries a token.
    package static let subprotocolPrefix = Array("bearer.".utf8)

    /// The cookie that can hold a token, and whether this request may use it.
    package struct Cookie: Sendable {
        let name: String
        let mayBeUsed: Bool

        /// - Parameter mayBeUsed: whether the request comes from a page that the settings list. Browsers add a cookie to the
        ///   requests of any page.
        package init(_ name: String, mayBeUsed: Bool) {
            self.name = name
            self.mayBeUsed = mayBeUsed
        }
    }

    /// Finds the one credential of a request.
    ///
    /// Two credentials of different kinds are refused, because it is unclear which one was meant. A cookie does not count as one
    /// of them: it is read only if there is no other.
    ///
    /// - Parameters:
    ///   - protocols: the subprotocols that the client offers for a WebSocket; empty for other requests.
    ///   - protocolName: the chosen subprotocol, which must be offered together with a token.
    ///   - cookie: nil if no cookie counts.
    package static func read(
        _ head: RequestHead, protocols: [[UInt8]] = [], protocolName: String, cookie: Cookie? = nil
    ) throws(Refusal) -> Credential {
        let fields = head.headers.all("authorization")
        let offered = protocols.filter { $0.starts(with: subprotocolPrefix) }
        let ticket = QueryParameters(head.query)["ticket"]
        let kinds = [!fields.isEmpty, !offered.isEmpty, ticket != .absent].count { $0 }
        guard kinds <= 1 else {
            throw Refusal(
                .badRequest, "Of the header Authorization, a subprotocol and a ticket only one may bring a token.")
        }
        if !fields.isEmpty { return .token(try bearer(fields)) }
        if !offered.isEmpty { return .token(try token(offered, protocols, protocolName)) }
        switch ticket {
        case .one(let bytes): return .ticket(bytes)
        // A ticket that cannot be decoded was not issued to any client.
        case .malformed: return .ticket([])
        case .repeated: throw Refusal(.badParameter, "Parameter ticket given more than once.")
        case .absent: break
        }
        guard let cookie else { return .none }
        return try token(Cookies.value(cookie.name, in: head.headers), cookie)
    }

    private static func bearer(_ fields: [ArraySlice<UInt8>]) throws(Refusal) -> [UInt8] {
        guard fields.count == 1, let token = BearerToken.read(fields[0]) else {
            throw Refusal(of: .notBearer)
        }
        return token
    }

    private static func token(
        _ offered: [[UInt8]], _ protocols: [[UInt8]], _ name: String
    ) throws(Refusal) -> [UInt8] {
        guard offered.count == 1 else { throw Refusal(.badUpgrade, "Two subprotocols carry a token.") }
        guard protocols.contains(where: { $0.elementsEqual(name.utf8) }) else {
            throw Refusal(.badUpgrade, "A subprotocol carries a token, and \(name) is not offered with it.")
        }
        let text = offered[0].dropFirst(subprotocolPrefix.count)
        guard let token = Base64.decodeURL(text), !token.isEmpty else {
            throw Refusal(of: .notBase64)
        }
        return token
    }

    private static func token(_ value: Cookies.Value, _ cookie: Cookie) throws(Refusal) -> Credential {
        switch value {
        case .absent: return .none
        case .repeated: throw Refusal(.badRequest, "Cookie \(cookie.name) given more than once.")
        case .one(let token):
            guard cookie.mayBeUsed else {
                throw Refusal(.forbidden, "A cookie counts only in what a page of a listed origin asks.")
            }
            return .token(token)
        }
    }
}
