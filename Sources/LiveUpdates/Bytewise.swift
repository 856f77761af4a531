// Swift's String compares by canonical equivalence: "é" equals "e" with an accent. Accounts, entities and ids are distinguished
// by their bytes, so nothing here may use `==` or `hash(into:)` of String.

extension String {
    /// Whether both are the same bytes of UTF-8.
    package func isBytewiseEqual(to other: String) -> Bool { utf8Span.span.isEqual(to: other.utf8Span.span) }

    /// Feeds the bytes, eight at a time, and their number.
    func hashBytes(into hasher: inout Hasher) {
        let bytes = utf8Span.span
        var word: UInt64 = 0
        for index in bytes.indices {
            word = word << 8 | UInt64(bytes[index])
            if index & 7 == 7 {
                hasher.combine(word)
                word = 0
            }
        }
        hasher.combine(word)
        hasher.combine(bytes.count)
    }
}

extension Span<UInt8> {
    func isEqual(to other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        for index in indices where self[index] != other[index] { return false }
        return true
    }

    /// For tables, within one process: eight bytes at a time, each mixed by both halves of a product.
    func hash(seed: UInt64) -> UInt64 {
        var hash = seed ^ UInt64(count)
        var word: UInt64 = 0
        for index in indices {
            word = word << 8 | UInt64(self[index])
            if index & 7 == 7 {
                hash = Self.mixed(hash ^ word)
                word = 0
            }
        }
        return Self.mixed(hash ^ word)
    }

    private static func mixed(_ number: UInt64) -> UInt64 {
        let product = number.multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        return product.high ^ product.low
    }
}

extension [UInt8] {
    mutating func append(copying more: Span<UInt8>) {
        append(addingCapacity: more.count) { room in
            for index in more.indices { room.append(more[index]) }
        }
    }
}

/// The producers of records choose names: they must not be able to choose names that collide. So hashes differ from process to
/// process, as those of the standard library's tables do.
enum TableSeed {
    static let value: UInt64 = {
        var hasher = Hasher()
        hasher.combine(0)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }()
}

/// A text as a key of a table, by its bytes.
package struct BytewiseKey: Hashable, Sendable {
    package let text: String

    package init(text: String) { self.text = text }

    package static func == (left: BytewiseKey, right: BytewiseKey) -> Bool { left.text.isBytewiseEqual(to: right.text) }

    package func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }
}
