import Options

/// Where a setting comes from.
package enum SettingsOrigin: Hashable, Sendable {
    /// The settings file, by the name that it was called with.
    case file(String)
    /// An environment variable.
    case variable(String)
    /// A flag of the command line, without its dashes.
    case flag(String)
    /// A file that a setting names.
    case otherFile(String)
}

/// Where an operator finds what is meant.
package struct SettingsLocation: Hashable, Sendable {
    package let origin: SettingsOrigin
    /// From 1; nil where there are no lines, or where it is what the file lacks.
    package let line: Int?

    package init(_ origin: SettingsOrigin, line: Int? = nil) {
        self.origin = origin
        self.line = line
    }
}

extension SettingsLocation: CustomStringConvertible {
    package var description: String {
        let name =
            switch origin {
            case .file(let path), .otherFile(let path): path
            case .variable(let name): name
            case .flag(let name): "--\(name)"
            }
        return line.map { "\(name):\($0)" } ?? name
    }
}

/// Something invalid in the settings or, as a warning, something that is surely not intended.
package struct SettingsProblem: Error, Hashable, Sendable {
    package let location: SettingsLocation
    /// The path of the setting, such as `kafka.topics[1]`. Empty if there is none.
    package let key: String
    /// What is wrong and what would be right. It never contains the value of a secret.
    package let text: String
    package let isWarning: Bool

    package init(_ location: SettingsLocation, key: String, _ text: String, isWarning: Bool = false) {
        self.location = location
        self.key = key
        self.text = text
        self.isWarning = isWarning
    }
}

extension SettingsProblem: CustomStringConvertible {
    /// One line: `livegate.yaml:12: limits.max_headers: '0' is not a whole number from 1 to 1000`.
    package var description: String {
        let words = ["\(location)", isWarning ? "warning" : "", key, text]
        return words.filter { !$0.isEmpty }.joined(separator: ": ").printable
    }
}

extension [SettingsProblem] {
    /// The file from above, other files, variables, flags; each problem once.
    package var inReadingOrder: [SettingsProblem] {
        var seen = Set<SettingsProblem>()
        return filter { seen.insert($0).inserted }.enumerated()
            .sorted { ($0.element.location.rank, $0.offset) < ($1.element.location.rank, $1.offset) }.map(\.element)
    }
}

extension SettingsLocation {
    fileprivate var rank: Int {
        switch origin {
        case .file: line ?? 1 << 30
        case .otherFile: (1 << 31) + (line ?? 0)
        case .variable: 1 << 40
        case .flag: 1 << 41
        }
    }
}
