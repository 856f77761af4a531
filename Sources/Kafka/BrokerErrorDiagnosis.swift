import CRdKafka

/// What is the matter, from the code and the text of an error that librdkafka raises about a broker.
///
/// The codes are coarse (`_SSL`, `_TRANSPORT`), so the text decides; texts of 2.0.2 and 2.16.0, and of OpenSSL 3.
struct BrokerErrorDiagnosis {
    /// Whether a refused SCRAM login is likely to be the library's fault.
    let warnsAboutSCRAM: Bool
    /// What we speak to brokers.
    let usesTLS: Bool
    let usesSASL: Bool

    init(_ properties: [(String, String)], libraryVersion: Int32 = KafkaLibrary.versionNumber) {
        warnsAboutSCRAM = KafkaLibrary.warnsAboutSCRAM(properties, version: libraryVersion)
        let spoken = properties.last { $0.0 == "security.protocol" }?.1.lowercased() ?? "plaintext"
        usesTLS = spoken == "ssl" || spoken == "sasl_ssl"
        usesSASL = spoken.hasPrefix("sasl_")
    }

    func notice(code: rd_kafka_resp_err_t, text: String) -> KafkaNotice {
        let (broker, reason) = Self.split(text)
        var facts: [(name: KafkaNotice.Fact, value: String)] = []
        if let broker { facts.append((.broker, broker)) }
        facts.append((.reason, reason))
        return KafkaNotice(cause(code, reason), facts)
    }

    private func cause(_ code: rd_kafka_resp_err_t, _ reason: String) -> KafkaCause {
        switch code {
        case RD_KAFKA_RESP_ERR__RESOLVE: .hostUnknown
        case RD_KAFKA_RESP_ERR__AUTHENTICATION, RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED: loginCause(reason)
        case RD_KAFKA_RESP_ERR__SSL: tlsCause(reason)
        case RD_KAFKA_RESP_ERR__TRANSPORT: transportCause(reason)
        case RD_KAFKA_RESP_ERR__TIMED_OUT, RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE: .requestTimedOut
        case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN: .allBrokersDown
        case RD_KAFKA_RESP_ERR__FATAL: .fatal
        default: .trouble
        }
    }

    private func loginCause(_ reason: String) -> KafkaCause {
        if Self.reason(reason, has: "Unsupported SASL mechanism", "supported mechanisms") { return .mechanismRefused }
        return warnsAboutSCRAM ? .scramWithOldLibrary : .loginRefused
    }

    private func tlsCause(_ reason: String) -> KafkaCause {
        if Self.reason(reason, has: "hostname mismatch", "IP address mismatch") { return .certificateName }
        if Self.reason(reason, has: "alert certificate expired") { return .clientCertificateExpired }
        if Self.reason(reason, has: "certificate has expired") { return .certificateExpired }
        // 0A000086 is SSL_R_CERTIFICATE_VERIFY_FAILED. librdkafka reports nothing else when the name does not match.
        if Self.reason(reason, has: "certificate verify failed", "could not be verified", "0A000086") {
            return .certificateUntrusted
        }
        if Self.reason(
            reason, has: "wrong version number", "PLAINTEXT broker listener", "packet length too long",
            "unexpected eof")
        {
            return .brokerSpeaksNoTLS
        }
        // Alerts that the broker sends: bad_certificate, unknown_ca, certificate_required, …
        if Self.reason(reason, has: "alert", "client SSL authentication") { return .clientCertificateRefused }
        return .tlsFailed
    }

    private func transportCause(_ reason: String) -> KafkaCause {
        if Self.reason(reason, has: "Connection refused") { return .connectionRefused }
        if Self.reason(reason, has: "PLAINTEXT broker listener") { return .brokerSpeaksNoTLS }
        if Self.reason(reason, has: "connecting to a SSL listener") { return .brokerSpeaksTLS }
        if Self.reason(reason, has: "require SASL") { return .brokerWantsSASL }
        if Self.isSilence(reason) { return .brokerSilent }
        if Self.reason(reason, has: "unreachable", "No route", "Connection timed out", "Permission denied") {
            return .noRoute
        }
        if Self.reason(reason, has: "Connection setup timed out", "timed out in state") { return .noRoute }
        // A handshake that fails comes with either code, as librdkafka happens to notice it.
        if Self.reason(reason, has: "SSL routines"), Self.reason(reason, has: "SSL_HANDSHAKE") {
            return tlsCause(reason)
        }
        if Self.reason(reason, has: "alert", "certificate") { return .clientCertificateRefused }
        return .connectionLost
    }

    /// Whether a connection was opened, but the first answer (of TLS, of the login or of the protocol) never arrived.
    private static func isSilence(_ reason: String) -> Bool {
        if Self.reason(reason, has: "ApiVersionRequest failed: Local: Timed out") { return true }
        guard let state = reason.firstRange(of: "Connection setup timed out in state ") else { return false }
        return !reason[state.upperBound...].hasPrefix("CONNECT")
    }

    /// The cause that a `FAIL` log line suggests. 2.16.0 raises no error when a broker only closes the connection.
    ///
    /// `[thrd:a:1/1]: a:1/1: Disconnected: connection closed by peer (after 2ms in state APIVERSION_QUERY)`
    func guess(line: String) -> KafkaNotice? {
        guard let (broker, reason) = LineDiagnosis.broker(in: line), reason.hasPrefix("Disconnected"),
            let after = reason.lastRange(of: "(after "),
            let unit = reason[after.upperBound...].firstRange(of: "ms in state "),
            let milliseconds = Int(reason[after.upperBound..<unit.lowerBound])
        else { return nil }
        let state = reason[unit.upperBound...].prefix { $0.isUppercase || $0 == "_" }
        let cause: KafkaCause
        switch state {
        case "APIVERSION_QUERY" where !usesTLS: cause = .brokerSpeaksTLS
        // As librdkafka 2.0.2 has it: a broker that wants a login hangs up within 2 s.
        case "UP" where !usesSASL && milliseconds < 2_000: cause = .brokerWantsSASL
        default: return nil
        }
        return KafkaNotice(cause, [(.broker, broker), (.reason, reason)])
    }

    private static func reason(_ reason: String, has parts: String...) -> Bool {
        parts.contains { reason.contains($0) }
    }

    /// `sasl_ssl://b1.example:9094/1: Connect to … failed` names the broker before its first `: `.
    static func split(_ text: String) -> (broker: String?, reason: String) {
        guard let colon = text.firstRange(of: ": ") else { return (nil, text) }
        var name = text[..<colon.lowerBound]
        guard let slash = name.lastIndex(of: "/") else { return (nil, text) }
        name = name[..<slash]
        if let scheme = name.firstRange(of: "://") { name = name[scheme.upperBound...] }
        guard !name.isEmpty, !name.contains(" ") else { return (nil, text) }
        return (String(name), String(text[colon.upperBound...]))
    }
}

extension String {
    /// The last occurrence of `part`.
    fileprivate func lastRange(of part: String) -> Range<Index>? {
        ranges(of: part).last
    }
}
