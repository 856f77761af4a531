import Fetching
import Options
import Tokens
import YAML

/// The keys of an entry of `auth.jwt`.
package struct IssuerTable: SettingTable {
    package let issuer = Setting(
        "issuer", .text("the claim iss"), default: "''", "The claim `iss`, byte by byte. Required.")
    package let audience = Setting(
        "audience", .oneOrMore("an audience or a list of them", of: .nonEmptyText("an audience")), default: "[]",
        "One text or a list: the claim `aud` must contain one of them. Without it a token that has `aud` is refused.")
    package let algorithms = Setting(
        "algorithms",
        .list("a list of algorithms", of: .choice(SignatureAlgorithm.allCases.map { ($0.rawValue, $0) })),
        default: "[\(SignatureAlgorithm.asymmetric.map(\.rawValue).joined(separator: ", "))]",
        "What the issuer may sign with. HS256, HS384 and HS512 only if they are named here.")
    package let keys = Setting(
        "keys", .path, default: "''",
        "The file with the keys, PEM (public keys or certificates) or JWKS. This or keys_url is required.")
    package let keysUrl = Setting(
        "keys_url", .fetchURL, default: "''",
        """
        Where the keys are fetched instead, a JWKS: https, or http on this machine. No redirect is followed, no proxy used. \
        Until the first fetch the node is not ready.
        """)
    package let keysCa = Setting(
        "keys_ca", .path, default: "''",
        "A PEM file with the certificate authorities to trust for keys_url. '' is those of the system.")
    package let keysRefresh = Setting(
        "keys_refresh", .duration(milliseconds: 100...604_800_000), default: "10m", "How often keys_url is fetched.")
    package let keysCooldown = Setting(
        "keys_cooldown", .duration(milliseconds: 100...604_800_000), default: "30s",
        "A token that names an unknown key has keys_url fetched at once, but not more often than this.")
    package let keysMaxAge = Setting(
        "keys_max_age", .duration(milliseconds: 1_000...31_536_000_000), default: "24h",
        """
        How long keys are used that cannot be fetched again. After it, tokens of this issuer are refused with 503 until they \
        can. Must be longer than keys_refresh.
        """)
    package let accountClaim = Setting(
        "account_claim", .nonEmptyText("the name of a claim"), default: "account_id",
        "The claim that holds the account.")

    package init() {}
}

/// One entry of `auth.jwt`: whose tokens are accepted, and how.
@dynamicMemberLookup
package struct IssuerSettings: Equatable, Sendable {
    /// The entry's own path, `auth.jwt[0]`.
    let path: String
    private let values: SettingValues<IssuerTable>

    package subscript<Value>(dynamicMember key: KeyPath<IssuerTable, Setting<Value>>) -> Value {
        values[dynamicMember: key]
    }

    package static func == (a: IssuerSettings, b: IssuerSettings) -> Bool {
        IssuerTable.declarations.allSatisfy { $0.setting.isEqual(a.values.held, b.values.held) }
    }

    /// Its files, each with its path after `auth.jwt`.
    var files: [(suffix: String, path: String)] {
        let element = path.drop { $0 != "[" }
        return IssuerTable.declarations.flatMap { $0.setting.files(in: values.held) }
            .map { (suffix: "\(element).\($0.setting)", path: $0.path) }
    }

    /// The path of one of the entry's settings.
    func path<Value>(of key: KeyPath<IssuerTable, Setting<Value>>) -> String {
        "\(path).\(IssuerTable.path(of: key))"
    }
}

extension SettingKind where Value == [IssuerSettings] {
    /// With an entry for each that is a map, also where something is wrong with it.
    static var issuers: Self {
        let files: @Sendable ([IssuerSettings]) -> [(suffix: String, path: String)] = { $0.flatMap(\.files) }
        return Self("a list of issuers", .structured, files: files) { element, reading in
            let expected = "a list of issuers, [{issuer: …, keys: …}]"
            var elements = [element]
            // One entry alone is a list of one.
            if case .map = element.content {
            } else {
                guard let list = reading.list(element, expected: expected) else { return nil }
                elements = list
            }
            return elements.enumerated().compactMap { index, element in
                reading.part("[\(index)]", element) { element, reading in IssuerSettings(element, &reading) }
            }
        }
    }
}

extension SettingKind where Value == String {
    static func nonEmptyText(_ expected: String) -> Self {
        .text(expected) { $0.isEmpty ? "is empty: \(expected) is expected" : nil }
    }
}

extension SettingKind where Value == String? {
    /// Nil for the empty text.
    static var fetchURL: Self {
        let expected = "a URL (https://id.example.com/keys)"
        return Self(expected) { element, reading in
            guard let text = reading.text(element, expected: expected) else { return nil }
            guard !text.isEmpty, let problem = FetchURL.problem(text) else {
                return .some(text.isEmpty ? nil : text)
            }
            // The problem does not show the URL, so that no password in it is logged.
            reading.refuse(element, problem)
            return nil
        }
    }
}

extension IssuerSettings {
    /// Nil for an element that is not a map. A wrong value is reported, and keeps its default.
    fileprivate init?(_ element: YAMLElement, _ reading: inout SettingReading) {
        guard let entries = reading.map(element, expected: "a map with issuer and keys") else { return nil }
        let before = reading.problems.count
        let names = IssuerTable.declarations.map(\.setting.row.path)
        for entry in entries where !names.contains(entry.key) {
            let nearest = NearestName.nearest(to: entry.key, among: names) ?? ""
            _ = reading.part(".\(entry.key)", YAMLElement(line: entry.line, entry.value.content)) { element, reading in
                reading.refuse(element, "no such key: did you mean '\(nearest)'?")
                return Optional<Never>.none
            }
        }
        var values = SettingValues<IssuerTable>()
        for (_, setting) in IssuerTable.declarations {
            setting.read(from: entries, &reading, into: &values.held)
        }
        self.values = values
        path = reading.key
        func refuse<Value>(_ key: KeyPath<IssuerTable, Setting<Value>>, _ problem: String) {
            reading.refuse(element, "\(IssuerTable.path(of: key)) is \(problem)")
        }
        guard reading.problems.count == before else { return }
        if values.algorithms.isEmpty { refuse(\.algorithms, "empty: nothing could be signed with") }
        if values.issuer.isEmpty { refuse(\.issuer, "missing: the claim iss is expected") }
        if values.keys == nil, values.keysUrl == nil {
            refuse(\.keys, "missing: the name of a file with keys is expected, or keys_url")
        }
        if values.keys != nil, values.keysUrl != nil {
            refuse(\.keysUrl, "one too many: the keys are in a file already")
        }
        if values.keysCa != nil, values.keysUrl == nil {
            refuse(\.keysCa, "of no use: nothing is fetched without keys_url")
        }
        if values.keysMaxAge <= values.keysRefresh {
            refuse(\.keysMaxAge, "too short: it must be longer than keys_refresh")
        }
    }
}
