import GatewaySettings
import Glibc
import Options

/// `livegate check`: what is wrong with the settings, before anybody runs with them.
enum CheckCommand {
    static let table = Command(
        "check", summary: "tell every problem of the settings",
        details: [
            """
            Each problem is a line on standard error: the file and the line, the key, and what would be right. The files \
            that the settings name are read, no connection is opened. Warnings are marked and change nothing.
            """
        ],
        options: [SettingsArguments.config],
        statuses: [(.success, "nothing is wrong"), (.settings, "the settings are wrong")])

    static func run(_ arguments: Arguments) -> ExitStatus {
        let outcome = SettingsArguments.load(arguments)
        var problems = outcome.problems
        var isRefused = outcome.settings == nil
        if let settings = outcome.settings {
            let file = arguments.required(SettingsArguments.config)
            let check = SettingsCheck.run(settings, file: file, now: Int64(time(nil)))
            problems += check.problems
            isRefused = check.material == nil
        }
        SettingsArguments.tell(problems)
        return isRefused ? .settings : .success
    }
}
