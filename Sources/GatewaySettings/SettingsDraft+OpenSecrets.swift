import Options

/// Warns of files with secrets that every user of this machine can read. Files that are only partly secret, such as hashes of
/// tokens, do not count.
extension SettingsDraft {
    private static let kafkaKeyFiles = ["ssl.key.location", "ssl.keystore.location"]
    /// The properties of librdkafka whose values are secrets. These values are in the settings file itself.
    private static let kafkaSecrets = [
        "sasl.password", "sasl.oauthbearer.client.secret", "ssl.key.password", "ssl.key.pem", "ssl.keystore.password",
    ]

    /// - Parameter keyFiles: files of `auth.jwt` with keys that tokens can be signed with.
    mutating func reportOpenSecrets(keyFiles: [NamedFile]) {
        let named: [(setting: String, path: String?)] = [
            (SettingsTable.path(of: \.tls.key), settings.tls.key),
            (SettingsTable.path(of: \.tls.ticketSecretFile), settings.tls.ticketSecretFile),
            (SettingsTable.path(of: \.adminTokenFile), settings.adminTokenFile),
            (SettingsTable.path(of: \.auth.tickets.secretFile), settings.auth.tickets.secretFile),
            (
                SettingsTable.path(of: \.auth.introspection.clientSecretFile),
                settings.auth.introspection.clientSecretFile
            ),
            (SettingsTable.path(of: \.archive.passwordFile), settings.archive.passwordFile),
        ]
        for (setting, path) in named + keyFiles.map({ ($0.setting, $0.path) }) {
            if let path { reportIfOpen(setting, path) }
        }
        for entry in settings.kafka.settingsFiles where Self.kafkaSecrets.contains(entry.name) {
            reportIfOpen("\(SettingsTable.path(of: \.kafka.settingsFiles)).\(entry.name)", entry.value)
        }
        let kafka = SettingsTable.path(of: \.kafka.settings)
        for property in settings.kafka.settings {
            let setting = "\(kafka).\(property.name)"
            if Self.kafkaKeyFiles.contains(property.name) { reportIfOpen(setting, property.value) }
            if Self.kafkaSecrets.contains(property.name), case .variable(let name) = locations[setting]?.origin {
                let files = SettingsTable.path(of: \.kafka.settingsFiles)
                report(
                    setting,
                    """
                    \(name) is a secret in the environment, which anyone who inspects the unit or the container can read: put it \
                    into a file, and name that in \(files)
                    """, isWarning: true)
            }
            guard Self.kafkaSecrets.contains(property.name), case .file(let path) = locations[setting]?.origin,
                BoundedFile.isOpenToAll(path)
            else { continue }
            report(setting, "this file is readable by all users of this machine: run chmod o= on it", isWarning: true)
        }
    }

    private mutating func reportIfOpen(_ setting: String, _ path: String) {
        guard isSound(setting), BoundedFile.isOpenToAll(path) else { return }
        report(setting, "\(path) is readable by all users of this machine: run chmod o= on it", isWarning: true)
    }
}
