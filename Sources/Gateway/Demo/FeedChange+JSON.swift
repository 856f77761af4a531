import LiveUpdates
import Logging

extension FeedChange {
    /// `{"account_id":…,"entity":…,"id":…,"type":…,"occurred_at":…,"request_id":…,"changes":{…}}`
    func value(account: String, occurred: Int64, request: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        Self.append([("account_id", account), ("entity", entity), ("id", id), ("type", type)], to: &bytes)
        bytes.append(UInt8(ascii: ","))
        Self.append([("occurred_at", Timestamp.text(occurred)), ("request_id", "req-\(request)")], to: &bytes)
        bytes.append(contentsOf: ",\"changes\":{".utf8)
        Self.append(changes, to: &bytes)
        bytes.append(contentsOf: "}}".utf8)
        return [UInt8(ascii: "{")] + bytes
    }

    private static func append(_ members: [(name: String, value: String)], to bytes: inout [UInt8]) {
        for (place, member) in members.enumerated() {
            if place > 0 { bytes.append(UInt8(ascii: ",")) }
            WireMessage.appendString(member.name, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            WireMessage.appendString(member.value, to: &bytes)
        }
    }
}
