import GatewaySettings

/// Settings out of a text, as if it were the file `gate.yaml` in `/etc/livegate`.
func load(_ text: String, _ variables: [(String, String)] = [], _ flags: [(String, [String])] = []) -> SettingsOutcome {
    Settings.load(
        text: Array(text.utf8), file: "/etc/livegate/gate.yaml",
        environment: SettingsEnvironment(variables.map { (name: $0.0, value: $0.1) }),
        flags: flags.compactMap { flag in
            SettingsTable.rows.first { $0.flag?.name == flag.0 }.map { SettingsFlag($0, words: flag.1) }
        })
}

extension SettingsOutcome {
    /// The lines that an operator sees, without the file's folder.
    var lines: [String] { problems.map { "\($0)".replacing("/etc/livegate/", with: "") } }
}
