/// Entity and type of events, one object for all that have both.
package final class EventKind: Sendable {
    package let entity: String
    package let type: String
    /// Of both, by their bytes; made once.
    let hash: UInt64

    init(entity: String, type: String) {
        self.entity = entity
        self.type = type
        hash = type.utf8Span.span.hash(seed: entity.utf8Span.span.hash(seed: TableSeed.value))
    }

    func isSame(as other: EventKind) -> Bool {
        self === other || entity.isBytewiseEqual(to: other.entity) && type.isBytewiseEqual(to: other.type)
    }
}

/// An event as a record has it: account and id are bytes, valid UTF-8. Most events are for accounts without followers, and are
/// logged without a String.
///
/// The bytes are shared with the mapper that found them, which copies them at its next record if they are still held.
package struct RecordedEvent {
    package let kind: EventKind
    /// The bytes that contain the two texts.
    let bytes: [UInt8]
    let accountRange: Range<Int>
    let idRange: Range<Int>

    init(_ kind: EventKind, _ bytes: [UInt8], account: Range<Int>, id: Range<Int>) {
        self.kind = kind
        self.bytes = bytes
        accountRange = account
        idRange = id
    }

    /// An event that is already text.
    package init(_ account: Account, _ event: ThinEvent) {
        let name = Array(account.text.utf8)
        let bytes = name + event.id.utf8
        self.init(
            EventKind(entity: event.entity, type: event.type), bytes, account: 0..<name.count,
            id: name.count..<bytes.count)
    }

    package var accountBytes: Int { accountRange.count }
    package var idBytes: Int { idRange.count }

    /// Adds account and id, one behind the other.
    package func appendTexts(to texts: inout [UInt8]) {
        texts += bytes[accountRange]
        texts += bytes[idRange]
    }

    package var account: Account { Account(String(decoding: bytes[accountRange], as: UTF8.self)) }

    package var event: ThinEvent {
        ThinEvent(entity: kind.entity, id: String(decoding: bytes[idRange], as: UTF8.self), type: kind.type)
    }
}
