import Options
import Reactor

/// What no setting shows by itself.
struct SettingsConsistency {
    let settings: Settings
    let file: SettingsPlace

    func problems(_ resolution: inout SettingsResolution) {
        listeners(&resolution)
        certificate(&resolution)
        topics(&resolution)
        issuers(&resolution)
        retention(&resolution)
    }

    private func place(_ key: String) -> SettingsPlace {
        settings.places[key] ?? file
    }

    /// Two listeners on one address. Of two that stand in the settings the second is told.
    private func listeners(_ resolution: inout SettingsResolution) {
        guard resolution.isSound("listen"), resolution.isSound("admin") else { return }
        let listeners =
            settings.listen.enumerated().map { (key: "listen[\($0.offset)]", address: $0.element) }
            + [(key: "admin", address: settings.admin)]
        for (index, second) in listeners.enumerated() {
            guard let first = listeners[..<index].first(where: { $0.address.overlaps(second.address) }) else {
                continue
            }
            resolution.tell(
                SettingsProblem(
                    place(second.key), key: second.key,
                    "\(second.address) is the address of \(first.key), \(first.address), too: one listener is one address"
                ))
        }
    }

    private func certificate(_ resolution: inout SettingsResolution) {
        guard let tls = settings.tls, resolution.isSound("tls") else { return }
        if tls.key.isEmpty {
            resolution.tell(
                SettingsProblem(place("tls.certificate"), key: "tls.key", "is missing: a certificate needs its key"))
        }
        if tls.certificate.isEmpty {
            resolution.tell(
                SettingsProblem(place("tls.key"), key: "tls.certificate", "is missing: a key needs its certificate"))
        }
    }

    private func topics(_ resolution: inout SettingsResolution) {
        guard resolution.isSound("kafka.topics") else { return }
        for (index, topic) in settings.kafka.topics.enumerated()
        where settings.kafka.topics[..<index].contains(topic) {
            let key = "kafka.topics[\(index)]"
            resolution.tell(SettingsProblem(place(key), key: key, "'\(topic)' stands twice"))
        }
    }

    /// Keys belong to their issuer; the first of two entries would hide the second.
    private func issuers(_ resolution: inout SettingsResolution) {
        guard resolution.isSound("auth.jwt") else { return }
        for (index, entry) in settings.auth.jwt.enumerated()
        where settings.auth.jwt[..<index].contains(where: { $0.issuer.utf8.elementsEqual(entry.issuer.utf8) }) {
            let key = "auth.jwt[\(index)].issuer"
            resolution.tell(
                SettingsProblem(place(key), key: key, "'\(entry.issuer)' stands twice: put its keys into one file"))
        }
    }

    /// A cursor is served when the log reaches further back than it by the delay: with no more than that, none ever is.
    /// Told at the retention, unless the delay alone was said.
    private func retention(_ resolution: inout SettingsResolution) {
        let keys = ["history.retention", "history.max_timestamp_delay"]
        let history = settings.history
        guard history.retention <= history.maximumTimestampDelay, keys.allSatisfy({ resolution.isSound($0) }) else {
            return
        }
        let lengths = [history.retention, history.maximumTimestampDelay].map { length in
            Quantity.text(milliseconds: Int64(length / .milliseconds(1)))
        }
        let isDelayAlone = settings.places[keys[0]] == nil && settings.places[keys[1]] != nil
        let (told, other) = isDelayAlone ? (1, 0) : (0, 1)
        resolution.tell(
            SettingsProblem(
                place(keys[told]), key: keys[told],
                """
                must be \(isDelayAlone ? "shorter" : "longer") than \(keys[other]), \(lengths[other]): \
                '\(lengths[told])' is not
                """))
    }
}

extension SocketAddress {
    /// Whether two listeners could not both listen. Port 0 is a port of its own for each.
    func overlaps(_ other: SocketAddress) -> Bool {
        switch (self, other) {
        case (.unix(let path), .unix(let otherPath)): path == otherPath
        case (.unix, _), (_, .unix): false
        default:
            port == other.port && port != 0
                && (withPort(0) == other.withPort(0) || isWildcard(for: other) || other.isWildcard(for: self))
        }
    }

    /// Whether listening here takes what `other` wants. `0.0.0.0` takes all of IPv4, `[::]` all of IPv6, `:PORT` both.
    private func isWildcard(for other: SocketAddress) -> Bool {
        switch (self, other) {
        case (.any, _): true
        case (.ipv4(0, _), .ipv4), (.ipv4(0, _), .any): true
        case (.ipv6(0, 0, _, _), .ipv6), (.ipv6(0, 0, _, _), .any): true
        default: false
        }
    }
}
