import Options
import YAML

/// The state while one setting is read: its location, and the problems found.
struct SettingReading {
    let origin: SettingsOrigin
    /// The folder for relative paths. It ends with a slash, or is empty for the process's own folder.
    let folder: String
    /// The path of the part that is being read.
    private(set) var key: String
    private(set) var problems: [SettingsProblem] = []
    /// The location of each part, for problems that are found later.
    private(set) var locations: [String: SettingsLocation] = [:]

    init(_ key: String, from origin: SettingsOrigin, folder: String) {
        self.key = key
        self.origin = origin
        self.folder = folder
    }

    /// Only files have lines. A variable or a flag is one line.
    func location(_ element: YAMLElement) -> SettingsLocation {
        switch origin {
        case .file, .otherFile: SettingsLocation(origin, line: element.line)
        case .variable, .flag: SettingsLocation(origin)
        }
    }

    mutating func refuse(_ element: YAMLElement, _ text: String) {
        problems.append(SettingsProblem(location(element), key: key, text))
    }

    /// Reads a part: `suffix` is `[2]` or `.name`.
    mutating func part<Value>(
        _ suffix: String, _ element: YAMLElement, _ read: (YAMLElement, inout SettingReading) -> Value?
    ) -> Value? {
        let before = key
        key += suffix
        defer { key = before }
        locations[key] = location(element)
        return read(element, &self)
    }

    /// A scalar as it is written, whatever its type. Returns nil and reports a problem for anything else.
    mutating func scalar(_ element: YAMLElement, expected: String) -> String? {
        switch element.content {
        case .text(let text, .plain) where YAMLElement.plainKind(text) == .null:
            refuse(element, "has no value: \(expected) is expected")
        case .text(let text, _):
            warnOfVariable(text, element)
            return text
        case .list: refuse(element, "is a list: \(expected) is expected")
        case .map: refuse(element, "is a map: \(expected) is expected")
        case .refused: break
        }
        return nil
    }

    /// `${NAME}` in a file is not replaced. The problem does not show the text, which may be a part of a password.
    private mutating func warnOfVariable(_ text: String, _ element: YAMLElement) {
        guard case .file = origin, let start = text.firstRange(of: "${"), text[start.upperBound...].contains("}") else {
            return
        }
        let variable = SettingsTable.environmentName(key)
        problems.append(
            SettingsProblem(
                location(element), key: key,
                "holds ${…}, and variables are not filled in: set \(variable) in the environment instead",
                isWarning: true))
    }

    /// A text. A bare number or truth value is refused: `no` or `1.10` may mean something else to its author than the value that
    /// YAML gives.
    ///
    /// - Parameter isShown: false if the problem must not show the text.
    mutating func text(_ element: YAMLElement, expected: String, isShown: Bool = true) -> String? {
        guard let text = scalar(element, expected: expected) else { return nil }
        guard case .text(_, .plain) = element.content else { return text }
        switch YAMLElement.plainKind(text) {
        case .text, .null: return text
        case .number, .boolean:
            refuse(
                element,
                "\(isShown ? "'\(text)' is" : "holds a number or truth value, which is") not text: put it into quotes")
            return nil
        }
    }

    /// The text when there is one value instead of a list. Nil for anything else, and for no value at all.
    func single(_ element: YAMLElement) -> String? {
        guard case .text(let text, let style) = element.content else { return nil }
        if case .plain = style, YAMLElement.plainKind(text) == .null { return nil }
        return text
    }

    mutating func list(_ element: YAMLElement, expected: String) -> [YAMLElement]? {
        switch element.content {
        case .list(let elements): return elements
        case .map: refuse(element, "is a map: \(expected) is expected")
        case .text(let text, .plain) where YAMLElement.plainKind(text) == .null:
            refuse(element, "has no value: \(expected) is expected")
        case .text: refuse(element, "is not a list: \(expected) is expected")
        case .refused: break
        }
        return nil
    }

    mutating func map(_ element: YAMLElement, expected: String) -> [YAMLEntry]? {
        switch element.content {
        case .map(let entries): return entries
        case .list: refuse(element, "is a list: \(expected) is expected")
        case .text(let text, .plain) where YAMLElement.plainKind(text) == .null:
            refuse(element, "has no value: \(expected) is expected")
        case .text: refuse(element, "is not a map: \(expected) is expected")
        case .refused: break
        }
        return nil
    }
}
