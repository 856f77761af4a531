import Options
import TLS
import Tokens

/// The section `auth.introspection`.
package struct IntrospectionTable: SettingTable {
    package let url = Setting(
        "auth.introspection.url", .fetchURL, default: "''",
        """
        Where tokens that are not JWTs are checked (RFC 7662): https, or http on this machine. '' is nowhere. While it is \
        unreachable, such tokens are refused with 503.
        """)
    package let clientId = Setting(
        "auth.introspection.client_id", .text("our name there"), default: "''",
        "The client id of this gateway at that server, for Basic authentication.")
    package let clientSecretFile = Setting(
        "auth.introspection.client_secret_file", .path, default: "''",
        "A file with the client secret of this gateway at that server, in one line.")
    package let ca = Setting(
        "auth.introspection.ca", .path, default: "''",
        "A PEM file with the certificate authorities to trust for that server. '' is those of the system.")
    package let accountClaim = Setting(
        "auth.introspection.account_claim", .nonEmptyText("the name of a member"), default: "account_id",
        "The member of an answer that holds the account.")
    package let cache = Setting(
        "auth.introspection.cache", .duration(milliseconds: 1_000...86_400_000), default: "60s",
        """
        How long an answer is used, and how long a token is valid whose answer has no exp. Refusals are used for 10 s; at \
        most 100,000 answers are kept.
        """)
    package let timeout = Setting(
        "auth.introspection.timeout", .duration(milliseconds: 10...60_000), default: "2s",
        "The longest wait for an answer. After it the token is refused with 503.")

    package init() {}
}

extension SettingsDraft {
    /// The source that the section describes. Nil when there is no server to ask, or something in the section is wrong.
    mutating func introspection() -> IntrospectionSource? {
        let section = settings.auth.introspection
        typealias Path = SettingsTable
        guard let url = section.url else {
            for (path, isGiven) in [
                (Path.path(of: \.auth.introspection.clientId), !section.clientId.isEmpty),
                (Path.path(of: \.auth.introspection.clientSecretFile), section.clientSecretFile != nil),
                (Path.path(of: \.auth.introspection.ca), section.ca != nil),
            ] where isGiven && isSound("auth.introspection") {
                report(path, "is of no use without \(Path.path(of: \.auth.introspection.url))")
            }
            return nil
        }
        if section.clientId.isEmpty {
            report(Path.path(of: \.auth.introspection.clientId), "is missing: the server requires a client id")
        }
        let authorities = authorities(section.ca, Path.path(of: \.auth.introspection.ca))
        guard let secret = clientSecret(section.clientSecretFile), !section.clientId.isEmpty else { return nil }
        return IntrospectionSource(
            url: url, authorities: authorities, client: section.clientId,
            authorization: Introspection.authorization(client: section.clientId, secret: secret),
            accountClaim: section.accountClaim,
            cacheMilliseconds: UInt64(section.cache / .milliseconds(1)),
            timeoutMilliseconds: UInt64(section.timeout / .milliseconds(1)))
    }

    /// The certificates of a file that is named for those who may vouch for a server: read now, as every other file, and
    /// reported where that is not possible.
    mutating func authorities(_ file: String?, _ setting: String) -> [UInt8]? {
        guard let file else { return nil }
        do throws(TLSError) {
            return try TLSContext.authorities(file)
        } catch {
            report(setting, "\(error)")
            return nil
        }
    }

    /// The one line of the file, without its end.
    private mutating func clientSecret(_ file: String?) -> [UInt8]? {
        let setting = SettingsTable.path(of: \.auth.introspection.clientSecretFile)
        guard let file else {
            report(setting, "is missing: a file with our secret is expected")
            return nil
        }
        do throws(BoundedFile.Unreadable) {
            var secret = try BoundedFile.readText(file, maximumBytes: 4096)
            if secret.last == 0x0A { secret.removeLast() }
            if secret.last == 0x0D { secret.removeLast() }
            if !secret.isEmpty, !secret.contains(where: { $0 < 0x20 || $0 == 0x7F }) { return secret }
            report(setting, "\(file) holds no secret: one line without control characters is expected")
        } catch {
            report(setting, "cannot read \(error.withoutPath)")
        }
        return nil
    }
}
