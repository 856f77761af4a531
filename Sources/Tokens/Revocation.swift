import LiveUpdates

/// Revokes the tokens that were issued before a time: those of an account, of one person in it, or one token.
package struct Revocation: Equatable, Sendable {
    package enum Target: Hashable, Sendable {
        case account(Account)
        /// The subject as ``TokenClaims/subject(of:)`` gives it.
        case subject(Account, BytewiseKey)
        /// The name as ``TokenClaims/tokenID(of:)`` gives it.
        case token(BytewiseKey)

        package var kind: Kind {
            switch self {
            case .account: .account
            case .subject: .subject
            case .token: .token
            }
        }
    }

    package enum Kind: String, CaseIterable, Sendable {
        case account, subject, token
    }

    package let target: Target
    /// Seconds since 1970: a token whose `iat` is less, or that has none, is revoked.
    package let before: Int64
    /// When the record was written, in milliseconds since 1970.
    package let recordedAt: Int64

    package init(_ target: Target, before: Int64, recordedAt: Int64) {
        self.target = target
        self.before = before
        self.recordedAt = recordedAt
    }
}

extension Revocation.Target {
    /// The target of these names, of which a missing one is nil; or why there is none.
    package init(account: [UInt8]?, subject: [UInt8]?, token: [UInt8]?) throws(ControlRecord.Problem) {
        switch (account, subject, token) {
        case (nil, nil, let token?):
            guard let name = TokenClaims.tokenID(of: token) else { throw .token }
            self = .token(BytewiseKey(text: name))
        case (let account?, let subject, nil):
            guard TokenClaims.isPlain(account, maximumBytes: Account.maximumBytes) else { throw .account }
            let owner = Account(String(decoding: account, as: UTF8.self))
            guard let subject else {
                self = .account(owner)
                return
            }
            guard let name = TokenClaims.subject(of: subject) else { throw .subject }
            self = .subject(owner, BytewiseKey(text: name))
        default: throw .target
        }
    }
}
