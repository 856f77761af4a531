import Options
import Tokens

/// What came of reading the settings and all that they name, at a start or by a gateway that runs.
package struct SettingsReading: Sendable {
    /// Nil when something is wrong.
    package let material: SettingsMaterial?
    /// All that is wrong, and warnings.
    package let problems: [SettingsProblem]
    /// The static tokens, whatever else is wrong; nil where that is not known.
    package let tokens: StaticTokens?
    package let file: NamedFile
    /// What the settings file and those that it names hold. Noted before they were read: what changes meanwhile is found by
    /// the next look.
    package let marks: FileMarks
    /// The settings file says nothing at all.
    package let isFileEmpty: Bool
}

extension SettingsOutcome {
    /// Opens what the settings name, as ``check(now:)``, and notes what each file holds.
    ///
    /// - Parameter now: seconds since 1970, for certificates.
    package func reading(now: Int64) -> SettingsReading {
        var marks = FileMarks(of: draft.settings.files)
        marks[file] = fileMark
        let (material, problems, tokens) = checkWithTokens(now: now)
        return SettingsReading(
            material: material, problems: problems, tokens: tokens, file: file, marks: marks, isFileEmpty: isFileEmpty)
    }

    /// As ``reading(now:)``, in a gateway that runs. Refuses a pipe: what came through it at the start is gone, and whoever
    /// opens it may wait for ever.
    package func readingAgain(now: Int64) -> SettingsReading {
        let marks = FileMarks(of: draft.settings.files)
        guard let pipe = marks.first(where: { $0.value == .unwatched })?.key else { return reading(now: now) }
        let problem = SettingsProblem(
            draft.location(pipe.setting), key: pipe.setting, "\(pipe.path) is no regular file: it can be read once only"
        )
        return SettingsReading(
            material: nil, problems: problems + [problem], tokens: nil, file: file,
            marks: marks.merging([file: fileMark]) { $1 }, isFileEmpty: isFileEmpty)
    }

    /// Whether it is certain which static tokens there are: the settings are good, or at least name a file that is. Settings
    /// with something wrong, which may be half written, take no token away by naming no file.
    var knowsTokens: Bool {
        guard settings == nil else { return true }
        return draft.isWhole && draft.isSound(SettingsTable.path(of: \.auth.tokens)) && !draft.isRefused("auth")
            && draft.settings.auth.tokens != nil
    }
}

extension SettingValues<SettingsTable> {
    /// The static tokens that stand in their file now; nil where it cannot be read or something is wrong with it.
    package func readTokens() -> StaticTokens? {
        guard let path = self.auth.tokens else { return StaticTokens() }
        guard BoundedFile.isRegular(path) ?? false else { return nil }
        let (tokens, problems) = StaticTokenFile.load(path)
        return problems.isEmpty ? tokens : nil
    }
}
