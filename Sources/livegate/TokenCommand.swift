import GatewaySettings
import Glibc
import Options
import Tokens

/// `livegate token`: prints a token for trying things out.
enum TokenCommand {
    static let account = SingleOption(
        "account", .text("A"), isRequired: true, help: "the account that the token is for")
    static let key = SingleOption(
        "key", .file("FILE.pem"), isRequired: true, help: "the private key to sign with: RSA, P-256, P-384 or P-521")
    static let issuer = SingleOption("issuer", .text("ISS"), help: "who issues it (iss)")
    static let audience = SingleOption("audience", .text("AUD"), help: "whom it is meant for (aud)")
    static let subject = SingleOption("subject", .text("SUB"), help: "who uses it (sub), for logs")
    static let keyName = SingleOption("kid", .text("NAME"), help: "the name of the key in the issuer's key set")
    static let expires = SingleOption("expires", .duration(), help: "how long it is good (default 1h)")
    static let claim = SingleOption("claim", .text("NAME"), help: "the claim for the account (default account_id)")
    static let algorithm = SingleOption(
        "algorithm", .choice("ALG", of: SignatureAlgorithm.asymmetric.map(\.rawValue)),
        help: "the signature algorithm (default: RS256, ES256, ES384 or ES512, by the key)")

    static let table = Command(
        "token", summary: "print a token signed with a private key",
        details: [
            "The token is a JWT. It always expires. Its key and its issuer are for development: production has an identity provider."
        ],
        options: [account, key, issuer, audience, subject, keyName, expires, claim, algorithm],
        statuses: [
            (.success, "the token was printed"), (.badInput, "the file holds no key that can sign so"),
            (.noInput, "the file cannot be read"),
        ])

    static func run(_ arguments: Arguments) -> ExitStatus {
        let request = TokenIssuer.Request(
            account: arguments.required(account), accountClaim: arguments[claim] ?? "account_id",
            issuer: arguments[issuer],
            audience: arguments[audience], subject: arguments[subject], keyName: arguments[keyName],
            lifetimeSeconds: wholeSeconds(arguments[expires] ?? .seconds(3600)))
        if let problem = request.problem {
            Livegate.table.exitWrongUse("option '--\(problem.option)': its value \(problem.text)")
        }
        let path = arguments.required(key)
        let text: [UInt8]
        do throws(BoundedFile.Unreadable) {
            text = try BoundedFile.readText(path, maximumBytes: KeySet.maximumFileBytes)
        } catch {
            StandardError.line("livegate token: \(path.printable): \(error.reason)")
            return .noInput
        }
        do throws(TokenIssuer.KeyProblem) {
            let issuer = try TokenIssuer(
                pem: text, path: path, algorithm: arguments[algorithm].flatMap(SignatureAlgorithm.init(rawValue:)))
            StandardOutput.write(issuer.token(request, now: Int64(time(nil))) + "\n")
            return .success
        } catch {
            StandardError.line("livegate token: \(path.printable): not a usable key: \(error.reason)")
            return .badInput
        }
    }

    /// `exp` counts whole seconds; what lies between is rounded up, so that a token is never born expired.
    private static func wholeSeconds(_ duration: Duration) -> Int64 {
        let (seconds, attoseconds) = duration.components
        return attoseconds > 0 ? seconds + 1 : seconds
    }
}
