import GatewaySettings
import Glibc
import Options

/// `livegate check`: what is wrong with the settings, and with the files that they name.
enum CheckCommand {
    static let table = Command(
        "check", summary: "report every problem of the settings",
        details: [
            """
            Each problem is a line on standard error: the file and the line, the key, and what would be right. The files \
            that the settings name are read, no connection is opened. Warnings are marked and change nothing.
            """
        ],
        options: [SettingsArguments.config],
        statuses: [(.success, "nothing is wrong"), (.settings, "the settings are wrong")])

    static func run(_ arguments: Arguments) -> ExitStatus {
        let (material, problems) = SettingsArguments.load(arguments).check(now: Int64(time(nil)))
        SettingsArguments.report(problems)
        return material == nil ? .settings : .success
    }
}
