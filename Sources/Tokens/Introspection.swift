import TLS

/// The answer of a token server about a token (RFC 7662 §2.2).
package enum Introspection {
    /// An honest answer has some hundred bytes.
    package static let maximumAnswerBytes = 64 * 1024
    /// How long a refusal is kept: a caller that retries with the same bad token causes no new question.
    package static let refusalMilliseconds: UInt64 = 10_000

    /// The answer is invalid: it decides nothing about the token.
    package enum Problem: Error, Hashable, Sendable {
        case notJSON
        case noActive
    }

    /// Who the token is for, or why it is refused.
    ///
    /// If the answer has no `exp`, it is good until the first whole second after it is no longer kept. Then the server is asked
    /// again about callers that come, or are still there.
    ///
    /// - Parameters:
    ///   - token: the token in the question.
    ///   - source: the server that answered.
    ///   - now: milliseconds since 1970, when the answer came.
    package static func read(
        _ text: [UInt8], about token: [UInt8], from source: IntrospectionSource, now: Int64
    ) throws(Problem) -> Result<Identity, TokenRefusal> {
        guard text.count <= maximumAnswerBytes, let members = JOSEObject(text) else { throw .notJSON }
        guard let isActive = members.truth("active") else { throw .noActive }
        guard isActive else { return .failure(.inactive) }
        let claims = TokenClaims(members)
        return Result { () throws(TokenRefusal) in
            // A token without an end may still have a beginning.
            try claims.checkBeginning(now: now / 1000)
            var expiry = (now + Int64(source.cacheMilliseconds) + 999) / 1000
            let isOpenEnded = !members.has("exp")
            if !isOpenEnded { expiry = try claims.checkTimes(now: now / 1000) }
            return Identity(
                account: try claims.account(claim: source.accountClaim), subject: claims.subject, expiresAt: expiry,
                isOpenEnded: isOpenEnded, askedToken: isOpenEnded ? token : nil,
                issuedAt: claims.issuedAt(now: now / 1000),
                tokenID: claims.tokenID, voucher: source.voucher)
        }
    }

    /// The body of the question (RFC 7662 §2.1).
    package static func question(_ token: [UInt8]) -> [UInt8] {
        Array("token=".utf8) + formEncoded(token) + Array("&token_type_hint=access_token".utf8)
    }

    /// The header line with a client's name and secret (RFC 6749 §2.3.1): each part is form-encoded before they are joined.
    package static func authorization(client: String, secret: [UInt8]) -> String {
        let pair = formEncoded(Array(client.utf8)) + [UInt8(ascii: ":")] + formEncoded(secret)
        return "Authorization: Basic \(Base64.encode(pair))"
    }

    /// `application/x-www-form-urlencoded`: a blank is a plus, and only letters, digits and `*-._` stay as they are.
    static func formEncoded(_ bytes: [UInt8]) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return bytes.flatMap { byte -> [UInt8] in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"):
                [byte]
            case 0x20: [UInt8(ascii: "+")]
            default: [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
    }
}

/// The server that decides about tokens that are not JWTs, and how it is asked.
package struct IntrospectionSource: Hashable, Sendable {
    package let url: String
    /// The authorities that may vouch for the server, as PEM; nil: those of the system.
    package let authorities: [UInt8]?
    /// Our client name at the server.
    package let client: String
    /// The header line with our name and secret.
    package let authorization: String
    /// The member of an answer that holds the account.
    package let accountClaim: String
    /// How long an answer is kept.
    package let cacheMilliseconds: UInt64
    package let timeoutMilliseconds: UInt64
    let voucher: Voucher

    package init(
        url: String, authorities: [UInt8]?, client: String, authorization: String, accountClaim: String,
        cacheMilliseconds: UInt64, timeoutMilliseconds: UInt64
    ) {
        voucher = .server(url, client: client)
        self.url = url
        self.authorities = authorities
        self.client = client
        self.authorization = authorization
        self.accountClaim = accountClaim
        self.cacheMilliseconds = cacheMilliseconds
        self.timeoutMilliseconds = timeoutMilliseconds
    }

    /// Whether both give the same answers about a token. How they are asked, and how long answers are kept, does not matter.
    package func answers(as other: IntrospectionSource) -> Bool {
        url == other.url && client == other.client && accountClaim == other.accountClaim
    }

    /// How long an answer is kept, in milliseconds: never longer than the life of its token.
    ///
    /// - Parameter now: milliseconds since 1970.
    package func keeps(_ verdict: Result<Identity, TokenRefusal>, now: Int64) -> UInt64 {
        guard case .success(let identity) = verdict else { return Introspection.refusalMilliseconds }
        guard let end = identity.expiresAt else { return cacheMilliseconds }
        let (milliseconds, overflow) = end.multipliedReportingOverflow(by: 1000)
        return overflow ? cacheMilliseconds : min(cacheMilliseconds, UInt64(max(0, milliseconds - now)))
    }
}
