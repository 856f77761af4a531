/// What a shell may offer as the value of an option or as an operand.
package enum ValueCompletion: Sendable, Equatable {
    case nothing
    case files
    case words([String])
}

/// Why a value is invalid, with the right form: `'5' is not a duration (250ms, 30s, 5m, 24h or 7d)`.
package struct ValueProblem: Error, Equatable {
    /// The end of a sentence that begins with the value: `is not …`.
    package let text: String

    package init(_ text: String) {
        self.text = text
    }
}

/// A kind of value: its form on the command line, its type, and its completion in a shell.
package struct ValueKind<Value: Sendable>: Sendable {
    package let placeholder: String
    package let completion: ValueCompletion
    package let read: @Sendable (String) throws(ValueProblem) -> Value

    package init(
        _ placeholder: String, completion: ValueCompletion = .nothing,
        read: @escaping @Sendable (String) throws(ValueProblem) -> Value
    ) {
        self.placeholder = placeholder
        self.completion = completion
        self.read = read
    }
}

extension ValueKind where Value == String {
    /// Any text, the empty one included.
    package static func text(_ placeholder: String = "TEXT") -> Self {
        Self(placeholder) { text throws(ValueProblem) in text }
    }

    /// The name of a file. Whether the file exists is checked when it is opened.
    package static func file(_ placeholder: String = "FILE") -> Self {
        Self(placeholder, completion: .files) { text throws(ValueProblem) in
            if text.isEmpty { throw ValueProblem("is not the name of a file") }
            return text
        }
    }

    /// One of some words.
    package static func choice(_ placeholder: String, of words: [String]) -> Self {
        Self(placeholder, completion: .words(words)) { text throws(ValueProblem) in
            if words.contains(text) { return text }
            throw ValueProblem("is not one of \(words.joined(separator: ", "))")
        }
    }
}

extension ValueKind where Value == Int {
    /// A whole number in decimal digits; a minus is accepted if the range allows it.
    package static func integer(_ placeholder: String = "N", in range: ClosedRange<Int>) -> Self {
        Self(placeholder) { text throws(ValueProblem) in
            let isNegative = text.utf8.first == UInt8(ascii: "-")
            let number = Quantity.wholeNumber(isNegative ? String(text.dropFirst()) : text).map {
                isNegative ? -$0 : $0
            }
            guard let number, range.contains(number) else {
                throw ValueProblem("is not a whole number from \(range.lowerBound) to \(range.upperBound)")
            }
            return number
        }
    }

    /// A number of bytes, at least 1.
    package static func size(_ placeholder: String = "SIZE") -> Self {
        Self(placeholder) { text throws(ValueProblem) in
            guard let bytes = Quantity.bytes(text), bytes > 0 else {
                throw ValueProblem("is not a size (4096, 16KiB, 4MiB or 1GiB)")
            }
            return bytes
        }
    }
}

extension ValueKind where Value == Duration {
    /// A duration of at least one millisecond, or also `0s` if `allowsZero` is true.
    package static func duration(_ placeholder: String = "DURATION", allowsZero: Bool = false) -> Self {
        Self(placeholder) { text throws(ValueProblem) in
            guard let milliseconds = Quantity.milliseconds(text), milliseconds > 0 || allowsZero else {
                throw ValueProblem("is not a duration (250ms, 30s, 5m, 24h or 7d)")
            }
            return .milliseconds(milliseconds)
        }
    }
}
