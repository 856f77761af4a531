import LiveUpdates

/// A mark that has moved, as the nodes of one archive send it to each other (`NOTIFY`).
package struct MarkMessage: Hashable, Sendable {
    /// PostgreSQL accepts payloads of fewer than 8,000 bytes. Account, person, entity and id have limits of their own. With
    /// these the longest message is a quarter of it.
    static let maximumPayloadBytes = 7_999

    package let account: Account
    package let person: String
    /// Nil: everything.
    package let thing: ReadMark.Thing?
    package let upTo: ArchiveID

    init(_ mark: ReadMark) {
        account = mark.account
        person = mark.person
        thing = mark.thing
        upTo = mark.upTo
    }

    /// With an id as tables have it.
    var withoutCheck: MarkMessage {
        let id = ArchiveID(
            stamp: upTo.stamp, topic: upTo.topic, partition: upTo.partition, offset: upTo.offset, check: 0)
        return MarkMessage(account: account, person: person, thing: thing, upTo: id)
    }

    /// The sender, a space, and the texts in hexadecimal digits, each behind a full stop: the payload has to be text in any
    /// encoding of the database.
    func payload(from sender: String) -> String {
        var texts = [upTo.text, account.text, person]
        if let thing { texts += [thing.entity, thing.id] }
        return sender + " " + texts.map { "." + Self.hexadecimal($0) }.joined()
    }

    /// Nil for an invalid message. The sender makes no difference: a node may not know that its own transaction succeeded.
    static func read(_ payload: String) -> MarkMessage? {
        let parts = payload.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let words = parts[1].split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).dropFirst()
        var texts: [String] = []
        for word in words {
            guard let text = text(of: word) else { return nil }
            texts.append(text)
        }
        guard texts.count == 3 || texts.count == 5, let id = ArchiveID(texts[0]) else { return nil }
        let thing = texts.count == 5 ? ReadMark.Thing(entity: texts[3], id: texts[4]) : nil
        return MarkMessage(account: Account(texts[1]), person: texts[2], thing: thing, upTo: id)
    }

    init(account: Account, person: String, thing: ReadMark.Thing?, upTo: ArchiveID) {
        self.account = account
        self.person = person
        self.thing = thing
        self.upTo = upTo
    }

    private static let digits = Array("0123456789abcdef".utf8)

    private static func hexadecimal(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 { bytes += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func text(of word: Substring.UTF8View) -> String? {
        guard word.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        var high: UInt8?
        for digit in word {
            guard let number = digits.firstIndex(of: digit) else { return nil }
            if let first = high {
                bytes.append(first << 4 | UInt8(number))
                high = nil
            } else {
                high = UInt8(number)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
