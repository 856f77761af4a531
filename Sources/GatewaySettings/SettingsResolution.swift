import YAML

/// Finds for each setting the highest source that sets it. Values of lower sources are not even checked.
struct SettingsResolution {
    /// The highest first.
    private let layers: [SettingsLayer]
    /// The folder for relative paths that do not come from flags.
    private let folder: String
    private(set) var problems: [SettingsProblem]
    private(set) var locations: [String: SettingsLocation] = [:]

    init(_ layers: [SettingsLayer], folder: String) {
        self.layers = layers
        self.folder = folder
        problems = layers.flatMap(\.problems)
    }

    /// The value that counts. The default when no source sets one, or the value is unreadable.
    ///
    /// - Parameter adjust: changes the element before it is read.
    mutating func value<Value>(_ setting: Setting<Value>, adjust: (YAMLElement) -> YAMLElement = { $0 }) -> Value {
        let path = setting.row.path
        guard let layer = layers.first(where: { $0.values[path] != nil }), let element = layer.values[path] else {
            return setting.defaultValue
        }
        return part(path, layer.origin, adjust(element), setting.kind.read) ?? setting.defaultValue
    }

    /// Reads one part of a setting, which may come from another source than the rest of it.
    mutating func part<Value>(
        _ key: String, _ origin: SettingsOrigin, _ element: YAMLElement,
        _ read: (YAMLElement, inout SettingReading) -> Value?
    ) -> Value? {
        var reading = SettingReading(key, from: origin, folder: folder(of: origin))
        let value = reading.part("", element, read)
        problems += reading.problems
        locations.merge(reading.locations) { $1 }
        return value
    }

    /// Paths in files and variables start at the folder of the settings file. A flag was typed in the process's folder.
    private func folder(of origin: SettingsOrigin) -> String {
        if case .flag = origin { return "" }
        return folder
    }
}
