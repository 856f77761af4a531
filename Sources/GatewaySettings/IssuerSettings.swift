import Options
import Tokens
import YAML

/// The keys of an entry of `auth.jwt`.
package struct IssuerTable: SettingTable {
    package let issuer = Setting(
        "issuer", .text("the claim iss"), default: "''", "The claim `iss`, byte by byte. Required.")
    package let audience = Setting(
        "audience", .oneOrMore("an audience or a list of them", of: .nonEmptyText("an audience")), default: "[]",
        "One text or a list: one of them must stand in the claim `aud`. Without it a token that has `aud` is refused.")
    package let algorithms = Setting(
        "algorithms",
        .list("a list of algorithms", of: .choice(SignatureAlgorithm.allCases.map { ($0.rawValue, $0) })),
        default: "[\(SignatureAlgorithm.asymmetric.map(\.rawValue).joined(separator: ", "))]",
        "What the issuer may sign with. HS256, HS384 and HS512 only if they are named here.")
    package let keys = Setting(
        "keys", .path, default: "''", "The file with the keys, PEM (public keys or certificates) or JWKS. Required.")
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

    /// The path of one of the entry's settings.
    func path<Value>(of key: KeyPath<IssuerTable, Setting<Value>>) -> String {
        "\(path).\(IssuerTable.path(of: key))"
    }
}

extension SettingKind where Value == [IssuerSettings] {
    /// With an entry for each that is a map, also where something is wrong with it.
    static var issuers: Self {
        .init("a list of issuers", .structured) { element, reading in
            guard let elements = reading.list(element, expected: "a list of issuers, [{issuer: …, keys: …}]") else {
                return nil
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

extension IssuerSettings {
    /// Nil for what is no map. What is wrong in it is reported, and holds its default.
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
        if values.keys == nil { refuse(\.keys, "missing: the name of a file with keys is expected") }
    }
}
