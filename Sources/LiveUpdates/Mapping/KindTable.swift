/// What the mapping made of pairs of entity and type. Records repeat a few dozen pairs; to find one here costs less than
/// to rename and translate it again.
///
/// A pair has one slot, and the last pair that came for a slot has it: memory is bounded whatever names records bring.
struct KindTable {
    struct Kind {
        /// As the record has them.
        fileprivate let recordEntity: String
        fileprivate let recordType: String
        /// As they are delivered.
        let entity: String
        let type: String
    }

    /// Kinds of events of a product number some dozens; a power of two.
    private static let slots = 256

    private var kinds = [Kind?](repeating: nil, count: Self.slots)

    /// What was kept of the pair; nil where nothing was, or another pair has its slot by now.
    func kind(_ entity: String, _ type: String) -> Kind? {
        guard let kind = kinds[Self.slot(entity, type)], kind.recordType.isBytewiseEqual(to: type),
            kind.recordEntity.isBytewiseEqual(to: entity)
        else { return nil }
        return kind
    }

    /// Keeps what is delivered for a pair as records have it. The caller keeps nothing that is dropped or too long.
    mutating func keep(_ entity: String, _ type: String, as delivered: ThinEvent) {
        kinds[Self.slot(entity, type)] = Kind(
            recordEntity: entity, recordType: type, entity: delivered.entity, type: delivered.type)
    }

    /// Of the lengths and a few bytes of both. Pairs that share a slot cost what all cost without the table.
    private static func slot(_ entity: String, _ type: String) -> Int {
        let hash = (sample(entity) &* 0x9E37_79B9_7F4A_7C15 ^ sample(type)) &* 0xFF51_AFD7_ED55_8CCD
        return Int(truncatingIfNeeded: hash >> 40) & (slots - 1)
    }

    private static func sample(_ text: String) -> UInt64 {
        let bytes = text.utf8Span.span
        guard bytes.count > 0 else { return 0 }
        let middle = UInt64(bytes[bytes.count / 2]) << 16 | UInt64(bytes[bytes.count / 4]) << 24
        return UInt64(bytes.count) << 32 | middle | UInt64(bytes[0]) << 8 | UInt64(bytes[bytes.count - 1])
    }
}
