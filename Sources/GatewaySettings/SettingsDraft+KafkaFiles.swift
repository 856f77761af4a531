import Options

/// Properties of librdkafka whose values are in files of their own: passwords, which then are neither in the settings nor in the
/// environment.
extension SettingsDraft {
    /// Far more than a password or a key in PEM needs: what is larger is another file by mistake.
    private static let maximumPropertyFileBytes = 64 * 1024

    /// Puts what the files of `kafka.settings_files` hold among the properties. No value is shown in a problem.
    mutating func readKafkaFiles() {
        let (files, own) = (SettingsTable.path(of: \.kafka.settingsFiles), SettingsTable.path(of: \.kafka.settings))
        for entry in settings.kafka.settingsFiles {
            let key = "\(files).\(entry.name)"
            guard isSound(key) else { continue }
            guard !settings.kafka.settings.contains(where: { $0.name == entry.name }) else {
                report(key, "is in \(own) too: leave one of them out")
                continue
            }
            do throws(BoundedFile.Unreadable) {
                let bytes = try BoundedFile.readText(entry.value, maximumBytes: Self.maximumPropertyFileBytes)
                guard let value = Self.value(bytes) else {
                    report(key, "\(entry.value) holds no value: text of one line or more is expected")
                    continue
                }
                settings.kafka.settings.append(KafkaProperty(name: entry.name, value: value))
            } catch {
                report(key, "cannot read \(error.withoutPath)")
            }
        }
    }

    /// The text without the end of its last line; nil where nothing is left, or where it is no text.
    private static func value(_ bytes: [UInt8]) -> String? {
        var bytes = bytes
        if bytes.last == 0x0A { bytes.removeLast() }
        if bytes.last == 0x0D { bytes.removeLast() }
        guard !bytes.isEmpty, !bytes.contains(0) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}
