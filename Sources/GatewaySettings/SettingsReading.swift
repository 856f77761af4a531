import Options
import Tokens

/// The result of reading the settings and all files that they name, at a start or in a running gateway.
package struct SettingsReading: Sendable {
    /// Nil when something is wrong.
    package let material: SettingsMaterial?
    /// All problems and warnings.
    package let problems: [SettingsProblem]
    /// The static tokens, whatever else is wrong. Nil if they are not known.
    package let tokens: StaticTokens?
    package let file: NamedFile
    /// The marks of the settings file and of the files that it names. They are computed before the files are read, so the next
    /// check finds what changes meanwhile.
    package let marks: FileMarks
    /// The settings file contains no setting.
    package let isFileEmpty: Bool
}

extension SettingsOutcome {
    /// Opens the files that the settings name, as ``check(now:)`` does, and notes the contents of each.
    ///
    /// - Parameter now: seconds since 1970, for certificates.
    package func reading(now: Int64) -> SettingsReading {
        var marks = FileMarks(of: draft.settings.files)
        marks[file] = fileMark
        let (material, problems, tokens) = checkWithTokens(now: now)
        return SettingsReading(
            material: material, problems: problems, tokens: tokens, file: file, marks: marks, isFileEmpty: isFileEmpty)
    }

    /// As ``reading(now:)``, in a running gateway. Refuses a pipe: its contents were consumed at the start, and opening it again
    /// may wait for ever.
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

    /// Whether it is certain which static tokens there are: the settings are valid, or at least name a valid file. Wrong settings
    /// may be half written, so a missing file name in them removes no token.
    var knowsTokens: Bool {
        guard settings == nil else { return true }
        return draft.isWhole && draft.isSound(SettingsTable.path(of: \.auth.tokens)) && !draft.isRefused("auth")
            && draft.settings.auth.tokens != nil
    }
}

extension SettingValues<SettingsTable> {
    /// The static tokens that are in their file now. Nil if the file is unreadable or something in it is wrong.
    package func readTokens() -> StaticTokens? {
        guard let path = self.auth.tokens else { return StaticTokens() }
        guard BoundedFile.isRegular(path) ?? false else { return nil }
        let (tokens, problems) = StaticTokenFile.load(path)
        return problems.isEmpty ? tokens : nil
    }
}
