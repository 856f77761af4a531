/// The value of a fact. Text may come from a peer: it is escaped and cut when it is written.
package enum LogValue: Hashable, Sendable {
    case text(String)
    case number(Int64)
    case truth(Bool)
    /// The fact is left out of its line.
    case absent

    package static func number(_ value: some BinaryInteger) -> LogValue {
        .number(Int64(clamping: value))
    }

    /// Text of which nobody knows that it is UTF-8; what is not, becomes U+FFFD.
    package static func text(bytes: some Collection<UInt8>) -> LogValue {
        .text(String(decoding: bytes, as: UTF8.self))
    }

    package static func text(_ value: String?) -> LogValue {
        value.map { .text($0) } ?? .absent
    }
}

extension LogValue: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
    package init(stringLiteral value: String) {
        self = .text(value)
    }

    package init(integerLiteral value: Int64) {
        self = .number(value)
    }

    package init(booleanLiteral value: Bool) {
        self = .truth(value)
    }
}

/// One line before it is written.
package struct LogRecord: Sendable {
    /// Milliseconds since 1970, UTC.
    package let time: Int64
    package let level: LogLevel
    package let part: String
    /// A constant sentence.
    package let sentence: StaticString
    package let facts: [(key: LogKey, value: LogValue)]

    package init(
        time: Int64, level: LogLevel, part: String, message: StaticString, facts: [(key: LogKey, value: LogValue)]
    ) {
        self.time = time
        self.level = level
        self.part = part
        sentence = message
        self.facts = facts
    }

    package var message: String { "\(sentence)" }

    /// The first fact of this name.
    package subscript(_ key: LogKey) -> LogValue? {
        facts.first { $0.key == key }?.value
    }
}
