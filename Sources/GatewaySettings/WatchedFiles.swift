import Options
import TLS
import YAML

/// A file that a setting names, or the settings file itself.
package struct NamedFile: Hashable, Sendable {
    /// Its path in the settings, as in `auth.jwt[0].keys`; empty for the settings file.
    package let setting: String
    package let path: String

    package init(setting: String = "", path: String) {
        self.setting = setting
        self.path = path
    }
}

extension SettingValues<SettingsTable> {
    /// The files that the settings name and that we read, in the order of the table: a handful, and two for each issuer.
    package var files: [NamedFile] { SettingsTable.declarations.flatMap { $0.setting.files(in: held) } }
}

/// The contents of a file, to detect changes. It compares contents, so a link to another file counts as a change.
package enum FileMark: Hashable, Sendable {
    /// The SHA-256 of all of it.
    case holds([UInt8])
    /// It cannot be read, and why.
    case unreadable(String)
    /// A pipe, a terminal or a device: reading it consumes its contents, so it is read once, at the start.
    case unwatched

    /// No file of the gateway is larger.
    package static let maximumBytes = 1 << 20

    /// Reads the file. Blocks until it has.
    package init(of path: String) {
        guard BoundedFile.isRegular(path) ?? true else {
            self = .unwatched
            return
        }
        do throws(BoundedFile.Unreadable) {
            self.init(holding: try BoundedFile.read(path, maximumBytes: Self.maximumBytes))
        } catch {
            self = .unreadable(error.reason)
        }
    }

    init(holding bytes: [UInt8]) { self = .holds(Digest.sha256(bytes)) }
}

/// The contents of all files of the settings, at one moment.
package typealias FileMarks = [NamedFile: FileMark]

extension FileMarks {
    package init(of files: some Sequence<NamedFile>) {
        self.init(files.map { ($0, FileMark(of: $0.path)) }) { $1 }
    }
}
