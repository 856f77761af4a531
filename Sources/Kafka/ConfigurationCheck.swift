import CRdKafka

/// Asks librdkafka about properties. Nothing is connected to.
package enum ConfigurationCheck {
    /// SASL mechanisms that Kafka and librdkafka both have. The value is compared as librdkafka does, by its letters.
    static let mechanisms = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI", "OAUTHBEARER"]

    /// Properties of Kafka's Java clients, each with the property to use instead.
    static let javaProperties = [
        "sasl.jaas.config": "sasl.username and sasl.password",
        "sasl.login.callback.handler.class": "sasl.oauthbearer.method and sasl.oauthbearer.token.endpoint.url",
        "sasl.client.callback.handler.class": "sasl.oauthbearer.method and sasl.oauthbearer.token.endpoint.url",
        "ssl.truststore.location": "ssl.ca.location, a PEM file",
        "ssl.truststore.password": "ssl.ca.location: a PEM file with certificates has no password",
        "ssl.truststore.type": "ssl.ca.location, a PEM file",
        "ssl.truststore.certificates": "ssl.ca.pem",
        "ssl.keystore.type": "ssl.certificate.location and ssl.key.location, PEM files",
        "ssl.keystore.key": "ssl.key.pem",
        "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    ]

    /// Why a property cannot be set: it is reserved or unknown, or librdkafka refuses the value. No answer contains a value that
    /// may be a secret.
    package static func problem(name: String, value: String) -> String? {
        if let reason = ReservedProperties.reason(against: name) { return "cannot be set: \(reason)" }
        if let instead = javaProperties[name] { return "is a property of Kafka's Java clients: use \(instead)" }
        if name == "sasl.mechanism" || name == "sasl.mechanisms", !mechanisms.contains(value), value != "SCRAM-SHA-1" {
            return "is none of librdkafka's mechanisms: \(mechanisms.joined(separator: ", "))"
        }
        var configuration = ClientConfiguration()
        do throws(KafkaError) {
            try configuration.set(name, value)
            return nil
        } catch {
            guard case .settings(_, let reason) = error else { return "\(error)" }
            return reason
        }
    }

    /// Why no client can be made with all properties together: some do not fit together, a key is not readable, or a login lacks
    /// what it needs.
    ///
    /// The check makes a client without brokers and discards it: 5 ms. It fetches nothing. For a login that would request an
    /// OAuth token at once, it only checks the properties, and it refreshes no Kerberos ticket.
    package static func problem(together properties: [(String, String)]) -> String? {
        var tried = ConsumerSettings.defaults + properties + ConsumerSettings.promises
        if asksForSASL(properties) {
            switch value(of: ["sasl.mechanism", "sasl.mechanisms"], properties)?.uppercased() {
            case "OAUTHBEARER": return tokenSourceProblem(properties)
            case "GSSAPI": tried.append(("sasl.kerberos.kinit.cmd", kinitComment(properties)))
            case nil:
                return """
                    security.protocol asks for a login, and sasl.mechanism is missing: \(mechanisms.joined(separator: ", "))
                    """
            default: break
            }
        }
        do throws(KafkaError) {
            _ = try ClientHandle(RD_KAFKA_CONSUMER, tried)
            return nil
        } catch {
            if case .client(let reason) = error { return "librdkafka refuses them together: \(reason)" }
            return "librdkafka refuses them together: \(error)"
        }
    }

    /// The command with which the library gets a ticket, as a shell comment: its names are looked up, but it does not run.
    private static func kinitComment(_ properties: [(String, String)]) -> String {
        let command = value(of: ["sasl.kerberos.kinit.cmd"], properties)
        return "# " + (command ?? "%{sasl.kerberos.keytab} %{sasl.kerberos.principal}").split { $0.isNewline }.joined()
    }

    private static func asksForSASL(_ properties: [(String, String)]) -> Bool {
        value(of: ["security.protocol"], properties)?.lowercased().hasPrefix("sasl") ?? false
    }

    /// The last value counts when a property is set twice.
    private static func value(of names: [String], _ properties: [(String, String)]) -> String? {
        properties.last { names.contains($0.0) }?.1
    }

    /// Why a login with OAUTHBEARER gets no token: the gateway itself makes none.
    private static func tokenSourceProblem(_ properties: [(String, String)]) -> String? {
        if value(of: ["enable.sasl.oauthbearer.unsecure.jwt"], properties)?.lowercased() == "true" { return nil }
        guard value(of: ["sasl.oauthbearer.method"], properties)?.lowercased() == "oidc" else {
            return """
                OAUTHBEARER has no source of tokens: set sasl.oauthbearer.method to oidc, and \
                \(tokenSource.joined(separator: ", "))
                """
        }
        // Grants of newer libraries need other ones: the first is needed by all.
        let grant = value(of: ["sasl.oauthbearer.grant.type"], properties) ?? "client_credentials"
        let needed = grant == "client_credentials" ? tokenSource : Array(tokenSource.prefix(1))
        let missing = needed.filter { value(of: [$0], properties)?.isEmpty ?? true }
        return missing.isEmpty
            ? nil : "OAUTHBEARER has no source of tokens: \(missing.joined(separator: ", ")) is missing"
    }

    private static let tokenSource = [
        "sasl.oauthbearer.token.endpoint.url", "sasl.oauthbearer.client.id", "sasl.oauthbearer.client.secret",
    ]
}
