import Options
import Tokens
import YAML

/// One entry of `auth.jwt`: whose tokens are taken, and how.
package struct IssuerSettings: Sendable {
    package var issuer: String
    /// Empty: a token that names an audience is not for us.
    package var audiences: [String]
    package var algorithms: [SignatureAlgorithm]
    /// The file with the keys.
    package var keys: String
    package var accountClaim: String
}

/// The keys of an entry of `auth.jwt`.
enum IssuerTable {
    static let issuer = Setting(
        "issuer", nonEmptyText("the claim iss"), standard: "''", "The claim `iss`, byte by byte. Required.")
    static let audience = Setting(
        "audience", .oneOrMore("an audience or a list of them", of: nonEmptyText("an audience")), standard: "[]",
        "One text or a list: one of them must stand in the claim `aud`. Without it a token that has `aud` is refused.")
    static let algorithms = Setting(
        "algorithms", .list("a list of algorithms", of: .choice(SignatureAlgorithm.allCases.map(\.rawValue))),
        standard: "[\(SignatureAlgorithm.asymmetric.map(\.rawValue).joined(separator: ", "))]",
        "What the issuer may sign with. HS256, HS384 and HS512 only if they are named here.")
    static let keys = Setting(
        "keys", .path, standard: "''", "The file with the keys, PEM (public keys or certificates) or JWKS. Required.")
    static let accountClaim = Setting(
        "account_claim", nonEmptyText("the name of a claim"), standard: "account_id",
        "The claim that holds the account.")

    static let all: [any SettingDeclaration] = [issuer, audience, algorithms, keys, accountClaim]

    private static func nonEmptyText(_ expected: String) -> SettingKind<String> {
        .text(expected) { $0.isEmpty ? "is empty: \(expected) is expected" : nil }
    }
}

extension SettingKind where Value == [IssuerSettings] {
    static var issuers: Self {
        .init("a list of issuers", .structured) { element, reading in
            guard let elements = reading.list(element, expected: "a list of issuers, [{issuer: …, keys: …}]") else {
                return nil
            }
            let issuers = elements.enumerated().compactMap { index, element in
                reading.part("[\(index)]", element) { element, reading in IssuerSettings(element, &reading) }
            }
            return issuers.count == elements.count ? issuers : nil
        }
    }
}

extension IssuerSettings {
    fileprivate init?(_ element: YAMLElement, _ reading: inout SettingReading) {
        guard let entries = reading.map(element, expected: "a map with issuer and keys") else { return nil }
        let before = reading.problems.count
        let names = IssuerTable.all.map(\.row.path)
        for entry in entries where !names.contains(entry.key) {
            let nearest = NearestName.nearest(to: entry.key, among: names) ?? ""
            _ = reading.part(".\(entry.key)", YAMLElement(line: entry.line, entry.value.content)) { element, reading in
                reading.refuse(element, "no such key: did you mean '\(nearest)'?")
                return Optional<Never>.none
            }
        }
        func value<Value>(_ setting: Setting<Value>, _ standard: Value) -> Value {
            guard let entry = entries.first(where: { $0.key == setting.row.path }) else { return standard }
            return reading.part(".\(setting.row.path)", entry.value, setting.kind.read) ?? standard
        }
        issuer = value(IssuerTable.issuer, "")
        audiences = value(IssuerTable.audience, [])
        algorithms = value(IssuerTable.algorithms, []).compactMap(SignatureAlgorithm.init(rawValue:))
        keys = value(IssuerTable.keys, "")
        accountClaim = value(IssuerTable.accountClaim, IssuerTable.accountClaim.row.standard)
        guard reading.problems.count == before else { return nil }
        if !entries.contains(where: { $0.key == "algorithms" }) { algorithms = SignatureAlgorithm.asymmetric }
        if algorithms.isEmpty { reading.refuse(element, "algorithms is empty: nothing could be signed with") }
        if issuer.isEmpty { reading.refuse(element, "issuer is missing: the claim iss is expected") }
        if keys.isEmpty { reading.refuse(element, "keys is missing: the name of a file with keys is expected") }
        guard reading.problems.count == before else { return nil }
    }
}
