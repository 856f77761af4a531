/// When a changed setting takes effect in a running gateway that reads its settings again.
package enum SettingEffect: Sendable {
    /// With the reload that finds the change.
    case atOnce
    /// With the next start.
    case restart
}

extension SettingTable {
    package static var effect: SettingEffect? { nil }

    /// Its settings, and those of its tables, each with when a change of it takes effect.
    fileprivate static func effects(
        _ inherited: SettingEffect
    ) -> [(setting: any SettingDeclaration, effect: SettingEffect)] {
        let own = effect ?? inherited
        return Mirror(reflecting: Self()).children.flatMap {
            child -> [(setting: any SettingDeclaration, effect: SettingEffect)] in
            switch child.value {
            case let setting as any SettingDeclaration: [(setting, setting.effect ?? own)]
            case let table as any SettingTable: type(of: table).effects(own)
            default: preconditionFailure("\(child.label ?? "a property") of \(Self.self) is no setting")
            }
        }
    }
}

extension SettingsTable {
    /// All settings, each with when a change takes effect: after a restart, unless its section declares otherwise.
    static let effects = effects(.restart)
}

/// A setting whose value is another one than before.
package struct SettingChange: Equatable, Sendable {
    package let path: String
    package let effect: SettingEffect
}

extension SettingValues<SettingsTable> {
    /// The settings whose values differ from those of `old`, in the order of the table.
    package func changes(from old: Settings) -> [SettingChange] {
        SettingsTable.effects.compactMap { setting, effect in
            setting.isEqual(held, old.held) ? nil : SettingChange(path: setting.row.path, effect: effect)
        }
    }

    /// The settings of a running gateway after it has read `new` ones: the new values of those that take effect at once, and its
    /// own values of the others.
    package func adopting(_ new: Settings) -> Settings {
        var settings = self
        for (setting, effect) in SettingsTable.effects where effect == .atOnce {
            setting.take(from: new.held, into: &settings.held)
        }
        return settings
    }
}
