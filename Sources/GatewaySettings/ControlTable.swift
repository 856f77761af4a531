import Options

/// The section `control`.
package struct ControlTable: SettingTable {
    /// Nil: nothing is revoked from outside.
    package let topic = Setting(
        "control.topic", .topicOrNone, default: "''",
        """
        A separate topic on the same brokers, whose records revoke tokens and erase accounts on every node: see livegate \
        revoke and livegate erase. '' is none. The node reads it, back to retention, before it is ready. It must not be compacted.
        """)
    package let retention = Setting(
        "control.retention", .duration(milliseconds: 1_000...31_536_000_000), default: "24h",
        """
        How long a revocation or an erasure applies. Must be longer than any token lives; a fixed token is refused for this \
        long. The topic must keep its records at least this long (retention.ms). If not set, it is archive.keep where that is \
        longer and there is an archive.
        """)

    package init() {}
}

extension SettingsDraft {
    /// Checks that the topic is separate from events, and that nothing outlives a revocation or an erasure and returns.
    mutating func checkControl() {
        let (topics, path) = (SettingsTable.path(of: \.kafka.topics), SettingsTable.path(of: \.control.topic))
        guard let topic = settings.control.topic, isSound(path) else { return }
        followArchive()
        if isSound(topics), settings.kafka.topics.contains(topic) {
            report(path, "'\(topic)' is also in \(topics): the control topic must be a separate topic, without events")
        }
        checkControlRetention()
        checkErasures()
    }

    /// Without a configured value the retention is that of the archive, which would otherwise restore what was erased before.
    private mutating func followArchive() {
        let (path, keep) = (SettingsTable.path(of: \.control.retention), SettingsTable.path(of: \.archive.keep))
        guard locations[path] == nil, settings.archive.store != .off, isSound(keep) else { return }
        settings.control.retention = max(settings.control.retention, settings.archive.keep)
    }

    /// A starting node reads the window again, including data whose erasure is older than the topic's retention.
    private mutating func checkErasures() {
        let (path, window) = (
            SettingsTable.path(of: \.control.retention), SettingsTable.path(of: \.history.retention)
        )
        guard isSound(path), isSound(window) else { return }
        let (length, needed) = (settings.control.retention, settings.history.retention)
        guard length < needed else { return }
        report(
            path,
            """
            should be longer than \(window) (\(text(needed))): what was erased more than \(text(length)) ago is served again \
            after a start
            """, isWarning: true)
    }

    /// How long a JWT lives, its issuer alone decides. These we know.
    private mutating func checkControlRetention() {
        let retention = SettingsTable.path(of: \.control.retention)
        guard isSound(retention), isSound("auth") else { return }
        let length = settings.control.retention
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
                holds tokens that do not expire: a revoked one is accepted again after \(text(length)), unless it was removed \
                from the file
                """, isWarning: true)
        }
    }

    private func text(_ duration: Duration) -> String {
        Quantity.text(milliseconds: Int64(duration / .milliseconds(1)))
    }
}
