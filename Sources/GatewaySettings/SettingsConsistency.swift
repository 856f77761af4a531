import Options
import Reactor

extension SettingsDraft {
    /// Finds problems that one setting alone does not show.
    mutating func checkConsistency() {
        checkCertificate()
        checkTopics()
        checkIssuers()
        checkBalancer()
        checkControl()
        checkArchive()
        // These also check settings that have their default.
        guard isWhole else { return }
        checkListeners()
        checkAdministration()
        checkRetention()
        checkCookie()
        checkTickets()
        checkMessages()
    }

    /// Finds two listeners on one address. If both are in the settings, the second is reported.
    private mutating func checkListeners() {
        let (listen, admin) = (SettingsTable.path(of: \.listen), SettingsTable.path(of: \.admin))
        guard isSound(listen), isSound(admin) else { return }
        let listeners =
            settings.listen.enumerated().map { (key: "\(listen)[\($0.offset)]", address: $0.element) }
            + [(key: admin, address: settings.admin)]
        for (index, second) in listeners.enumerated() {
            guard let first = listeners[..<index].first(where: { $0.address.overlaps(second.address) }) else {
                continue
            }
            report(
                second.key,
                "\(second.address) is the address of \(first.key), \(first.address), too: one listener is one address")
        }
    }

    /// A client of the administration can close connections. Without a token, only this machine may reach it.
    private mutating func checkAdministration() {
        let (admin, token) = (SettingsTable.path(of: \.admin), SettingsTable.path(of: \.adminTokenFile))
        guard isSound(admin), isSound(token), settings.adminTokenFile == nil, !settings.admin.isOfThisMachine else {
            return
        }
        report(
            admin,
            "\(settings.admin) can be reached from other machines: set \(token), or an address on loopback or a Unix socket"
        )
    }

    private mutating func checkCertificate() {
        let (certificate, key) = (SettingsTable.path(of: \.tls.certificate), SettingsTable.path(of: \.tls.key))
        guard isWhole, isSound(certificate), isSound(key) else { return }
        if settings.tls.certificate != nil, settings.tls.key == nil {
            report(key, "is missing: a certificate needs its key", at: location(certificate))
        }
        if settings.tls.key != nil, settings.tls.certificate == nil {
            report(certificate, "is missing: a key needs its certificate", at: location(key))
        }
    }

    private mutating func checkTopics() {
        let path = SettingsTable.path(of: \.kafka.topics)
        guard isSound(path) else { return }
        let topics = settings.kafka.topics
        for (index, topic) in topics.enumerated() where topics[..<index].contains(topic) {
            report("\(path)[\(index)]", "duplicate topic '\(topic)'")
        }
    }

    /// Keys belong to their issuer. The first of two entries would hide the second.
    private mutating func checkIssuers() {
        let entries = settings.auth.jwt.filter { !$0.issuer.isEmpty }
        for (index, entry) in entries.enumerated()
        where entries[..<index].contains(where: { $0.issuer.utf8.elementsEqual(entry.issuer.utf8) }) {
            report(entry.path(of: \.issuer), "duplicate issuer '\(entry.issuer)': put its keys into one file")
        }
    }

    /// Browsers add a cookie to the requests of any page. Only the origin shows which page it was.
    private mutating func checkCookie() {
        let (cookie, origins) = (SettingsTable.path(of: \.auth.cookie), SettingsTable.path(of: \.auth.origins))
        guard settings.auth.cookie != nil, settings.auth.origins.isEmpty, isSound(origins) else { return }
        report(cookie, "needs \(origins): without it any page could connect with its visitors' cookies")
    }

    /// An operator who sets the lifetime of tickets wants tickets. An explicitly empty `secret_file` turns them off.
    private mutating func checkTickets() {
        let (file, lifetime) = (
            SettingsTable.path(of: \.auth.tickets.secretFile), SettingsTable.path(of: \.auth.tickets.lifetime)
        )
        guard locations[lifetime] != nil, locations[file] == nil, isSound("auth.tickets") else { return }
        report(lifetime, "is of no use without \(file), which names the file with the secret: there are no tickets")
    }

    /// A client that sends the longest permitted message would be closed for it.
    private mutating func checkMessages() {
        let (message, rate) = (
            SettingsTable.path(of: \.limits.maximumMessageBytes),
            SettingsTable.path(of: \.limits.maximumInboundBytesPerSecond)
        )
        let limits = settings.limits
        guard limits.maximumMessageBytes > limits.maximumInboundBytesPerSecond, isSound(message), isSound(rate) else {
            return
        }
        let isRateAlone = locations[message] == nil && locations[rate] != nil
        let bytes = (
            Quantity.text(bytes: limits.maximumMessageBytes), Quantity.text(bytes: limits.maximumInboundBytesPerSecond)
        )
        report(
            isRateAlone ? rate : message,
            """
            max_message_bytes \(bytes.0) is over max_inbound_bytes_per_second \(bytes.1): a client that sends a message that \
            long is closed with 4429. Lower the first, or raise the second
            """, isWarning: true)
    }

    /// A cursor is served when the log reaches further back than the cursor by the delay. If the retention is not longer than the
    /// delay, no cursor is ever served. The problem is reported at the retention, unless only the delay was set.
    private mutating func checkRetention() {
        let retention = (
            key: SettingsTable.path(of: \.history.retention), value: settings.history.retention, word: "longer"
        )
        let delay = (
            key: SettingsTable.path(of: \.history.maximumTimestampDelay),
            value: settings.history.maximumTimestampDelay, word: "shorter"
        )
        guard retention.value <= delay.value, isSound(retention.key), isSound(delay.key) else { return }
        let isDelayAlone = locations[retention.key] == nil && locations[delay.key] != nil
        let (wrong, other) = isDelayAlone ? (delay, retention) : (retention, delay)
        func text(_ duration: Duration) -> String {
            Quantity.text(milliseconds: Int64(duration / .milliseconds(1)))
        }
        report(
            wrong.key, "must be \(wrong.word) than \(other.key), \(text(other.value)): '\(text(wrong.value))' is not")
    }
}

extension SocketAddress {
    /// Whether only this machine can reach it: 127.0.0.0/8, ::1, or a Unix socket.
    var isOfThisMachine: Bool {
        switch self {
        case .ipv4(let address, _): address >> 24 == 127
        case .ipv6(let high, let low, _, _): high == 0 && low == 1
        case .any: false
        case .unix: true
        }
    }

    /// Whether the two addresses exclude each other. Port 0 is a separate port for each listener.
    func overlaps(_ other: SocketAddress) -> Bool {
        switch (self, other) {
        case (.unix(let path), .unix(let otherPath)): path == otherPath
        case (.unix, _), (_, .unix): false
        default:
            port == other.port && port != 0
                && (withPort(0) == other.withPort(0) || isWildcard(for: other) || other.isWildcard(for: self))
        }
    }

    /// Whether a listener here occupies the address `other`. `0.0.0.0` occupies all of IPv4, `[::]` all of IPv6, `:PORT` both.
    private func isWildcard(for other: SocketAddress) -> Bool {
        switch (self, other) {
        case (.any, _): true
        case (.ipv4(0, _), .ipv4), (.ipv4(0, _), .any): true
        case (.ipv6(0, 0, _, _), .ipv6), (.ipv6(0, 0, _, _), .any): true
        default: false
        }
    }
}
