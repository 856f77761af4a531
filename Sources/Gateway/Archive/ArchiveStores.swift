import Archive
import GatewaySettings
import Options
import PostgreSQL

/// Opens the store that the settings name.
enum ArchiveStores {
    /// As `check` allows.
    private static let maximumPasswordBytes = 4_096

    /// - Parameters:
    ///   - server: the Kafka cluster whose events it holds, by its id.
    ///   - moved: called for marks that other nodes have moved, from any thread.
    static func open(
        _ setting: ArchiveStoreSetting, passwordFile: String?, server: String,
        moved: @escaping @Sendable (ReadNotice) -> Void
    ) async throws(ArchiveError) -> any ArchiveStore {
        switch setting {
        case .off: preconditionFailure("there is no archive")
        case .sqlite(let path): return try await SQLiteArchive.open(path: path, server: server)
        case .postgresql(let uri):
            let settings = PostgreSQLArchive.Settings(uri: uri, server: server) { () throws(PostgreSQLError) in
                try password(passwordFile)
            }
            return try await PostgreSQLArchive.open(settings) { message in
                moved(
                    ReadNotice(
                        account: message.account, person: message.person, thing: message.thing, upTo: message.upTo))
            }
        }
    }

    /// The file is read for each connection, so that a password may be changed while the node runs.
    static func password(_ path: String?) throws(PostgreSQLError) -> String? {
        guard let path else { return nil }
        do throws(BoundedFile.Unreadable) {
            var password = try BoundedFile.readText(path, maximumBytes: maximumPasswordBytes)
            if password.last == 0x0A { password.removeLast() }
            if password.last == 0x0D { password.removeLast() }
            return String(decoding: password, as: UTF8.self)
        } catch {
            throw PostgreSQLError(message: "archive.password_file: cannot read \(error.withoutPath)")
        }
    }
}
