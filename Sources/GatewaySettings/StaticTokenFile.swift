import LiveUpdates
import Options
import TLS
import Tokens
import YAML

/// The file of `auth.tokens`: a YAML list of `{sha256: HEX, account: PACC1, subject: dev}`.
enum StaticTokenFile {
    /// Enough for the maximum of tokens with the longest accounts.
    private static let maximumBytes = 1 << 20
    private static let key = SettingsTable.path(of: \.auth.tokens)
    private static let names = ["sha256", "account", "subject"]

    /// The tokens of a file, and its problems. A problem without a line concerns the file as a whole.
    static func load(_ path: String) -> (tokens: StaticTokens, problems: [SettingsProblem]) {
        do throws(BoundedFile.Unreadable) {
            return read(try BoundedFile.read(path, maximumBytes: maximumBytes), path: path)
        } catch {
            let location = SettingsLocation(.otherFile(path))
            return (StaticTokens(), [SettingsProblem(location, key: key, "cannot read \(error.withoutPath)")])
        }
    }

    static func read(_ bytes: [UInt8], path: String) -> (tokens: StaticTokens, problems: [SettingsProblem]) {
        let origin = SettingsOrigin.otherFile(path)
        let (root, broken) = YAMLDocument.read(bytes)
        guard broken.isEmpty else {
            let problems = broken.map {
                SettingsProblem(
                    SettingsLocation(origin, line: $0.line), key: key + ($0.key.hasPrefix("[") ? $0.key : ""),
                    $0.text)
            }
            return (StaticTokens(), problems)
        }
        guard let root else {
            // As a file is that is about to be written.
            let text = "is empty: a file without tokens holds []"
            return (StaticTokens(), [SettingsProblem(SettingsLocation(origin), key: key, text)])
        }
        var reading = SettingReading(key, from: origin, folder: "")
        let elements = reading.list(root, expected: "a list of tokens, [{sha256: HEX, account: PACC1}]") ?? []
        var entries: [StaticTokens.Entry] = []
        if elements.count > StaticTokens.maximumTokens {
            reading.refuse(root, "\(elements.count) tokens, over the limit of \(StaticTokens.maximumTokens)")
        }
        for (index, element) in elements.prefix(StaticTokens.maximumTokens).enumerated() {
            let entry = reading.part("[\(index)]", element) { element, reading in Self.entry(element, &reading) }
            guard let entry else { continue }
            if entries.contains(where: { $0.digest == entry.digest }) {
                reading.refuse(element, "a duplicate token: each token has one account")
            }
            entries.append(entry)
        }
        return (StaticTokens(entries), reading.problems)
    }

    private static func entry(_ element: YAMLElement, _ reading: inout SettingReading) -> StaticTokens.Entry? {
        guard let entries = reading.map(element, expected: "a map with sha256 and account") else { return nil }
        for entry in entries where !names.contains(entry.key) {
            reading.refuse(
                YAMLElement(line: entry.line, .refused), "no such key: sha256, account and subject are expected")
        }
        func text(_ name: String, _ expected: String, _ reading: inout SettingReading) -> String? {
            guard let entry = entries.first(where: { $0.key == name }) else { return nil }
            return reading.part(".\(name)", entry.value) { element, reading in
                reading.scalar(element, expected: expected)
            }
        }
        let account = text("account", "an account", &reading)
        let subject = text("subject", "a text", &reading)
        guard let digits = text("sha256", "64 hexadecimal digits", &reading) else {
            reading.refuse(element, "lacks sha256: the SHA-256 of the token in hexadecimal is expected")
            return nil
        }
        // The value is not shown: somebody may have put the token itself there.
        guard let digest = Hexadecimal.decode(digits), digest.count == StaticTokens.digestBytes else {
            reading.refuse(element, "sha256 is not 64 hexadecimal digits: try printf %s TOKEN | sha256sum")
            return nil
        }
        guard let account, TokenClaims.isPlain(Array(account.utf8), maximumBytes: Account.maximumBytes) else {
            reading.refuse(element, "lacks an account of 1 to \(Account.maximumBytes) bytes without control characters")
            return nil
        }
        if let subject, !TokenClaims.isPlain(Array(subject.utf8), maximumBytes: TokenClaims.maximumSubjectBytes) {
            let limit = TokenClaims.maximumSubjectBytes
            reading.refuse(element, "has a subject that is not 1 to \(limit) bytes without control characters")
            return nil
        }
        return StaticTokens.Entry(digest: digest, account: Account(account), subject: subject)
    }
}
