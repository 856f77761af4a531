/// What a line of librdkafka's log means for an operator. Most lines mean nothing: what matters is also an error, or a probe
/// finds it. Some lines need an operator's action, and no error reports their cause.
struct LineDiagnosis {
    /// A line that contains `text`, of one facility unless nil. The first match counts. Without a cause no action is needed.
    private struct Row {
        let facility: String?
        let text: String
        let cause: KafkaCause?
    }

    /// Texts of 2.0.2 and 2.16.0, and of OpenSSL 3.
    private static let rows = [
        Row(facility: "CLUSTERID", text: "", cause: .twoClusters),
        // Consumers and producers get the same settings.
        Row(facility: "CONFWARN", text: "and will be ignored by this", cause: nil),
        Row(facility: "CONFWARN", text: "", cause: .settingUnused),
        // Of brokers before 0.11, and of the embedded one: they may make a topic that is asked for and is not there.
        Row(facility: "AUTOCREATE", text: "", cause: nil),
        Row(facility: "SASLREFRESH", text: "ticket refresh failed", cause: .kerberosRefused),
        Row(facility: "OAUTHBEARER", text: "Failed to acquire SASL OAUTHBEARER token", cause: .loginRefused),
        Row(facility: nil, text: "certificate has expired", cause: .certificateExpired),
        Row(facility: nil, text: "alert certificate expired", cause: .clientCertificateExpired),
        Row(facility: nil, text: "certificate verify failed", cause: .certificateUntrusted),
        Row(facility: nil, text: "Failed to verify broker certificate", cause: .certificateUntrusted),
        Row(facility: nil, text: "SASL authentication error", cause: .loginRefused),
        Row(facility: nil, text: "Authentication failed", cause: .loginRefused),
        Row(facility: nil, text: "Unsupported SASL mechanism", cause: .mechanismRefused),
        Row(facility: nil, text: "Topic authorization failed", cause: .topicForbidden),
        Row(facility: nil, text: "not supported by broker", cause: .featureMissing),
        Row(facility: nil, text: "API version not supported", cause: .featureMissing),
        Row(facility: nil, text: "Unsupported compression type", cause: .featureMissing),
    ]

    /// Lines of these come as errors too, with more detail.
    private static let alsoErrors: Set<String> = ["FAIL", "ERROR"]

    /// `level` is syslog's: 4 is a warning. Lines below a warning need no action.
    static func notice(level: Int32, facility: String, text: String) -> KafkaNotice {
        let isNews = level <= 4 && !alsoErrors.contains(facility)
        let row = isNews ? rows.first { ($0.facility ?? facility) == facility && text.contains($0.text) } : nil
        guard let cause = row?.cause else {
            return KafkaNotice(
                .library, [(.facility, facility), (.reason, text)], level: isNews ? .info : .debug)
        }
        guard let (broker, reason) = broker(in: text) else {
            return KafkaNotice(cause, [(.facility, facility), (.reason, text)])
        }
        return KafkaNotice(cause, [(.broker, broker), (.facility, facility), (.reason, reason)])
    }

    /// `[thrd:sasl_ssl://a:1/1]: sasl_ssl://a:1/1: why`; nil for a line about no broker.
    static func broker(in text: String) -> (name: String, reason: String)? {
        guard let thread = text.firstRange(of: "]: ") else { return nil }
        let (broker, reason) = BrokerErrorDiagnosis.split(String(text[thread.upperBound...]))
        return broker.map { ($0, reason) }
    }
}
