/// One row of the table of settings, with the type of its value.
struct Setting<Value: Sendable>: SettingDeclaration {
    let row: SettingRow
    let kind: SettingKind<Value>

    /// - Parameters:
    ///   - path: the way to it, such as `limits.max_headers`.
    ///   - standard: what holds where nobody says anything, as YAML in one line.
    ///   - flag: the flag of `serve` that says it, and what stands for its value.
    ///   - explanation: sentences for people who run a gateway.
    init(
        _ path: String, _ kind: SettingKind<Value>, standard: String, flag: SettingRow.Flag? = nil,
        _ explanation: String
    ) {
        self.kind = kind
        row = SettingRow(
            path: path, expected: kind.expected, standard: standard, flag: flag, explanation: explanation,
            shape: kind.shape)
    }
}

protocol SettingDeclaration: Sendable {
    var row: SettingRow { get }
}

/// What is said about a setting without its type.
package struct SettingRow: Sendable {
    package struct Flag: Sendable {
        /// Without its dashes.
        package let name: String
        package let placeholder: String

        init(_ name: String, _ placeholder: String) {
            self.name = name
            self.placeholder = placeholder
        }
    }

    package let path: String
    package let expected: String
    package let standard: String
    package let flag: Flag?
    package let explanation: String
    let shape: SettingShape

    /// Whether a flag for it can be given several times.
    package var isList: Bool { shape == .list }

    /// `LIVEGATE_LIMITS_MAX_HEADERS`
    package var variable: String { SettingsTable.variable(path) }
}
