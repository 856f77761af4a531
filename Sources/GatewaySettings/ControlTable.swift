import Options

/// The section `control`.
package struct ControlTable: SettingTable {
    /// Nil: nothing is revoked from outside.
    package let topic = Setting(
        "control.topic", .topicOrNone, default: "''",
        """
        A topic of its own, on the same brokers, by which tokens are revoked on every node: see livegate revoke. '' is none. \
        It is read back by retention before the node is ready, and is not to be compacted.
        """)
    package let retention = Setting(
        "control.retention", .duration(milliseconds: 1_000...31_536_000_000), default: "24h",
        """
        For how long a revocation counts. Longer than any token lives; a fixed token is refused for as long. The topic itself \
        has to keep its records at least so long (retention.ms).
        """)

    package init() {}
}

extension SettingsDraft {
    /// The topic is read apart from events, and what lives longer than a revocation comes back.
    mutating func checkControl() {
        let (topics, path) = (SettingsTable.path(of: \.kafka.topics), SettingsTable.path(of: \.control.topic))
        guard let topic = settings.control.topic, isSound(path) else { return }
        if isSound(topics), settings.kafka.topics.contains(topic) {
            report(path, "'\(topic)' stands in \(topics) too: the control topic is one of its own, without events")
        }
        checkControlRetention()
    }

    /// How long a JWT lives, its issuer alone decides. These we know.
    private mutating func checkControlRetention() {
        let retention = SettingsTable.path(of: \.control.retention)
        guard isSound(retention), isSound("auth") else { return }
        let length = settings.control.retention
        func text(_ duration: Duration) -> String {
            Quantity.text(milliseconds: Int64(duration / .milliseconds(1)))
        }
        let cache = settings.auth.introspection.cache
        if settings.auth.introspection.url != nil, cache > length {
            report(
                retention,
                """
                must be longer than any token lives: with \(SettingsTable.path(of: \.auth.introspection.cache)) they live \
                \(text(cache)), and a revocation counts for \(text(length))
                """, isWarning: true)
        }
        if settings.auth.tokens != nil {
            report(
                SettingsTable.path(of: \.auth.tokens),
                """
                holds tokens without an end: one that was revoked is let in again after \(text(length)), unless it was taken \
                out of the file
                """, isWarning: true)
        }
    }
}
