import LiveUpdates

/// Settings before they are used: the values that could be read, and all problems so far.
///
/// A default replaces each invalid value, so that the others are checked all the same. Code that reads a value must first check
/// whether it ``isSound(_:)``.
struct SettingsDraft: Sendable {
    var settings = Settings()
    /// The compiled section `events`. Nil when something in it is wrong.
    var mapping: EventMapping?
    private(set) var problems: [SettingsProblem]
    /// The location of each setting that a source sets, by its path.
    let locations: [String: SettingsLocation]
    /// The settings file.
    let file: SettingsLocation
    /// Whether the file could be read to its end. Otherwise a missing setting proves nothing.
    let isWhole: Bool

    init(_ resolution: SettingsResolution, settings: Settings, file: SettingsLocation, isWhole: Bool) {
        self.settings = settings
        self.file = file
        self.isWhole = isWhole
        problems = resolution.problems
        locations = resolution.locations
    }

    /// The location of a setting. For a setting that no source sets, the file as a whole.
    func location(_ key: String) -> SettingsLocation { locations[key] ?? file }

    /// Whether nothing is wrong with a setting, a section or a part so far.
    func isSound(_ path: String) -> Bool {
        !problems.contains { !$0.isWarning && ($0.key == path || $0.key.isInside(path)) }
    }

    /// Whether something is wrong with a section as a whole: it has no value, or is a duplicate.
    func isRefused(_ section: String) -> Bool { problems.contains { !$0.isWarning && $0.key == section } }

    /// - Parameter location: where the problem is, if it is not at the setting.
    mutating func report(_ key: String, _ text: String, at location: SettingsLocation? = nil, isWarning: Bool = false) {
        problems.append(SettingsProblem(location ?? self.location(key), key: key, text, isWarning: isWarning))
    }

    mutating func report(_ problem: SettingsProblem) { problems.append(problem) }
}

extension String {
    /// Whether a path extends another one: `kafka.topics[1]` is inside `kafka.topics`, and that is inside `kafka`.
    fileprivate func isInside(_ path: String) -> Bool {
        hasPrefix(path) && [UInt8(ascii: "."), UInt8(ascii: "[")].contains(utf8.dropFirst(path.utf8.count).first)
    }
}

// MARK: - The section events

extension SettingsDraft {
    /// Compiles the mapping. An invalid part is reported and excluded, so that the next one is found.
    mutating func compileMapping() {
        guard isSound("events") else { return }
        let events = settings.events
        var parts = EventMapping.Settings(preset: events.preset?.rawValue)
        parts.account = events.account
        parts.entity = events.entity
        parts.id = events.id
        parts.type = events.type
        parts.rename = events.rename
        parts.drop = events.drop
        parts.types = events.types
        // Each round excludes one of the eight keys.
        for _ in 0..<9 {
            do throws(MappingError) {
                let mapping = try EventMapping(parts)
                self.mapping = isSound("events") ? mapping : nil
                return
            } catch {
                report(error.key, error.text)
                parts.setAside(error.key)
            }
        }
    }
}

extension MappingError {
    /// The description without the key before it.
    fileprivate var text: String {
        let words = "\(self)"
        return words.hasPrefix(key + ": ") ? String(words.dropFirst(key.count + 2)) : words
    }
}

extension EventMapping.Settings {
    fileprivate mutating func setAside(_ key: String) {
        let harmless = ["key"]
        switch key.split(separator: ".").dropFirst().first {
        case "preset": preset = Preset.rails.rawValue
        case "account": account = harmless
        case "entity": entity = harmless
        case "id": id = harmless
        case "type": type = harmless
        case "rename": rename = []
        case "drop": drop = []
        default: types = []
        }
    }
}
