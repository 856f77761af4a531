import Foundation
import GatewaySettings
import TestTokens

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

/// A folder with files that ends with its test.
final class SettingsFolder {
    let path = NSTemporaryDirectory() + "livegate-" + UUID().uuidString + "/"

    init(_ files: [String: String]) throws {
        // Nobody else's, as a folder with keys should be.
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        for (name, text) in files { try text.write(toFile: path + name, atomically: false, encoding: .utf8) }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// What comes of settings that stand in this folder.
    func check(_ text: String) throws -> (material: SettingsMaterial?, lines: [String]) {
        let check = Settings.load(text: Array(text.utf8), file: path + "gate.yaml").check(now: TokenForge.now)
        return (check.material, check.problems.map { "\($0)".replacing(path, with: "") })
    }
}
