import Testing

@testable import GatewaySettings

@Suite struct SettingEffectTests {
    /// The sections that operators know to count at once.
    static let sectionsAtOnce: Set<String> = ["tls", "auth", "limits", "balancer", "lifecycle", "log"]

    /// Those that do so in a section that does not.
    static let settingsAtOnce: Set<String> = ["kafka.broker_grace"]

    @Test func `each setting counts at once or after a restart, by its section`() {
        #expect(SettingsTable.effects.map(\.setting.row.path) == SettingsTable.rows.map(\.path))
        for (setting, effect) in SettingsTable.effects {
            let section = String(setting.row.path.prefix { $0 != "." })
            let isAtOnce =
                setting.row.path.contains(".") && Self.sectionsAtOnce.contains(section)
                || Self.settingsAtOnce.contains(setting.row.path)
            #expect(effect == (isAtOnce ? .atOnce : .restart), "\(setting.row.path)")
        }
    }

    /// Each row: settings before and after, and the paths that changed.
    static let rows: [(old: String, new: String, paths: [String])] = [
        ("", "", []),
        ("loops: 2", "loops: 3", ["loops"]),
        ("limits: {max_lag: 30s}", "limits: {max_lag: 30000ms}", []),
        ("limits: {max_lag: 30s}", "limits: {max_lag: 31s}", ["limits.max_lag"]),
        ("", "kafka: {broker_grace: 2m}", ["kafka.broker_grace"]),
        ("", "log: {level: debug, format: text}", ["log.level", "log.format"]),
        ("auth: {jwt: [{issuer: a, keys: k}]}", "auth: {jwt: [{issuer: a, keys: k}]}", []),
        ("auth: {jwt: [{issuer: a, keys: k}]}", "auth: {jwt: [{issuer: a, keys: l}]}", ["auth.jwt"]),
        ("kafka: {settings: {a: b}}", "kafka: {settings: {a: c}}", ["kafka.settings"]),
    ]

    @Test(arguments: rows.indices) func `what changed is found by its value`(row: Int) {
        let (old, new, paths) = Self.rows[row]
        let changes = load(new).draft.settings.changes(from: load(old).draft.settings)
        #expect(changes.map(\.path) == paths)
    }

    @Test func `a gateway that runs takes what counts at once, and keeps the rest`() {
        let old = load("loops: 2\nhistory: {retention: 2h}\nlimits: {max_lag: 2s}\nauth: {anonymous: A}").draft.settings
        let new = load("loops: 3\nhistory: {retention: 3h}\nlimits: {max_lag: 3s}").draft.settings
        let settings = old.adopting(new)
        #expect(settings.loops == 2 && settings.history.retention == .seconds(7200))
        #expect(settings.limits.maximumLag == .seconds(3) && settings.auth.anonymous == nil)
        #expect(settings.changes(from: new).map(\.path) == ["loops", "history.retention"])
    }
}
