import Options

/// The variables `LIVEGATE_…`.
package struct SettingsEnvironment: Sendable {
    let variables: [(name: String, value: String)]

    /// Whether the program's memory may be dumped, and read by other programs of its user. It is not a setting, since it applies
    /// before any setting is read.
    package static let dumpsVariable = SettingsTable.variablePrefix + "ALLOW_DUMPS"

    /// Only if the value of the variable is exactly this.
    package var allowsDumps: Bool { value(Self.dumpsVariable) == "true" }

    package init(_ variables: [(name: String, value: String)]) {
        self.variables = variables.filter { $0.name.hasPrefix(SettingsTable.variablePrefix) }
    }

    package static func ofProcess() -> SettingsEnvironment {
        SettingsEnvironment(ProcessEnvironment.variables)
    }

    /// The settings in the variables, the more specific ones first: `LIVEGATE_TLS_KEY` overrides `LIVEGATE_TLS`.
    var layers: [SettingsLayer] {
        let settings = SettingsTable.rows.compactMap { row in
            value(row.variable).map {
                SettingsLayer(variable: row.variable, $0, path: row.path, shape: row.shape)
            }
        }
        let sections = Self.sections.compactMap { path in
            let name = SettingsTable.variable(path)
            return value(name).map { SettingsLayer(variable: name, $0, path: path, shape: .structured) }
        }
        return settings + sections
    }

    /// Single properties of librdkafka: `LIVEGATE_KAFKA_SETTINGS_SASL_PASSWORD` is `sasl.password`.
    var kafkaProperties: [(name: String, variable: String, value: String)] {
        variables.compactMap { variable in
            let table = SettingsTable().kafka
            let prefix = table.settings.row.variable + "_"
            guard variable.name.hasPrefix(prefix), variable.name.count > prefix.count,
                variable.name != table.settingsFiles.row.variable
            else { return nil }
            let name = variable.name.dropFirst(prefix.count).lowercased().replacing("_", with: ".")
            return (name, variable.name, variable.value)
        }
    }

    /// Variables that mean nothing, as warnings.
    var warnings: [SettingsProblem] {
        let known = SettingsTable.rows.map(\.variable) + Self.sections.map(SettingsTable.variable)
        let properties = Set(kafkaProperties.map(\.variable))
        return variables.filter { !known.contains($0.name) && !properties.contains($0.name) }.compactMap { variable in
            if variable.name == Self.dumpsVariable {
                guard variable.value != "true", variable.value != "false" else { return nil }
                return SettingsProblem(
                    SettingsLocation(.variable(variable.name)), key: "",
                    "is neither true nor false: memory is neither dumped nor read by others", isWarning: true)
            }
            let nearest = NearestName.nearest(to: variable.name, among: known) ?? ""
            return SettingsProblem(
                SettingsLocation(.variable(variable.name)), key: "", "means nothing: did you mean \(nearest)?",
                isWarning: true)
        }
    }

    private func value(_ name: String) -> String? {
        // The first of two variables with one name counts, as in the C library.
        variables.first { $0.name == name }?.value
    }

    /// `auth.tickets`, `tls`, `kafka` and so on, inner ones before those that they are in.
    private static let sections: [String] = {
        var sections: [String] = []
        for row in SettingsTable.rows {
            var parts = row.path.split(separator: ".")
            while parts.popLast() != nil, !parts.isEmpty {
                let section = parts.joined(separator: ".")
                if !sections.contains(section) { sections.append(section) }
            }
        }
        return sections.sorted { $0.count(where: { $0 == "." }) > $1.count(where: { $0 == "." }) }
    }()
}
