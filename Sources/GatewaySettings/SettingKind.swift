import Options
import YAML

/// How an environment variable with a setting is read.
enum SettingShape: Sendable {
    case scalar
    /// By comma.
    case list
    /// As YAML in one line.
    case structured
}

/// A kind of setting: how it is written, and what it becomes.
struct SettingKind<Value: Sendable>: Sendable {
    /// With its article, as in `a size (4096, 16KiB, 4MiB or 1GiB)`.
    let expected: String
    let shape: SettingShape
    /// Nil after a problem that leaves no value. With other problems, the part that could be read: the gateway does not start
    /// with it, but more problems are found.
    let read: @Sendable (YAMLElement, inout SettingReading) -> Value?
    /// The files that a value names and that the gateway reads, each with its position in the setting, as in `[2].keys`.
    let files: @Sendable (Value) -> [(suffix: String, path: String)]

    init(
        _ expected: String, _ shape: SettingShape = .scalar,
        files: @escaping @Sendable (Value) -> [(suffix: String, path: String)] = { _ in [] },
        read: @escaping @Sendable (YAMLElement, inout SettingReading) -> Value?
    ) {
        self.expected = expected
        self.shape = shape
        self.files = files
        self.read = read
    }
}

extension SettingKind where Value == Bool {
    static var truth: Self {
        Self("true or false") { element, reading in
            guard let text = reading.scalar(element, expected: "true or false") else { return nil }
            if case .text(_, .quoted) = element.content {
            } else {
                if text == "true" { return true }
                if text == "false" { return false }
            }
            reading.refuse(element, "'\(text)' is not true or false")
            return nil
        }
    }
}

extension SettingKind where Value == Int {
    static func integer(_ range: ClosedRange<Int>) -> Self {
        let expected = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        return Self(expected) { element, reading in
            guard let text = reading.scalar(element, expected: expected) else { return nil }
            if case .text(_, .quoted) = element.content {
            } else {
                if let number = Quantity.wholeNumber(text), range.contains(number) { return number }
            }
            reading.refuse(element, "'\(text)' is not \(expected)")
            return nil
        }
    }

    static func size(_ range: ClosedRange<Int>) -> Self {
        let bounds = "from \(Quantity.text(bytes: range.lowerBound)) to \(Quantity.text(bytes: range.upperBound))"
        let expected = "a size \(bounds) (bytes, or with KiB, MiB, GiB)"
        return Self(expected) { element, reading in
            guard let text = reading.scalar(element, expected: expected) else { return nil }
            if let bytes = Quantity.bytes(text), range.contains(bytes) { return bytes }
            reading.refuse(element, "'\(text)' is not \(expected)")
            return nil
        }
    }
}

extension SettingKind where Value == Duration {
    static func duration(milliseconds range: ClosedRange<Int64>) -> Self {
        let first = Quantity.text(milliseconds: range.lowerBound)
        let last = Quantity.text(milliseconds: range.upperBound)
        let expected = "a duration from \(first) to \(last) (as 250ms, 30s, 5m, 24h, 7d)"
        return Self(expected) { element, reading in
            guard let text = reading.scalar(element, expected: expected) else { return nil }
            if let milliseconds = Quantity.milliseconds(text), range.contains(milliseconds) {
                return .milliseconds(milliseconds)
            }
            reading.refuse(element, "'\(text)' is not \(expected)")
            return nil
        }
    }
}

extension SettingKind where Value == Duration {
    /// 0, with a unit or without, is none.
    static func durationOrNone(milliseconds range: ClosedRange<Int64>) -> Self {
        let duration = Self.duration(milliseconds: range)
        let expected = "0 or " + duration.expected
        return Self(expected) { element, reading in
            guard let text = reading.scalar(element, expected: expected) else { return nil }
            return text == "0" || Quantity.milliseconds(text) == 0 ? .zero : duration.read(element, &reading)
        }
    }
}

extension SettingKind where Value == Duration? {
    /// Nil is `never`.
    static func durationOrNever(milliseconds range: ClosedRange<Int64>) -> Self {
        let duration = SettingKind<Duration>.duration(milliseconds: range)
        let expected = "never or " + duration.expected
        return Self(expected) { element, reading in
            guard let text = reading.scalar(element, expected: expected) else { return nil }
            return text == "never" ? .some(nil) : duration.read(element, &reading).map { .some($0) }
        }
    }
}

extension SettingKind where Value == String {
    /// - Parameter problem: why a text is none of this kind, as the end of a sentence that begins with the text.
    static func text(_ expected: String, problem: @escaping @Sendable (String) -> String? = { _ in nil }) -> Self {
        Self(expected) { element, reading in
            guard let text = reading.text(element, expected: expected) else { return nil }
            guard let problem = problem(text) else { return text }
            reading.refuse(element, "'\(text)' \(problem)")
            return nil
        }
    }
}

extension SettingKind {
    /// One of a few words, each with what it means. An empty word is accepted without being offered.
    static func choice(_ meanings: [(word: String, value: Value)]) -> Self {
        let words = meanings.map(\.word).filter { !$0.isEmpty }
        let expected = "one of \(words.joined(separator: ", "))"
        return Self(expected) { element, reading in
            guard let text = reading.text(element, expected: expected) else { return nil }
            if let meaning = meanings.first(where: { $0.word == text }) { return meaning.value }
            let nearest = NearestName.nearest(to: text, among: words) ?? ""
            reading.refuse(element, "'\(text)' is not \(expected): did you mean '\(nearest)'?")
            return nil
        }
    }
}

extension SettingKind where Value == String? {
    /// The name of a file, made absolute or relative to the process's folder; nil for the empty text.
    static var path: Self {
        let files: @Sendable (String?) -> [(suffix: String, path: String)] = { $0.map { [("", $0)] } ?? [] }
        return Self("the name of a file", files: files) { element, reading in
            // The text in the field for the name of a secret's file may be the secret itself.
            guard let text = reading.text(element, expected: "the name of a file", isShown: false) else { return nil }
            if text.utf8.contains(0) {
                reading.refuse(element, "holds a NUL: no file has such a name")
                return nil
            }
            return .some(text.isEmpty ? nil : reading.located(text))
        }
    }
}

extension SettingReading {
    /// A path as the process opens it.
    func located(_ path: String) -> String {
        path.isEmpty || path.utf8.first == UInt8(ascii: "/") ? path : folder + path
    }
}

extension SettingKind {
    /// A list. One value alone is a list of one; the empty text is a list of none.
    static func list<Element>(_ expected: String, of kind: SettingKind<Element>, atLeastOne: Bool = false) -> Self
    where Value == [Element] {
        Self(expected, .list) { element, reading in
            if let text = reading.single(element) {
                guard text.isEmpty else { return single(text, element, kind, &reading).map { [$0] } }
                return list(expected, of: kind, atLeastOne: atLeastOne)
                    .read(YAMLElement(line: element.line, .list([])), &reading)
            }
            guard let elements = reading.list(element, expected: expected) else { return nil }
            if elements.isEmpty, atLeastOne {
                reading.refuse(element, "is empty: \(expected) is expected")
                return nil
            }
            var values: [Element] = []
            for (index, element) in elements.enumerated() {
                if let value = reading.part("[\(index)]", element, kind.read) { values.append(value) }
            }
            return values.count == elements.count ? values : nil
        }
    }

    /// The one value of a list. Where it is none and holds a comma, several were meant.
    private static func single<Element>(
        _ text: String, _ element: YAMLElement, _ kind: SettingKind<Element>, _ reading: inout SettingReading
    ) -> Element? {
        var attempt = reading
        let value = kind.read(element, &attempt)
        if value != nil || !text.contains(",") {
            reading = attempt
        } else {
            reading.refuse(element, "'\(text)' is one value: write several as a list, [first, second]")
        }
        return value
    }
}

extension SettingKind where Value == [String] {
    /// One text, or a list of them; the empty text is no entry.
    static func oneOrMore(_ expected: String, of kind: SettingKind<String>) -> Self {
        Self(expected, .list) { element, reading in
            if case .list = element.content { return list(expected, of: kind).read(element, &reading) }
            if case .text("", .quoted) = element.content { return [] }
            return kind.read(element, &reading).map { [$0] }
        }
    }
}
