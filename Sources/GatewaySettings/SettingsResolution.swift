import YAML

/// Finds for each setting the highest source that says it. What lower ones say is not even looked at.
struct SettingsResolution {
    /// The highest first.
    private let layers: [SettingsLayer]
    /// Where relative paths start that do not come from flags.
    private let folder: String
    private(set) var problems: [SettingsProblem]
    private(set) var places: [String: SettingsPlace] = [:]

    init(_ layers: [SettingsLayer], folder: String) {
        self.layers = layers
        self.folder = folder
        problems = layers.flatMap(\.problems)
    }

    /// The value that counts; the standard one when nobody says any, or a bad one.
    mutating func value<Value>(_ setting: Setting<Value>) -> Value {
        value(setting) { $0 }
    }

    /// - Parameter adjust: changes the element before it is read.
    mutating func value<Value>(_ setting: Setting<Value>, adjust: (YAMLElement) -> YAMLElement) -> Value {
        let path = setting.row.path
        for layer in layers {
            guard let element = layer.values[path] else { continue }
            var reading = SettingReading(path, from: layer.origin, folder: folder(of: layer.origin))
            let value = reading.part("", adjust(element), setting.kind.read)
            problems += reading.problems
            places.merge(reading.places) { $1 }
            if let value { return value }
            break
        }
        return setting.standardValue
    }

    /// Reads one part of a setting from another place than the rest of it.
    mutating func part<Value>(
        _ key: String, _ origin: SettingsOrigin, _ element: YAMLElement,
        _ read: (YAMLElement, inout SettingReading) -> Value?
    ) -> Value? {
        var reading = SettingReading(key, from: origin, folder: folder(of: origin))
        let value = reading.part("", element, read)
        problems += reading.problems
        places.merge(reading.places) { $1 }
        return value
    }

    mutating func tell(_ problem: SettingsProblem) {
        problems.append(problem)
    }

    /// Whether nothing was wrong with a setting, a section or a part so far.
    func isSound(_ path: String) -> Bool {
        !problems.contains { problem in
            !problem.isWarning
                && (problem.key == path || problem.key.hasPrefix(path + ".") || problem.key.hasPrefix(path + "["))
        }
    }

    /// The folder of the settings file is where files and variables start; a flag was typed in the process's folder.
    private func folder(of origin: SettingsOrigin) -> String {
        if case .flag = origin { return "" }
        return folder
    }
}

extension Setting {
    /// What holds where nobody says anything.
    var standardValue: Value {
        let element = YAMLDocument.read(Array(row.standard.utf8)).root ?? YAMLElement(line: 1, .text("", .plain))
        var reading = SettingReading(row.path, from: .file(""), folder: "")
        guard let value = kind.read(element, &reading) else {
            preconditionFailure("the standard value of \(row.path) is none: \(reading.problems)")
        }
        return value
    }
}
