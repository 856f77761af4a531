import Kafka
import LiveUpdates
import Options
import TLS
import Tokens

/// What settings name, loaded: a start uses it, so that what was checked is what runs.
package struct SettingsMaterial {
    /// Nil: plain text.
    package let tls: TLSContext?
    package let verifier: TokenVerifier
}

/// Looks at what settings name: files, keys, properties of librdkafka. Opens no connection.
package struct SettingsCheck {
    private let settings: Settings
    private let file: SettingsPlace
    /// Seconds since 1970.
    private let now: Int64
    private(set) var problems: [SettingsProblem] = []

    private init(_ settings: Settings, file: String, now: Int64) {
        self.settings = settings
        self.file = SettingsPlace(.file(file))
        self.now = now
    }

    /// - Parameters:
    ///   - file: the name of the settings file, for problems.
    ///   - now: seconds since 1970, for certificates.
    /// - Returns: nil with at least one problem that is no warning, or all that a start needs.
    package static func run(
        _ settings: Settings, file: String, now: Int64
    ) -> (material: SettingsMaterial?, problems: [SettingsProblem]) {
        var check = SettingsCheck(settings, file: file, now: now)
        let tls = check.certificate()
        let verifier = check.verifier()
        check.kafka()
        let problems = check.problems.inReadingOrder
        guard !problems.contains(where: { !$0.isWarning }) else { return (nil, problems) }
        return (SettingsMaterial(tls: tls, verifier: verifier), problems)
    }

    mutating func tell(_ key: String, _ text: String, isWarning: Bool = false) {
        problems.append(SettingsProblem(place(key), key: key, text, isWarning: isWarning))
    }

    mutating func tell(_ problem: SettingsProblem) {
        problems.append(problem)
    }

    /// Where a setting stands; for one that nobody said, the file as a whole.
    private func place(_ key: String) -> SettingsPlace {
        settings.places[key] ?? file
    }

    private mutating func certificate() -> TLSContext? {
        guard let files = settings.tls else { return nil }
        do throws(TLSError) {
            let context = try TLSContext.server(certificate: files.certificate, key: files.key)
            if let facts = context.certificate, facts.isExpired(at: now) {
                tell("tls.certificate", "\(files.certificate) has expired: clients will refuse it", isWarning: true)
            } else if let facts = context.certificate, facts.isNotYetValid(at: now) {
                tell(
                    "tls.certificate", "\(files.certificate) is not valid yet: clients will refuse it", isWarning: true)
            }
            return context
        } catch {
            let isAboutKey = error.path == files.key && files.key != files.certificate || error.isAboutKey
            tell(isAboutKey ? "tls.key" : "tls.certificate", "\(error)")
            return nil
        }
    }

    private mutating func verifier() -> TokenVerifier {
        let before = problems.count
        let issuers = settings.auth.jwt.enumerated().map { index, entry in
            issuer(entry, key: "auth.jwt[\(index)]")
        }
        var tokens = StaticTokens()
        if let path = settings.auth.tokens {
            let file = StaticTokenFile.load(path)
            for problem in file.problems {
                tell(
                    problem.place.line == nil
                        ? SettingsProblem(place("auth.tokens"), key: "auth.tokens", problem.text) : problem)
            }
            tokens = file.tokens
        }
        let verifier = TokenVerifier(issuers: issuers, tokens: tokens, anonymous: settings.auth.anonymous)
        if verifier.letsNobodyIn, problems.count == before {
            tell(
                "auth",
                "lets nobody in: name issuers in auth.jwt, a file in auth.tokens, or an account in auth.anonymous",
                isWarning: true)
        }
        return verifier
    }

    private mutating func issuer(_ entry: IssuerSettings, key: String) -> TrustedIssuer {
        var keys: [SignatureKey] = []
        do throws(BoundedFile.Unreadable) {
            let set = KeySet(try BoundedFile.read(entry.keys, maximumBytes: KeySet.maximumFileBytes))
            for problem in set.problems {
                tell("\(key).keys", "\(entry.keys): \(problem.text)", isWarning: problem.isWarning)
            }
            keys = set.keys
        } catch {
            tell("\(key).keys", "cannot read \(error)")
        }
        let issuer = TrustedIssuer(
            issuer: entry.issuer, audiences: entry.audiences, algorithms: entry.algorithms,
            accountClaim: entry.accountClaim, keys: keys)
        for problem in issuer.problems {
            tell("\(key).keys", "\(entry.keys): \(problem.text)", isWarning: problem.isWarning)
        }
        return issuer
    }

    private mutating func kafka() {
        let before = problems.count
        let properties = settings.kafka.settings.map { ($0.name, $0.value) }
        for (name, value) in properties {
            let key = "kafka.settings.\(name)"
            if let problem = ConfigurationCheck.problem(name: name, value: value) {
                tell(key, problem)
            } else if KafkaProperty.isPath(name), value != "probe",
                let reason = BoundedFile.problem(value, takesFolder: name == "ssl.ca.location")
            {
                tell(key, "cannot read \(value): \(reason)")
            }
        }
        if problems.count == before, let problem = ConfigurationCheck.problem(together: properties) {
            tell("kafka.settings", "librdkafka refuses them together: \(problem)")
        }
        if KafkaLibrary.warnsAboutSCRAM(properties) {
            let name = properties.first { $0.0.hasPrefix("sasl.mechanism") }?.0 ?? "sasl.mechanisms"
            tell(
                "kafka.settings.\(name)",
                """
                SCRAM of librdkafka \(KafkaLibrary.version) works with Kafka 3 and not with Kafka 4, which will call the \
                credentials invalid: run with librdkafka 2.6.1 or newer, or use another mechanism
                """, isWarning: true)
        }
    }
}

extension TLSError {
    /// The file that it is about.
    fileprivate var path: String? {
        switch self {
        case .unreadable(let path, _), .tooLong(let path, _), .noCertificate(let path), .noPrivateKey(let path),
            .passphraseNeeded(let path), .passphraseWrong(let path), .malformed(let path, _), .refused(let path, _):
            path
        case .keyDoesNotFit(let key, _): key
        case .badName, .openSSL: nil
        }
    }

    fileprivate var isAboutKey: Bool {
        switch self {
        case .noPrivateKey, .passphraseNeeded, .passphraseWrong, .keyDoesNotFit: true
        default: false
        }
    }
}
