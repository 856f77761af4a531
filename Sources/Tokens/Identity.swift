import LiveUpdates
import TLS

/// Who a caller is, from its token.
/// It is an object, because each open connection keeps it. All callers with the same static token, or without one, share one.
/// An object, since each open connection keeps it: all that came with one static token, or with none, share one.
package final class Identity: Sendable {
    /// The account whose events the caller gets.
    package let account: Account
    /// The person within the account, as ``TokenClaims/subject(of:)`` gives it.
    package let subject: String?
    /// The second since 1970 at which the connection ends; `nil` for static tokens and callers without a token.
    package let expiresAt: Int64?
    /// Whether ``expiresAt`` is the end of a server's answer about the token, not of the token: then the server is asked again.
    package let isOpenEnded: Bool
    /// The token itself, if its server has to be asked about it again; nil for a ticket.
    package let askedToken: [UInt8]?
    /// The second since 1970 at which the token was issued, according to its `iat`.
    package let issuedAt: Int64?
    /// The issuer's name for the token (`jti`), as ``TokenClaims/tokenID(of:)`` gives it.
    package let tokenID: String?
    /// The SHA-256 of a static token; nil for others.
    package let staticToken: [UInt8]?
    /// Who has vouched for the token; nil for static tokens and callers without a token.
    package let voucher: Voucher?
    /// ``SignatureKey/mark`` of the fetched key that signed the token; nil for other keys and other tokens.
    package let keyMark: UInt64?

    package init(
        account: Account, subject: String?, expiresAt: Int64?, isOpenEnded: Bool = false, askedToken: [UInt8]? = nil,
        issuedAt: Int64? = nil, tokenID: String? = nil, staticToken: [UInt8]? = nil, voucher: Voucher? = nil,
        keyMark: UInt64? = nil
    ) {
        self.account = account
        self.subject = subject
        self.expiresAt = expiresAt
        self.isOpenEnded = isOpenEnded
        self.askedToken = askedToken
        self.issuedAt = issuedAt
        self.tokenID = tokenID
        self.staticToken = staticToken
        self.voucher = voucher
        self.keyMark = keyMark
    }
}

/// Who has vouched for a token: an issuer, or a server that was asked. A ticket holds it, so that it ends with its voucher.
package struct Voucher: Hashable, Sendable {
    /// The first 8 bytes of a SHA-256: it only has to distinguish the few vouchers of one settings file.
    let mark: UInt64

    init(mark: UInt64) { self.mark = mark }

    package static func issuer(_ name: String) -> Voucher { Voucher(["issuer", name]) }

    package static func server(_ url: String, client: String) -> Voucher { Voucher(["server", url, client]) }

    private init(_ words: [String]) {
        let digest = Digest.sha256(Array(words.joined(separator: "\0").utf8))
        mark = digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
