/// One row of the table of settings, with the type of its value.
struct Setting<Value: Sendable>: SettingDeclaration {
    let row: SettingRow
    let kind: SettingKind<Value>

    /// - Parameters:
    ///   - path: the way to it, such as `limits.max_headers`.
    ///   - standard: what holds where nobody says anything, as YAML in one line.
    ///   - flag: the flag of `serve` that says it.
    ///   - explanation: sentences for people who run a gateway.
    init(_ path: String, _ kind: SettingKind<Value>, standard: String, flag: String? = nil, _ explanation: String) {
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
    package let path: String
    package let expected: String
    package let standard: String
    package let flag: String?
    package let explanation: String
    let shape: SettingShape

    /// `LIVEGATE_LIMITS_MAX_HEADERS`
    package var variable: String { SettingsTable.variable(path) }
}
