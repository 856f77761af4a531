import HTTP

/// Why a caller's token is not accepted.
///
/// The text goes to the caller, as `error_description` and as `detail`. It states what an honest developer has to fix, but not
/// what another token would have to contain. Of the token it contains only the times.
package enum TokenRefusal: Error, Hashable, Sendable {
    /// There is no `Authorization` header, and the settings require one.
    case missing
    /// There are several `Authorization` headers, or not exactly one Bearer token in it (RFC 6750 §2.1).
    case notBearer
    /// The subprotocol does not contain a token in base64url.
    case notBase64
    /// The ticket was not made with one of our secrets, has expired, or was used.
    case ticket
    /// A ticket cannot be used to get a ticket.
    case ticketForTicket
    /// The token is larger than ``TokenVerifier/maximumTokenBytes``.
    case tooLarge
    /// The token is not the compact form of a signed JWT. The value is the invalid part.
    case malformed(TokenPart)
    /// The header requires something that is not supported here (`crit`, or `b64`). RFC 7515 §4.1.11 forbids to ignore that.
    case criticalHeader
    /// The key's name is not a text, is too long, or has characters that no key's name needs.
    case keyName
    /// No key of the issuer has the name in the token, or none fits its algorithm.
    case unknownKey
    /// The issuer had the key that signed the token, and has it no longer.
    case withdrawnKey
    /// The token names no algorithm, or one that its issuer may not use.
    case algorithm
    /// The token names no issuer, or one that the settings do not list.
    case issuer
    /// The signature has the wrong length or values outside its range, or does not verify.
    case signature
    /// `aud` is missing or names another audience.
    case audience
    /// The claim is missing, or its form is not accepted.
    case claim(TokenClaim)
    /// The token was accepted until this second since 1970.
    case expired(at: Int64)
    /// The token will be accepted from this second since 1970, less the leeway.
    case notYetValid(before: Int64)
    /// The claim with the account is missing, or is not an account's name.
    case account
    /// The token is neither a JWT nor one of the static tokens.
    case unknownToken
    /// The verdict of the issuer's server: the token is not active.
    case inactive
    /// A revocation applies to it.
    case revoked
    /// The token is older than revocations whose targets are unknown: perhaps none of them meant it.
    case olderThanRevoked
    /// The same, a moment after it was found. A token that is fetched now might be refused too, if its issuer's clock is behind.
    /// So the caller tries again a little later.
    case unsettled
    /// The same for a token without a time of issue. Another token of its kind would have none either.
    case undated
    /// This cannot be decided now: the issuer's keys could not be fetched for too long, or the server that decides about tokens
    /// does not answer.
    case unavailable
    /// This cannot be decided before the question is answered.
    case undecided(TokenQuestion)
}

/// What another server must be asked before a token can be checked.
package enum TokenQuestion: Hashable, Sendable {
    /// Why a token is refused that is still unknown after this question.
    package var refusal: TokenRefusal {
        switch self {
        case .keys: .unknownKey
        case .introspection: .unknownToken
        }
    }

    /// For the issuer's keys: the token names an unknown one.
    case keys(issuer: String)
    /// For this token, which does not have the form of a JWT.
    case introspection(token: [UInt8])
}

/// A part of a compact token.
package enum TokenPart: String, Hashable, Sendable {
    case token, header, payload, signature
}

/// A registered claim whose form is checked.
package enum TokenClaim: String, Hashable, Sendable {
    case exp, nbf
}

extension TokenRefusal {
    /// Whether it concerns all callers with such a token, meant or not, who return with another one. Open connections are closed
    /// one after the other.
    package var concernsAllTokens: Bool {
        switch self {
        case .olderThanRevoked, .unsettled, .undated, .withdrawnKey: true
        default: false
        }
    }
}

extension TokenRefusal: CustomStringConvertible {
    /// At most 128 bytes, of the characters that RFC 6750 §3 allows in `error_description`.
    package var description: String {
        switch self {
        case .missing: "no token: send the header Authorization with Bearer and a token"
        case .notBearer: "the header Authorization must occur once and contain Bearer and one token"
        case .notBase64: "the subprotocol must be bearer. and the token in base64url without padding"
        case .ticket: "ticket is not valid: it was not made here, is too old, or was used"
        case .ticketForTicket: "a ticket is bought with a token, not with another ticket"
        case .tooLarge: "token is larger than \(TokenVerifier.maximumTokenBytes) bytes"
        case .malformed(.token): "token is not a JWT: three parts of base64url with dots between are expected"
        case .malformed(let part): "token is not a JWT: its \(part.rawValue) cannot be read"
        case .criticalHeader: "token has a header (crit or b64) that is not supported"
        case .keyName: "token has no usable kid, the name of its key"
        case .withdrawnKey: "token is signed with a key that its issuer has withdrawn"
        case .unknownKey: "token is signed with a key that its issuer does not have here"
        case .algorithm: "token has an algorithm that is not allowed for its issuer"
        case .issuer: "token has an issuer that is not accepted here"
        case .signature: "signature of the token is not valid"
        case .audience: "audience of the token does not match"
        case .claim(let claim): "claim \(claim.rawValue) of the token must be a whole number of seconds since 1970"
        case .expired(let second): "token expired at \(InternetDate.text(secondsSince1970: second))"
        case .notYetValid(let second): "token is not valid before \(InternetDate.text(secondsSince1970: second))"
        case .account: "token does not name an account in the expected claim"
        case .unknownToken: "token is not known here"
        case .inactive: "token is not active"
        case .revoked: "token was revoked"
        case .olderThanRevoked: "token is older than what was revoked: fetch a new one"
        case .unsettled: "token may be older than what was revoked: try again in a moment"
        case .undated: "token has no iat, and what was revoked before is not known in full: try again later"
        case .unavailable, .undecided: "token cannot be checked now, try again later"
        }
    }

    /// The value of `WWW-Authenticate` for this refusal (RFC 6750 §3). A caller without a token gets the same code, so that a
    /// client has to check for only one thing.
    package var challenge: String {
        "Bearer error=\"invalid_token\", error_description=\"\(description)\""
    }
}

extension TokenRefusal {
    /// Why a token is refused, as counted for operators.
    package enum Reason: String, CaseIterable, Sendable {
        case missing
        case malformed
        case tooLarge = "too_large"
        case algorithm
        case keyName = "kid"
        case signature
        case issuer
        case audience
        case claim
        case expired
        case notYetValid = "not_yet_valid"
        case account
        case unknown
        case inactive
        case revoked
        case ticket
        case unavailable
    }

    package var reason: Reason {
        switch self {
        case .missing: .missing
        case .notBearer, .notBase64, .malformed, .criticalHeader: .malformed
        case .tooLarge: .tooLarge
        case .algorithm: .algorithm
        case .keyName, .unknownKey, .withdrawnKey: .keyName
        case .signature: .signature
        case .issuer: .issuer
        case .audience: .audience
        case .claim: .claim
        case .expired: .expired
        case .notYetValid: .notYetValid
        case .account: .account
        case .unknownToken: .unknown
        case .inactive: .inactive
        case .revoked, .olderThanRevoked, .unsettled, .undated: .revoked
        case .ticket, .ticketForTicket: .ticket
        case .unavailable, .undecided: .unavailable
        }
    }
}

extension Refusal {
    /// For a request whose token is refused with 401; or with 503 if it cannot be decided now, or a new token would not help yet.
    package init(of why: TokenRefusal, code: RefusalCode = .invalidToken, retryAfterSeconds: Int? = nil) {
        self.init(code, "\(why)", retryAfterSeconds: retryAfterSeconds, cause: .token(why.reason.rawValue))
    }
}
