import LiveUpdates

/// The request in a record of the control topic.
///
/// It is read strictly. A node does not do a part of a record that it does not fully understand. So no node shuts out more or
/// less than another one.
package enum ControlRecord: Equatable, Sendable {
    case revoke(Revocation)
    /// Erase what was kept of the account before a time, in milliseconds since 1970.
    case erase(Account, until: Int64)

    /// The most bytes of a value that are read: enough for the longest name of a token, with each byte escaped.
    package static let maximumBytes = 64 * 1024
    /// How far `before` may be after the record's time, by the clock of the record's writer. Further ahead it would shut out
    /// tokens that are not issued yet.
    package static let maximumLeadSeconds: Int64 = 60

    /// Why a record is rejected.
    package enum Problem: Error, Hashable, CaseIterable, Sendable {
        case noValue, tooLarge, notJSON, unknownMember, nothingAsked, severalAsked, target, erasure, account, subject,
            token
        case before, beforeTooLate, noTime
    }

    /// Reads the value of a record.
    ///
    /// - Parameters:
    ///   - value: nil for a tombstone.
    ///   - timestamp: of the record, in milliseconds since 1970; nil where it has none.
    package static func read(_ value: [UInt8]?, timestamp: Int64?) throws(Problem) -> ControlRecord {
        guard let value else { throw .noValue }
        guard value.count <= maximumBytes else { throw .tooLarge }
        guard let timestamp, timestamp >= 0 else { throw .noTime }
        guard let record = JOSEObject(value) else { throw .notJSON }
        guard record.hasOnly(["revoke", "erase"]) else { throw .unknownMember }
        switch (record.has("revoke"), record.has("erase")) {
        case (false, false): throw .nothingAsked
        case (true, true): throw .severalAsked
        case (true, false):
            // It must be an object with no duplicate member.
            guard let revoke = record.object("revoke") else { throw .target }
            return .revoke(try revocation(revoke, timestamp))
        case (false, true):
            guard let erase = record.object("erase") else { throw .erasure }
            return .erase(try erasedAccount(erase), until: timestamp)
        }
    }

    private static func erasedAccount(_ members: JOSEObject) throws(Problem) -> Account {
        guard members.hasOnly(["account"]) else { throw .unknownMember }
        guard let name = try text(members, "account", .account) else { throw .erasure }
        guard TokenClaims.isPlain(name, maximumBytes: Account.maximumBytes) else { throw .account }
        return Account(String(decoding: name, as: UTF8.self))
    }

    private static func revocation(_ members: JOSEObject, _ timestamp: Int64) throws(Problem) -> Revocation {
        guard members.hasOnly(["account", "subject", "token", "before"]) else { throw .unknownMember }
        let target = try Revocation.Target(
            account: try text(members, "account", .account), subject: try text(members, "subject", .subject),
            token: try text(members, "token", .token))
        var before = timestamp / 1000 + (timestamp % 1000 > 0 ? 1 : 0)
        if members.has("before") {
            guard case .integer(.positive(let second))? = members["before"] else { throw .before }
            guard let second = Int64(exactly: second), second <= timestamp / 1000 + maximumLeadSeconds else {
                throw .beforeTooLate
            }
            before = second
        }
        return Revocation(target, before: before, recordedAt: timestamp)
    }

    /// Nil if the member is missing. An account or a subject may be a whole number, as in tokens.
    private static func text(_ members: JOSEObject, _ name: String, _ problem: Problem) throws(Problem) -> [UInt8]? {
        switch members[name] {
        case nil: return nil
        case .text(let text)?: return text
        case .integer(let number)? where problem != .token: return Array(number.description.utf8)
        default: throw problem
        }
    }

    /// The value of a record that revokes these as of the time it is written. `token` is the name from its issuer, of any length.
    package static func value(account: String?, subject: String?, token: String?) -> [UInt8] {
        Array("{\"revoke\":".utf8) + key(account: account, subject: subject, token: token) + Array("}".utf8)
    }

    /// The value of a record that erases what was kept of an account until the record is written.
    package static func value(erasing account: String) -> [UInt8] {
        Array("{\"erase\":".utf8) + key(account: account, subject: nil, token: nil) + Array("}".utf8)
    }

    /// The key of that record: what it revokes. So all records about one thing are in one partition.
    package static func key(account: String?, subject: String?, token: String?) -> [UInt8] {
        var bytes = Array("{".utf8)
        for case (let name, let text?) in [("account", account), ("subject", subject), ("token", token)] {
            if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
            WireMessage.appendString(name, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            WireMessage.appendString(text, to: &bytes)
        }
        return bytes + Array("}".utf8)
    }
}

extension ControlRecord.Problem: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noValue: "it has no value"
        case .tooLarge: "its value is larger than \(ControlRecord.maximumBytes) bytes"
        case .notJSON: "its value is not one JSON object without duplicate members"
        case .unknownMember: "it has a member that is not known here"
        case .nothingAsked: "it asks for nothing: a member revoke or erase is expected"
        case .severalAsked: "it asks for more than one thing: revoke and erase are records of their own"
        case .erasure: "erase must be an object with account"
        case .target: "revoke must be an object with account, with account and subject, or with token"
        case .account: "account must be a text of 1 to \(Account.maximumBytes) bytes without control characters"
        case .subject: "subject must be a text that is not empty, or a whole number"
        case .token: "token must be a text of 1 to \(TokenVerifier.maximumTokenBytes) bytes without control characters"
        case .before: "before must be a whole number of seconds since 1970"
        case .beforeTooLate: "before lies more than \(ControlRecord.maximumLeadSeconds) s after the record's time"
        case .noTime: "it has no time stamp"
        }
    }
}
