import Options

/// The reading of one setting: where it stands, and what was wrong with it.
struct SettingReading {
    let origin: SettingsOrigin
    /// Relative paths start here; it ends with a slash, or is empty for the process's own folder.
    let folder: String
    /// The way to the part that is being read.
    private(set) var key: String
    private(set) var problems: [SettingsProblem] = []
    /// Where each part stands, for what is found out later.
    private(set) var places: [String: SettingsPlace] = [:]

    init(_ key: String, from origin: SettingsOrigin, folder: String) {
        self.key = key
        self.origin = origin
        self.folder = folder
    }

    /// Only files have lines; a variable or a flag is one.
    func place(_ node: YAMLNode) -> SettingsPlace {
        switch origin {
        case .file, .otherFile: SettingsPlace(origin, line: node.line)
        case .variable, .flag: SettingsPlace(origin)
        }
    }

    mutating func refuse(_ node: YAMLNode, _ text: String) {
        problems.append(SettingsProblem(place(node), key: key, text))
    }

    /// Reads a part: `suffix` is `[2]` or `.name`.
    mutating func part<Value>(
        _ suffix: String, _ node: YAMLNode, _ read: (YAMLNode, inout SettingReading) -> Value?
    ) -> Value? {
        let before = key
        key += suffix
        defer { key = before }
        places[key] = place(node)
        return read(node, &self)
    }

    /// A scalar as it stands, whatever its type. Nil and a problem for anything else.
    mutating func scalar(_ node: YAMLNode, expected: String) -> String? {
        switch node.content {
        case .text(let text, .plain) where YAMLNode.plainKind(text) == .null:
            refuse(node, "has no value: \(expected) is expected")
        case .text(let text, _): return text
        case .list: refuse(node, "is a list: \(expected) is expected")
        case .map: refuse(node, "is a map: \(expected) is expected")
        case .refused: break
        }
        return nil
    }

    /// A text. A bare number or truth value is none: whoever writes `no` or `1.10` may mean something else than they get.
    mutating func text(_ node: YAMLNode, expected: String) -> String? {
        guard let text = scalar(node, expected: expected) else { return nil }
        guard case .text(_, .plain) = node.content else { return text }
        switch YAMLNode.plainKind(text) {
        case .text, .null: return text
        case .number, .boolean:
            refuse(node, "'\(text)' is not text: put it into quotes")
            return nil
        }
    }

    mutating func list(_ node: YAMLNode, expected: String) -> [YAMLNode]? {
        switch node.content {
        case .list(let nodes): return nodes
        case .map: refuse(node, "is a map: \(expected) is expected")
        case .text(let text, .plain) where YAMLNode.plainKind(text) == .null:
            refuse(node, "has no value: \(expected) is expected")
        case .text: refuse(node, "is not a list: \(expected) is expected")
        case .refused: break
        }
        return nil
    }

    mutating func map(_ node: YAMLNode, expected: String) -> [YAMLEntry]? {
        switch node.content {
        case .map(let entries): return entries
        case .list: refuse(node, "is a list: \(expected) is expected")
        case .text(let text, .plain) where YAMLNode.plainKind(text) == .null:
            refuse(node, "has no value: \(expected) is expected")
        case .text: refuse(node, "is not a map: \(expected) is expected")
        case .refused: break
        }
        return nil
    }
}
