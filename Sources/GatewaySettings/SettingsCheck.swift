import Kafka
import LiveUpdates
import Options
import TLS
import Tokens

/// What a gateway is made of: settings, and what they name, loaded.
package struct SettingsMaterial: Sendable {
    package let settings: Settings
    package let mapping: EventMapping
    /// Nil: plain text.
    package let tls: TLSContext?
    package let verifier: TokenVerifier
    /// Nil: the administration asks for none.
    package let adminToken: AdminToken?
    /// Nil: there are no tickets.
    package let ticketSeal: TicketSeal?
}

extension SettingsOutcome {
    /// Opens what the settings name: files, keys, properties of librdkafka. Opens no connection. A start uses what
    /// comes of it, so that what was checked is what runs.
    ///
    /// - Parameter now: seconds since 1970, for certificates.
    /// - Returns: all problems, those of the values too; and all that a start needs, unless one of them is no warning.
    package func check(now: Int64) -> (material: SettingsMaterial?, problems: [SettingsProblem]) {
        let (material, problems, _) = checkWithTokens(now: now)
        return (material, problems)
    }

    /// As ``check(now:)``, and the static tokens that the settings name, whatever else is wrong; nil where that is not known.
    func checkWithTokens(
        now: Int64
    ) -> (material: SettingsMaterial?, problems: [SettingsProblem], tokens: StaticTokens?) {
        var check = SettingsCheck(draft: draft, now: now)
        let tls = check.certificate()
        let verifier = check.verifier()
        let adminToken = check.adminToken()
        let ticketSeal = check.ticketSeal()
        check.archivePassword()
        check.kafka()
        check.draft.reportOpenSecrets(keyFiles: check.secretKeyFiles)
        let outcome = with(check.draft)
        let tokens = outcome.knowsTokens ? verifier.tokens : nil
        guard let settings = outcome.settings, let mapping = outcome.mapping else {
            return (nil, outcome.problems, tokens)
        }
        return (
            SettingsMaterial(
                settings: settings, mapping: mapping, tls: tls, verifier: verifier, adminToken: adminToken,
                ticketSeal: ticketSeal),
            outcome.problems, tokens
        )
    }
}

/// Checks the files that the valid settings name.
private struct SettingsCheck {
    var draft: SettingsDraft
    private let now: Int64
    /// Files of keys that tokens can be signed with, by their setting.
    private(set) var secretKeyFiles: [NamedFile] = []

    init(draft: SettingsDraft, now: Int64) {
        self.draft = draft
        self.now = now
    }

    private var settings: Settings { draft.settings }

    // MARK: - TLS

    mutating func certificate() -> TLSContext? {
        let paths = (certificate: SettingsTable.path(of: \.tls.certificate), key: SettingsTable.path(of: \.tls.key))
        let (certificate, key) = (settings.tls.certificate, settings.tls.key)
        let certificateProblem = certificate.flatMap { TLSContext.problem(certificate: $0) }
        // One unreadable file causes one problem.
        let keyProblem = key.flatMap { TLSContext.problem(key: $0) }.flatMap { $0 == certificateProblem ? nil : $0 }
        if let certificateProblem { draft.report(paths.certificate, "\(certificateProblem)") }
        if let keyProblem {
            // An operator who puts the key itself into the settings must not find it in a log.
            if case .unreadable(_, let cause) = keyProblem {
                draft.report(paths.key, "cannot read \(BoundedFile.Unreadable.withoutPath(cause))")
            } else {
                draft.report(paths.key, "\(keyProblem)")
            }
        }
        let tickets = ticketKeys()
        guard let certificate, let key, certificateProblem == nil, keyProblem == nil, let tickets else { return nil }
        do throws(TLSError) {
            let context = try TLSContext.server(certificate: certificate, key: key, tickets: tickets)
            if let facts = context.certificate, facts.isExpired(at: now) {
                draft.report(
                    paths.certificate, "\(certificate) has expired: clients will refuse it", isWarning: true)
            } else if let facts = context.certificate, facts.isNotYetValid(at: now) {
                draft.report(
                    paths.certificate, "\(certificate) is not valid yet: clients will refuse it", isWarning: true)
            }
            return context
        } catch {
            draft.report(error.isAboutKey(key, certificate: certificate) ? paths.key : paths.certificate, "\(error)")
            return nil
        }
    }

    /// Nil after a problem.
    private mutating func ticketKeys() -> TicketKeys? {
        guard let file = settings.tls.ticketSecretFile else { return .ofProcess }
        let setting = SettingsTable.path(of: \.tls.ticketSecretFile)
        do throws(BoundedFile.Unreadable) {
            let bytes = try BoundedFile.read(file, maximumBytes: Self.maximumSecretFileBytes)
            if let secret = TicketKeys.secret(inFile: bytes) { return TicketKeys(secret: secret) }
            draft.report(
                setting,
                """
                \(file) holds \(bytes.count) bytes, under the least of \(TicketKeys.minimumSecretBytes) for a secret: \
                make one with openssl rand -hex 32
                """)
        } catch {
            draft.report(setting, "cannot read \(error.withoutPath)")
        }
        return nil
    }

    /// Far more than any secret has: what is larger is another file by mistake.
    private static let maximumSecretFileBytes = 4096

    // MARK: - Tokens

    mutating func verifier() -> TokenVerifier {
        let issuers = settings.auth.jwt.map { issuer($0) }
        let verifier = TokenVerifier(
            issuers: issuers, tokens: staticTokens(), anonymous: settings.auth.anonymous,
            introspection: draft.introspection())
        if draft.isWhole, draft.isSound("auth"), verifier.letsNobodyIn {
            draft.report(
                "auth",
                "lets nobody in: name issuers in auth.jwt, a file in auth.tokens, or an account in auth.anonymous",
                isWarning: true)
        }
        return verifier
    }

    mutating func ticketSeal() -> TicketSeal? {
        guard let path = settings.auth.tickets.secretFile else { return nil }
        let file = TicketSecretFile.load(path)
        if let problem = file.problem { draft.report(SettingsTable.path(of: \.auth.tickets.secretFile), problem) }
        return file.seal
    }

    private mutating func staticTokens() -> StaticTokens {
        guard let path = settings.auth.tokens else { return StaticTokens() }
        let file = StaticTokenFile.load(path)
        for problem in file.problems {
            if problem.location.line == nil { draft.report(problem.key, problem.text) } else { draft.report(problem) }
        }
        return file.tokens
    }

    mutating func adminToken() -> AdminToken? {
        guard let path = settings.adminTokenFile else { return nil }
        let setting = SettingsTable.path(of: \.adminTokenFile)
        do throws(BoundedFile.Unreadable) {
            if let token = AdminToken(try BoundedFile.readText(path, maximumBytes: AdminToken.maximumFileBytes)) {
                return token
            }
            draft.report(
                setting, "\(path) holds no token: one line of letters, digits and -._~+/= is expected")
        } catch {
            draft.report(setting, "cannot read \(error.withoutPath)")
        }
        return nil
    }

    /// An issuer whose keys are fetched: nothing is asked yet, so that a check needs no network.
    private mutating func issuer(_ entry: IssuerSettings, keysAt url: String) -> TrustedIssuer {
        let authorities = draft.authorities(entry.keysCa, entry.path(of: \.keysCa))
        let source = KeySource(
            issuer: entry.issuer, url: url, authorities: authorities, algorithms: entry.algorithms,
            timing: .init(
                refreshMilliseconds: milliseconds(entry.keysRefresh),
                cooldownMilliseconds: milliseconds(entry.keysCooldown),
                maximumAgeMilliseconds: milliseconds(entry.keysMaxAge)))
        return TrustedIssuer(
            issuer: entry.issuer, audiences: entry.audience, algorithms: entry.algorithms,
            accountClaim: entry.accountClaim, fetched: FetchedKeys(source))
    }

    /// Settings hold no negative durations.
    private func milliseconds(_ duration: Duration) -> UInt64 { UInt64(duration / .milliseconds(1)) }

    private mutating func issuer(_ entry: IssuerSettings) -> TrustedIssuer {
        if let url = entry.keysUrl { return issuer(entry, keysAt: url) }
        let setting = entry.path(of: \.keys)
        let algorithms = entry.path(of: \.algorithms)
        // A misspelt key may have been meant to name the algorithms.
        let areAlgorithmsKnown =
            draft.isSound(algorithms) && (draft.locations[algorithms] != nil || draft.isSound(entry.path))
        var keys: [SignatureKey] = []
        if let file = entry.keys {
            do throws(BoundedFile.Unreadable) {
                let set = KeySet(try BoundedFile.readText(file, maximumBytes: KeySet.maximumFileBytes))
                for problem in set.problems {
                    draft.report(setting, "\(file): \(problem.text)", isWarning: problem.isWarning)
                }
                keys = set.keys
                if set.holdsSecret { secretKeyFiles.append(NamedFile(setting: setting, path: file)) }
            } catch {
                draft.report(setting, "cannot read \(error.withoutPath)")
            }
        }
        let issuer = TrustedIssuer(
            issuer: entry.issuer, audiences: entry.audience, algorithms: entry.algorithms,
            accountClaim: entry.accountClaim, keys: keys)
        guard areAlgorithmsKnown, let file = entry.keys else { return issuer }
        for problem in issuer.problems {
            draft.report(setting, "\(file): \(problem.text)", isWarning: problem.isWarning)
        }
        return issuer
    }

    /// Only that it can be read: it is read again whenever a connection is made.
    mutating func archivePassword() {
        guard let path = settings.archive.passwordFile else { return }
        let setting = SettingsTable.path(of: \.archive.passwordFile)
        do throws(BoundedFile.Unreadable) {
            var password = try BoundedFile.readText(path, maximumBytes: Self.maximumSecretFileBytes)
            if password.last == 0x0A { password.removeLast() }
            if password.last == 0x0D { password.removeLast() }
            guard password.isEmpty || password.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return }
            draft.report(setting, "\(path) holds no password: one line without control characters is expected")
        } catch {
            draft.report(setting, "cannot read \(error.withoutPath)")
        }
    }

    mutating func kafka() {
        let path = SettingsTable.path(of: \.kafka.settings)
        let properties = settings.kafka.settings.map { ($0.name, $0.value) }
        for (name, value) in properties {
            let key = "\(path).\(name)"
            if let problem = ConfigurationCheck.problem(name: name, value: value) {
                draft.report(key, problem)
            } else if KafkaProperty.isPath(name), value != "probe",
                let reason = BoundedFile.problem(value, takesFolder: name == "ssl.ca.location")
            {
                // A key may have been written where its file's name belongs; certificates are no secrets.
                let isSecret = name.hasPrefix("ssl.key")
                let shown = isSecret ? BoundedFile.Unreadable.withoutPath(reason) : "\(value): \(reason)"
                draft.report(key, "cannot read \(shown)")
            }
        }
        if draft.isWhole, draft.isSound(path), let problem = ConfigurationCheck.problem(together: properties) {
            draft.report(path, problem)
        }
        if KafkaLibrary.warnsAboutSCRAM(properties) {
            let name = properties.first { $0.0.hasPrefix("sasl.mechanism") }?.0 ?? "sasl.mechanisms"
            draft.report(
                "\(path).\(name)",
                """
                SCRAM of librdkafka \(KafkaLibrary.version) works with Kafka 3 and not with Kafka 4, which will call the \
                credentials invalid: run with librdkafka 2.6.1 or newer, or use another mechanism
                """, isWarning: true)
        }
    }
}

extension TLSError {
    /// Whether the key is wrong, given a readable certificate and a readable key.
    fileprivate func isAboutKey(_ key: String, certificate: String) -> Bool {
        switch self {
        case .keyDoesNotFit: true
        case .refused(let path, _): path == key && key != certificate
        default: false
        }
    }
}
