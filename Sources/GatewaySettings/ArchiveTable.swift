import Options

/// Where an account's past is kept.
package enum ArchiveStoreSetting: Equatable, Sendable {
    case off
    /// A file, absolute or relative to the process's folder.
    case sqlite(path: String)
    /// A URI as libpq reads it, without a password.
    case postgresql(uri: String)
}

/// The section `archive`.
package struct ArchiveTable: SettingTable {
    package let store = Setting(
        "archive.store", .archiveStore, default: "''",
        """
        Where events are kept for GET /archive/v1 and /inbox/v1: sqlite:PATH, a file of this node alone, or \
        postgresql://USER@HOST/DATABASE, which all nodes share (a URI of libpq; the folder of a socket as host has its \
        slashes as %2F). '' is nowhere.
        """)
    package let keep = Setting(
        "archive.keep", .duration(milliseconds: 1_000...31_536_000_000), default: "90d",
        """
        How far the archive reaches back, by the time stamps of records. A new one begins with the oldest record that \
        Kafka still has within this time.
        """)
    package let passwordFile = Setting(
        "archive.password_file", .path, default: "''",
        "A file with the password for PostgreSQL, in one line. '' is none.")

    package init() {}
}

extension SettingKind where Value == ArchiveStoreSetting {
    static var archiveStore: Self {
        let expected = "sqlite:PATH, postgresql://USER@HOST/DATABASE or nothing"
        return Self(expected) { element, reading in
            guard let text = reading.text(element, expected: expected) else { return nil }
            if text.isEmpty { return .off }
            // The rest may contain a password, so the problem does not show it.
            guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
                reading.refuse(element, "holds a control character: \(expected) is expected")
                return nil
            }
            if text.hasPrefix("postgresql://") || text.hasPrefix("postgres://") {
                guard !holdsPassword(text) else {
                    reading.refuse(
                        element, "holds a password: put it into a file, and name that in archive.password_file")
                    return nil
                }
                guard namesDatabase(text) else {
                    reading.refuse(element, "names no database: postgresql://USER@HOST/DATABASE is expected")
                    return nil
                }
                return .postgresql(uri: text)
            }
            let prefix = "sqlite:"
            guard text.hasPrefix(prefix) else {
                reading.refuse(element, "is not \(expected)")
                return nil
            }
            let path = String(text.dropFirst(prefix.count))
            // SQLite treats these as special: a database in memory, a temporary one, a URI.
            guard !path.isEmpty, !path.hasPrefix(":"), !path.hasPrefix("//"), !path.hasPrefix("file:"),
                !path.hasSuffix("/")
            else {
                reading.refuse(element, "'\(text)' names no file: sqlite:PATH is expected")
                return nil
            }
            return .sqlite(path: reading.located(path))
        }
    }

    /// Whether a URI names the database, in its path or its parameters. Otherwise libpq would use the user's name for it.
    private static func namesDatabase(_ uri: String) -> Bool {
        let rest = uri.split(separator: "//", maxSplits: 1, omittingEmptySubsequences: false).last ?? ""
        let (target, parameters) = (rest.prefix { $0 != "?" }, rest.drop { $0 != "?" }.dropFirst())
        if let slash = target.firstIndex(of: "/"), target.index(after: slash) < target.endIndex { return true }
        return parameters.split(separator: "&").contains { parameter in
            ["dbname=", "service="].contains { parameter.hasPrefix($0) && parameter.count > $0.count }
        }
    }

    /// Whether a URI contains a password, before its host or among its parameters.
    private static func holdsPassword(_ uri: String) -> Bool {
        let rest = uri.split(separator: "//", maxSplits: 1).last ?? ""
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        if let at = authority.lastIndex(of: "@"), authority[..<at].contains(":") { return true }
        guard let question = rest.firstIndex(of: "?") else { return false }
        return rest[question...].dropFirst().split(separator: "&").contains { $0.hasPrefix("password=") }
    }
}

extension SettingsDraft {
    /// Checks what must fit the store, and that a recreated store does not restore erased accounts.
    mutating func checkArchive() {
        let path = SettingsTable.path(of: \.archive.store)
        guard isSound(path) else { return }
        checkArchivePassword()
        let store = settings.archive.store
        guard store != .off else { return }
        if case .sqlite = store {
            report(
                path,
                """
                is a file of this node alone: several nodes each keep their own, and people's read marks differ between \
                them. Use PostgreSQL for more than one node
                """, isWarning: true)
        }
        checkErasedArchive()
    }

    private mutating func checkArchivePassword() {
        let path = SettingsTable.path(of: \.archive.passwordFile)
        guard isSound(path), settings.archive.passwordFile != nil else { return }
        if case .postgresql = settings.archive.store { return }
        report(path, "is of no use without a PostgreSQL in \(SettingsTable.path(of: \.archive.store))")
    }

    /// A recreated store reads from Kafka what the archive keeps, so it must read the erasures again too.
    private mutating func checkErasedArchive() {
        let (path, keep) = (SettingsTable.path(of: \.control.retention), SettingsTable.path(of: \.archive.keep))
        guard settings.control.topic != nil, isSound(path), isSound(keep),
            isSound(SettingsTable.path(of: \.control.topic))
        else { return }
        let (length, needed) = (settings.control.retention, settings.archive.keep)
        guard length < needed else { return }
        func text(_ duration: Duration) -> String { Quantity.text(milliseconds: Int64(duration / .milliseconds(1))) }
        report(
            path,
            """
            must not be shorter than \(keep), \(text(needed)): a recreated archive would restore accounts that \
            were erased more than \(text(length)) ago. Without this setting it is as long as \(keep)
            """)
    }
}
