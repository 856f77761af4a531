/// The value of a fact. Text may come from a peer, so it is escaped and cut when it is written.
package enum LogValue: Hashable, Sendable {
    case text(String)
    case number(Int64)
    case truth(Bool)
    /// The first bytes of a text that is longer than a line shows, and its full length.
    case cut(String, bytes: Int)
    /// The fact is left out of its line.
    case absent

    /// A value from a peer can be as long as a message; a line shows no more of it than this.
    static let maximumTextBytes = 2_048

    package static func number(_ value: some BinaryInteger) -> LogValue {
        .number(Int64(clamping: value))
    }

    /// Text that may not be UTF-8: invalid bytes become U+FFFD.
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

extension LogValue {
    /// The bytes of its text; 0 if it is not a text.
    var textBytes: Int {
        switch self {
        case .text(let text), .cut(let text, _): text.utf8.count
        case .number, .truth, .absent: 0
        }
    }

    /// The same with at most ``maximumTextBytes`` of its text.
    var shortened: LogValue {
        guard case .text(let text) = self, text.utf8.count > Self.maximumTextBytes else { return self }
        var end = text.utf8.index(text.startIndex, offsetBy: Self.maximumTextBytes)
        while UTF8.isContinuation(text.utf8[end]) { end = text.utf8.index(before: end) }
        return .cut(String(text[..<end]), bytes: text.utf8.count)
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

    package var message: String { sentence.description }

    /// The same with no more of each text than a line shows. So a waiting line keeps no message in memory, and a long value does
    /// not make the line too large for the queue.
    var shortened: LogRecord {
        for fact in facts where fact.value.textBytes > LogValue.maximumTextBytes {
            return LogRecord(
                time: time, level: level, part: part, message: sentence,
                facts: facts.map { ($0.key, $0.value.shortened) })
        }
        return self
    }

    /// The first fact of this name.
    package subscript(_ key: LogKey) -> LogValue? {
        facts.first { $0.key == key }?.value
    }
}
