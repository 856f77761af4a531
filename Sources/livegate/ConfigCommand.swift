import GatewaySettings
import Options

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
