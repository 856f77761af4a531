import CRdKafka

/// Asks librdkafka about properties. Nothing is connected to.
package enum ConfigurationCheck {
    /// Why a property cannot be set: it is reserved, unknown, or librdkafka refuses the value. What may be a secret
    /// stands in no answer.
    package static func problem(name: String, value: String) -> String? {
        if let reason = ReservedProperties.reason(against: name) { return "cannot be set: \(reason)" }
        var configuration = ClientConfiguration()
        do throws(KafkaError) {
            try configuration.set(name, value)
            return nil
        } catch {
            guard case .settings(_, let reason) = error else { return "\(error)" }
            return reason
        }
    }

    /// Why no client can be made with all of them: properties that do not fit together, keys that cannot be read.
    ///
    /// A client without brokers is made and thrown away: 5 ms. Logins that make a client fetch something at its start
    /// (OAUTHBEARER, GSSAPI) are passed over.
    package static func problem(together properties: [(String, String)]) -> String? {
        let fetching = ["OAUTHBEARER", "GSSAPI"]
        let mechanisms = properties.filter { $0.0 == "sasl.mechanism" || $0.0 == "sasl.mechanisms" }
        // GSSAPI is librdkafka's default when security.protocol asks for SASL.
        let asksForSASL = properties.contains { $0.0 == "security.protocol" && $0.1.lowercased().hasPrefix("sasl") }
        if asksForSASL, mechanisms.isEmpty || mechanisms.contains(where: { fetching.contains($0.1.uppercased()) }) {
            return nil
        }
        do throws(KafkaError) {
            _ = try ClientHandle(
                RD_KAFKA_CONSUMER, ConsumerSettings.defaults + properties + ConsumerSettings.promises)
            return nil
        } catch {
            if case .client(let reason) = error { return reason }
            return "\(error)"
        }
    }
}
