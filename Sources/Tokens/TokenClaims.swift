import HTTP
import LiveUpdates
import TLS

/// The claims of a token. They are not trusted when they are read, only after the signature is verified.
package struct TokenClaims {
    private let members: JOSEObject

    /// Claims that another server has verified.
    init(_ members: JOSEObject) { self.members = members }

    init(_ text: [UInt8]) throws(TokenRefusal) {
        guard let members = JOSEObject(text) else { throw .malformed(.payload) }
        self.members = members
    }

    /// `iss`, to find the keys that verify the token.
    var issuer: [UInt8]? { members.text("iss") }

    /// `sub`, by the same rule as for accounts: text, or a whole number in decimal.
    var subject: String? {
        switch members["sub"] {
        case .text(let name): Self.subject(of: name)
        case .integer(let number): number.description
        default: nil
        }
    }

    /// `iat`, if it is a whole number of seconds, and not further ahead than clocks are. Only revocations depend on it: with an
    /// `iat` of next year, a token would outlive every revocation until then.
    func issuedAt(now: Int64) -> Int64? {
        second("iat").flatMap { $0 <= now + TokenVerifier.issueLeewaySeconds ? $0 : nil }
    }

    /// Whether ``issuedAt(now:)`` omits the claim only because our clock is behind it.
    func isIssuedAhead(of now: Int64) -> Bool { second("iat") != nil && issuedAt(now: now) == nil }

    /// `jti`.
    var tokenID: String? { members.text("jti").flatMap(Self.tokenID) }

    /// The most bytes of a token's name that are kept unchanged: every connection and every ticket holds it.
    package static let maximumTokenIDBytes = 128

    /// The most bytes of a subject that are kept unchanged.
    package static let maximumSubjectBytes = 255

    /// The name of a token here: as its issuer wrote it, or, if it is longer, its SHA-256 in hexadecimal. `nil` if it is empty or
    /// not plain.
    package static func tokenID(of name: [UInt8]) -> String? {
        guard isPlain(name, maximumBytes: TokenVerifier.maximumTokenBytes) else { return nil }
        if name.count <= maximumTokenIDBytes { return String(decoding: name, as: UTF8.self) }
        return Hexadecimal.encode(Digest.sha256(name))
    }

    /// The name of a person here: as the issuer wrote it, or its SHA-256 in hexadecimal if it is longer or a log line cannot hold
    /// it. `nil` if it is empty. If an unusual name counted as none, its owner would escape limits and revocations.
    package static func subject(of name: [UInt8]) -> String? {
        if name.isEmpty { return nil }
        if isPlain(name, maximumBytes: maximumSubjectBytes) { return String(decoding: name, as: UTF8.self) }
        return Hexadecimal.encode(Digest.sha256(name))
    }

    /// The account, by the same rule as for records: text, or a whole number in decimal.
    func account(claim: String) throws(TokenRefusal) -> Account {
        let bytes: [UInt8]
        switch members[claim] {
        case .text(let text): bytes = text
        case .integer(let number): bytes = Array(number.description.utf8)
        default: throw .account
        }
        guard Self.isPlain(bytes, maximumBytes: Account.maximumBytes) else { throw .account }
        return Account(String(decoding: bytes, as: UTF8.self))
    }

    /// RFC 7519 §4.1.3: a text or a list of texts.
    func checkAudience(_ audiences: [String]) throws(TokenRefusal) {
        let named: [[UInt8]]
        switch members["aud"] {
        case nil: named = []
        case .text(let text): named = [text]
        case .list(let list):
            named = list.compactMap { $0.string.map { Array($0.utf8) } }
            guard named.count == list.count else { throw .audience }
        default: throw .audience
        }
        if audiences.isEmpty, !members.has("aud") { return }
        guard audiences.contains(where: { named.contains(Array($0.utf8)) }) else { throw .audience }
    }

    /// Checks the times and returns the second from which the token is refused.
    ///
    /// - `exp` has no leeway: at that second connections with the token are closed, and their clients reconnect at once. If the
    ///   token were still accepted, this would repeat without end.
    /// - `nbf` has a leeway, because a token is used the moment it is issued, and the issuer's clock may be ahead of ours.
    /// - `iat` refuses no token: one that is too far ahead counts as none, see ``issuedAt(now:)``.
    func checkTimes(now: Int64) throws(TokenRefusal) -> Int64 {
        guard let expiry = second("exp") else { throw .claim(.exp) }
        try checkBeginning(now: now)
        guard now < expiry else { throw .expired(at: expiry) }
        return min(expiry, InternetDate.lastSecond)
    }

    /// Checks `nbf`, if there is one.
    func checkBeginning(now: Int64) throws(TokenRefusal) {
        guard members.has("nbf") else { return }
        guard let second = second("nbf") else { throw .claim(.nbf) }
        guard second <= now + TokenVerifier.notBeforeLeewaySeconds else { throw .notYetValid(before: second) }
    }

    /// A NumericDate (RFC 7519 §2) without a fraction, from 1970 on. A value over 63 bits becomes the largest one.
    private func second(_ name: String) -> Int64? {
        guard case .integer(.positive(let second))? = members[name] else { return nil }
        return Int64(clamping: second)
    }

    /// Whether it is not empty, not too long, and without control characters (C0, DEL, C1).
    package static func isPlain(_ text: [UInt8], maximumBytes: Int) -> Bool {
        guard (1...maximumBytes).contains(text.count) else { return false }
        return String(decoding: text, as: UTF8.self).unicodeScalars.allSatisfy {
            $0.properties.generalCategory != .control
        }
    }
}
