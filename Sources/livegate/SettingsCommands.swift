import Gateway
import GatewaySettings
import Glibc
import Options

/// `--config FILE`, and the settings loaded from it.
enum SettingsArguments {
    static let config = SingleOption("config", .file(), isRequired: true, help: "the settings file")

    /// A flag that sets a setting, from the settings' own table.
    struct Flag: Sendable {
        let row: SettingRow
        let option: any OptionDeclaration
        let words: @Sendable (Arguments) -> [String]

        init?(_ row: SettingRow) {
            guard let flag = row.flag else { return nil }
            self.row = row
            if row.isList {
                let option = RepeatedOption(
                    flag.name, .text(flag.placeholder), help: "instead of \(row.path) in the settings; can be repeated")
                self.option = option
                words = { $0[option] }
            } else {
                let option = SingleOption(
                    flag.name, .text(flag.placeholder), help: "instead of \(row.path) in the settings")
                self.option = option
                words = { arguments in arguments[option].map { [$0] } ?? [] }
            }
        }
    }

    static let flags: [Flag] = SettingsTable.rows.compactMap(Flag.init)

    /// The settings as the environment and the file have them.
    static func load(_ arguments: Arguments) -> SettingsOutcome { Settings.load(file: arguments.required(config)) }

    /// The flags of `serve` as they were given.
    static func flags(of arguments: Arguments) -> [SettingsFlag] {
        flags.map { SettingsFlag($0.row, words: $0.words(arguments)) }
    }

    /// Every problem, one line each on standard error.
    static func report(_ problems: [SettingsProblem]) {
        for problem in problems.inReadingOrder { StandardError.line("\(problem)") }
    }
}

/// `livegate check`: what is wrong with the settings, and with the files that they name.
enum CheckCommand {
    static let table = Command(
        "check", summary: "report every problem of the settings",
        details: [
            """
            Each problem is a line on standard error: the file and the line, the key, and what would be right. The files \
            that the settings name are read, no connection is opened. Warnings are marked and change nothing.
            """,
            """
            With --connect, all that the settings name is checked too, if they are valid: brokers, topics and the gateway's \
            rights on them, issuers, the database, and whether the ports are free, which they are not while a node runs. Each \
            is a line on standard output, [+] or [-].
            """,
        ],
        options: [SettingsArguments.config, connect],
        statuses: [(.success, "nothing is wrong"), (.settings, "the settings are wrong, or something did not answer")])

    static let connect = Flag("connect", help: "ask brokers, issuers, the database and ports too")

    static func run(_ arguments: Arguments) async -> ExitStatus {
        let (material, problems) = SettingsArguments.load(arguments).check(now: Int64(time(nil)))
        SettingsArguments.report(problems)
        guard let material else { return .settings }
        var isGood = true
        if arguments[connect] {
            await ConnectCheck(material) { line in
                StandardOutput.write("\(line)\n")
                isGood = isGood && line.isGood
            }.run()
        }
        return isGood ? .success : .settings
    }
}

/// `livegate config`: a settings file to begin with.
enum ConfigCommand {
    static let table = Command(
        "config", summary: "print the default settings with an explanation of each key",
        statuses: [(.success, "they were printed")])

    static func run(_ arguments: Arguments) -> ExitStatus {
        StandardOutput.write(SettingsDocument.text)
        return .success
    }
}
