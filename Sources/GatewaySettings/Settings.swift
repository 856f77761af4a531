import LiveUpdates
import Options
import YAML

/// What an operator has set, each value within its limits: `settings.limits.maximumLag`. Without arguments, `init` gives the
/// defaults.
package typealias Settings = SettingValues<SettingsTable>

/// The result of reading settings.
package struct SettingsOutcome: Sendable {
    /// The values that could be read, and all problems with them.
    private(set) var draft: SettingsDraft
    let others: [SettingsProblem]
    /// The settings file.
    package let file: NamedFile
    /// The mark of the contents that were read from it.
    package let fileMark: FileMark
    /// The settings file contains no setting.
    package let isFileEmpty: Bool

    init(_ draft: SettingsDraft, otherProblems: [SettingsProblem], _ layer: SettingsLayer, mark: FileMark) {
        self.draft = draft
        others = otherProblems
        if case .file(let path) = layer.origin { file = NamedFile(path: path) } else { file = NamedFile(path: "") }
        fileMark = mark
        isFileEmpty = layer.isWhole && layer.values.isEmpty
    }

    /// The same, with the problems that were found since.
    func with(_ draft: SettingsDraft) -> SettingsOutcome {
        var outcome = self
        outcome.draft = draft
        return outcome
    }

    /// Nil when something is wrong.
    package var settings: Settings? { isRefused ? nil : draft.settings }

    /// How records become events, from the section `events`. Nil when something is wrong with the settings.
    package var mapping: EventMapping? { isRefused ? nil : draft.mapping }

    /// All problems and warnings, in reading order: the file from its first line, variables, flags.
    package var problems: [SettingsProblem] { (draft.problems + others).inReadingOrder }

    private var isRefused: Bool { draft.problems.contains { !$0.isWarning } }
}

/// A flag of the command line that sets a setting.
package struct SettingsFlag: Sendable {
    let row: SettingRow
    let words: [String]

    /// - Parameters:
    ///   - row: a row with a flag.
    ///   - words: the flag's values in their order; for a setting that is a list each of them can hold several by comma.
    package init(_ row: SettingRow, words: [String]) {
        self.row = row
        self.words = words
    }

    var layer: SettingsLayer? {
        guard let flag = row.flag, !words.isEmpty else { return nil }
        let isList = row.shape == .list
        let parts = isList ? words.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) } : []
        return SettingsLayer(.flag(flag.name), row, words: isList ? parts.map { String($0.trimmingBlanks) } : words)
    }
}

extension Settings {
    /// Reads the settings. Flags override the environment, which overrides the file, which overrides the defaults.
    ///
    /// Opens the settings file and the files of `kafka.settings_files`. ``SettingsOutcome/check(now:)`` opens the others that the
    /// settings name.
    package static func load(
        file: String, environment: SettingsEnvironment = .ofProcess(), flags: [SettingsFlag] = []
    ) -> SettingsOutcome {
        let isRegular = BoundedFile.isRegular(file) ?? true
        do throws(BoundedFile.Unreadable) {
            let bytes = try BoundedFile.read(file, maximumBytes: YAMLDocument.maximumBytes)
            let mark = isRegular ? FileMark(holding: bytes) : .unwatched
            return load(SettingsLayer(file: file, bytes), file: file, mark, environment, flags)
        } catch {
            let layer = SettingsLayer(file: file, unreadable: error.reason)
            return load(layer, file: file, .unreadable(error.reason), environment, flags)
        }
    }

    /// Reads settings whose file is in memory. `file` is its name, for problems and relative paths.
    package static func load(
        text: [UInt8], file: String, environment: SettingsEnvironment = SettingsEnvironment([]),
        flags: [SettingsFlag] = []
    ) -> SettingsOutcome {
        load(SettingsLayer(file: file, text), file: file, FileMark(holding: text), environment, flags)
    }

    private static func load(
        _ layer: SettingsLayer, file: String, _ mark: FileMark, _ environment: SettingsEnvironment,
        _ flags: [SettingsFlag]
    ) -> SettingsOutcome {
        var resolution = SettingsResolution(
            flags.compactMap(\.layer) + environment.layers + [layer], folder: folder(of: file))
        var settings = Settings()
        let properties = SettingsTable().kafka.settings
        for (_, setting) in SettingsTable.declarations where setting.row.path != properties.row.path {
            setting.read(from: &resolution, into: &settings.held)
        }
        settings.kafka.settings = kafkaProperties(properties, &resolution, environment)
        var draft = SettingsDraft(
            resolution, settings: settings, file: SettingsLocation(.file(file)), isWhole: layer.isWhole)
        draft.readKafkaFiles()
        draft.compileMapping()
        draft.checkConsistency()
        return SettingsOutcome(draft, otherProblems: environment.warnings, layer, mark: mark)
    }

    /// The map, overridden by single variables: they hide an entry of the same name, even an invalid one.
    private static func kafkaProperties(
        _ setting: Setting<[KafkaProperty]>, _ resolution: inout SettingsResolution,
        _ environment: SettingsEnvironment
    ) -> [KafkaProperty] {
        let single = environment.kafkaProperties
        var properties = resolution.value(setting) { element in
            guard case .map(let entries) = element.content else { return element }
            let others = entries.filter { entry in !single.contains { $0.name == entry.key } }
            return YAMLElement(line: element.line, .map(others))
        }
        for property in single {
            let text = YAMLElement(line: 1, .text(property.value, .untyped))
            let map = YAMLElement(line: 1, .map([YAMLEntry(key: property.name, line: 1, value: text)]))
            properties +=
                resolution.part(setting.row.path, .variable(property.variable), map, setting.kind.read) ?? []
        }
        return properties
    }

    /// With a slash at its end; empty for the process's own.
    private static func folder(of file: String) -> String {
        file.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(file[...$0]) } ?? ""
    }
}
