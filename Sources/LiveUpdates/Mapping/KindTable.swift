/// What the mapping made of pairs of entity and type. Records repeat a few dozen pairs; finding one here costs less than renaming
/// and translating it again.
///
/// A pair has one slot, and the last pair that came for a slot is in it: memory is bounded whatever names records contain.
struct KindTable {
    private struct Entry {
        /// Entity and type as the record has them, one behind the other.
        let names: [UInt8]
        let entityCount: Int
        /// As they are delivered.
        let kind: EventKind
    }

    /// A product has some dozens of kinds of events; a power of two.
    private static let slots = 256

    private var entries = [Entry?](repeating: nil, count: Self.slots)

    /// What was kept of a pair of texts; nil where nothing was, or another pair has its slot by now.
    func kind(of texts: [UInt8], _ entityRange: Range<Int>, _ typeRange: Range<Int>) -> EventKind? {
        let entity = texts.span.extracting(entityRange)
        let type = texts.span.extracting(typeRange)
        guard let entry = entries[Self.slot(entity, type)], entry.entityCount == entity.count else { return nil }
        let names = entry.names.span
        guard names.extracting(..<entry.entityCount).isEqual(to: entity),
            names.extracting(entry.entityCount...).isEqual(to: type)
        else { return nil }
        return entry.kind
    }

    /// Keeps what is delivered for a pair as records have it. The caller keeps nothing that is dropped or too long.
    mutating func keep(_ entity: [UInt8], _ type: [UInt8], as kind: EventKind) {
        entries[Self.slot(entity.span, type.span)] = Entry(
            names: entity + type, entityCount: entity.count, kind: kind)
    }

    /// From the lengths and a few bytes of both. Pairs that share a slot cost as much as all do without the table.
    private static func slot(_ entity: Span<UInt8>, _ type: Span<UInt8>) -> Int {
        let hash = (sample(entity) &* 0x9E37_79B9_7F4A_7C15 ^ sample(type)) &* 0xFF51_AFD7_ED55_8CCD
        return Int(truncatingIfNeeded: hash >> 40) & (slots - 1)
    }

    private static func sample(_ bytes: Span<UInt8>) -> UInt64 {
        guard bytes.count > 0 else { return 0 }
        let middle = UInt64(bytes[bytes.count / 2]) << 16 | UInt64(bytes[bytes.count / 4]) << 24
        return UInt64(bytes.count) << 32 | middle | UInt64(bytes[0]) << 8 | UInt64(bytes[bytes.count - 1])
    }
}
