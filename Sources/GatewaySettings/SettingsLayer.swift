import Options
import YAML

/// The settings of one source, by their paths.
struct SettingsLayer {
    let origin: SettingsOrigin
    private(set) var values: [String: YAMLElement] = [:]
    private(set) var problems: [SettingsProblem] = []
    /// Whether the source could be read to its end. If so, a setting that it lacks was not set there.
    private(set) var isWhole = true

    init(_ origin: SettingsOrigin) {
        self.origin = origin
    }

    /// The settings file.
    init(file name: String, _ bytes: [UInt8]) {
        self.init(.file(name))
        let (root, problems) = YAMLDocument.read(bytes)
        self.problems = problems.map { problem in
            SettingsProblem(SettingsLocation(origin, line: problem.line), key: problem.key, problem.text)
        }
        isWhole = root != nil || problems.isEmpty
        guard let root else { return }
        if case .map = root.content {} else { isWhole = false }
        collect(root, under: "")
    }

    /// A settings file that cannot be opened or read, and why.
    init(file name: String, unreadable reason: String) {
        self.init(.file(name))
        isWhole = false
        problems = [SettingsProblem(SettingsLocation(origin), key: "", "cannot be read: \(reason)")]
    }

    /// One value from a source without types and lines.
    init(_ origin: SettingsOrigin, _ row: SettingRow, words: [String]) {
        self.init(origin)
        let elements = words.map { YAMLElement(line: 1, .text($0, .untyped)) }
        values[row.path] = row.shape == .list ? YAMLElement(line: 1, .list(elements)) : elements.last
    }

    /// An environment variable that holds a setting, or a whole section as YAML in one line.
    init(variable name: String, _ text: String, path: String, shape: SettingShape) {
        self.init(.variable(name))
        switch shape {
        case .scalar: values[path] = YAMLElement(line: 1, .text(text, .untyped))
        case .list:
            let words = text.isEmpty ? [] : text.split(separator: ",", omittingEmptySubsequences: false)
            values[path] = YAMLElement(
                line: 1, .list(words.map { YAMLElement(line: 1, .text(String($0.trimmingBlanks), .untyped)) }))
        case .structured:
            let (root, problems) = YAMLDocument.read(Array(text.utf8))
            self.problems = problems.map { SettingsProblem(SettingsLocation(origin), key: path, $0.text) }
            guard problems.isEmpty else { return }
            collect(root ?? YAMLElement(line: 1, .text("", .plain)), under: path)
        }
    }

    /// Splits an element into settings. `path` is a setting, a section, or empty for the root.
    private mutating func collect(_ element: YAMLElement, under path: String) {
        if SettingsTable.rows.contains(where: { $0.path == path }) {
            values[path] = element
            return
        }
        var reading = SettingReading(path, from: origin, folder: "")
        let entries = reading.map(
            element, expected: path.isEmpty ? "a map of settings" : "a map with \(names(under: path))")
        problems += reading.problems
        for entry in entries ?? [] {
            let inner = path.isEmpty ? entry.key : "\(path).\(entry.key)"
            if Self.isKnown(inner) {
                collect(entry.value, under: inner)
            } else {
                unknown(entry, under: path)
            }
        }
    }

    private mutating func unknown(_ entry: YAMLEntry, under path: String) {
        let key = path.isEmpty ? entry.key : "\(path).\(entry.key)"
        let here = NearestName.nearest(to: entry.key, among: Self.children(of: path))
        // A valid key can be in the wrong section. If only its ending is missing, the names of its own section fit better.
        let elsewhere = SettingsTable.rows.map(\.path).first { $0.hasSuffix(".\(entry.key)") }
        let nearest = here.flatMap { $0.hasPrefix(entry.key) ? $0 : nil } ?? elsewhere ?? here ?? ""
        var reading = SettingReading(key, from: origin, folder: "")
        reading.refuse(YAMLElement(line: entry.line, .refused), "no such key: did you mean '\(nearest)'?")
        problems += reading.problems
    }

    private func names(under path: String) -> String {
        Self.children(of: path).joined(separator: ", ")
    }

    /// Whether a path is a setting or a section.
    static func isKnown(_ path: String) -> Bool {
        SettingsTable.rows.contains { $0.path == path || $0.path.hasPrefix(path + ".") }
    }

    /// The keys below a section, in the order of the table.
    static func children(of path: String) -> [String] {
        let prefix = path.isEmpty ? "" : path + "."
        var names: [String] = []
        for row in SettingsTable.rows where row.path.hasPrefix(prefix) {
            let name = String(row.path.dropFirst(prefix.count).prefix { $0 != "." })
            if !names.contains(name) { names.append(name) }
        }
        return names
    }
}

extension Substring {
    var trimmingBlanks: Substring {
        var rest = drop { $0 == " " }
        while rest.last == " " { rest.removeLast() }
        return rest
    }
}
