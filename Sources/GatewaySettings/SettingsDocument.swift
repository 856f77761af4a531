import LiveUpdates
import Options

/// The settings as a document for people: what `livegate config` prints.
package enum SettingsDocument {
    private static let columns = 100

    /// All settings with their defaults and explanations. `check` accepts the text.
    package static var text: String {
        var text = comment("The settings of livegate, each with the value that it has when it is left out.", indent: "")
        text += comment(
            """
            Sizes are bytes, or have KiB, MiB or GiB; durations are a whole number and ms, s, m, h or d. Relative paths are \
            relative to this file.
            """, indent: "")
        text += comment(
            """
            Every key is also a variable, which goes over this file: limits.max_headers is LIVEGATE_LIMITS_MAX_HEADERS; \
            lists by comma, maps and auth.jwt as YAML in one line.
            """, indent: "")
        let atOnce = SettingsLayer.children(of: "").flatMap { name in
            let section = SettingsTable.effects.filter { $0.setting.row.path.hasPrefix("\(name).") }
            let found = section.filter { $0.effect == .atOnce }
            return found.count == section.count && !found.isEmpty ? [name] : found.map(\.setting.row.path)
        }
        text += comment(
            """
            A running gateway reads this file again at SIGHUP, and by itself when it has changed: changes of \
            \(atOnce.joined(separator: ", ")) apply at once, the rest after a restart.
            """, indent: "")
        var current: [Substring] = []
        for row in SettingsTable.rows {
            let parts = row.path.split(separator: ".")
            let sections = Array(parts.dropLast())
            if sections.isEmpty || sections.first != current.first { text += "\n" }
            for depth in zip(current, sections).prefix(while: { $0 == $1 }).count..<sections.count {
                text += String(repeating: "  ", count: depth) + "\(sections[depth]):\n"
            }
            current = sections
            let indent = String(repeating: "  ", count: sections.count)
            text += comment(row.explanation, indent: indent)
            if row.path == SettingsTable.path(of: \.auth.jwt) { text += issuerComment(indent: indent) }
            if row.path == SettingsTable.path(of: \.events.preset) { text += sampleComment(indent: indent) }
            text += "\(indent)\(parts[parts.count - 1]): \(row.defaultText)\n"
        }
        return text
    }

    private static func issuerComment(indent: String) -> String {
        var text = comment("An entry has:", indent: indent)
        for row in SettingsTable.issuerRows {
            text += comment("- \(row.path): \(row.explanation)", indent: indent, hanging: "  ")
        }
        text += comment("For example:", indent: indent)
        for line in [
            "jwt:", "  - issuer: https://id.example.com/", "    audience: livegate", "    algorithms: [ES256]",
            "    keys: keys.json", "    account_claim: account_id",
        ] {
            text += "\(indent)#   \(line)\n"
        }
        return text
    }

    private static func sampleComment(indent: String) -> String {
        Preset.allCases.reduce(comment("A record of each, as short as it may be:", indent: indent)) { text, preset in
            let sample = preset.sample
            let head = ["- \(preset.rawValue)", sample.surroundings].filter { !$0.isEmpty }.joined(separator: ": ")
            return text
                + comment(
                    "\(head)\(sample.surroundings.isEmpty ? ": " : ", ")value \(sample.value)", indent: indent,
                    hanging: "  ")
        }
    }

    private static func comment(_ sentences: String, indent: String, hanging: String = "") -> String {
        var lines: [String] = []
        var line = ""
        for word in sentences.split(separator: " ") {
            if !line.isEmpty, indent.count + 2 + line.count + 1 + word.count > columns {
                lines.append(line)
                line = hanging
            }
            line += (line.isEmpty || line == hanging ? "" : " ") + word
        }
        lines.append(line)
        return lines.map { "\(indent)# \($0)\n" }.joined()
    }
}
