// Swift's String compares by canonical equivalence: "é" equals "e" with an accent. What tells accounts, entities and ids
// apart are their bytes, so nothing here may use `==` or `hash(into:)` of String.

extension String {
    /// Whether both are the same bytes of UTF-8.
    package func isBytewiseEqual(to other: String) -> Bool {
        let mine = utf8Span.span
        let its = other.utf8Span.span
        guard mine.count == its.count else { return false }
        for index in mine.indices where mine[index] != its[index] { return false }
        return true
    }

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

/// A text as a key of a table, by its bytes.
package struct BytewiseKey: Hashable, Sendable {
    package let text: String

    package init(text: String) { self.text = text }

    package static func == (left: BytewiseKey, right: BytewiseKey) -> Bool { left.text.isBytewiseEqual(to: right.text) }

    package func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }
}
