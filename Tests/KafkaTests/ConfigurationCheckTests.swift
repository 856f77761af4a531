import Testing

@testable import Kafka

@Suite struct ConfigurationCheckTests {
    @Test func `librdkafka is asked about every property`() {
        #expect(ConfigurationCheck.problem(name: "socket.timeout.ms", value: "7000") == nil)
        #expect(ConfigurationCheck.problem(name: "client.id", value: "") == nil)
        #expect(ConfigurationCheck.problem(name: "no.such.property", value: "1")?.contains("no such property") == true)
        #expect(ConfigurationCheck.problem(name: "socket.timeout.ms", value: "soon") != nil)
        #expect(ConfigurationCheck.problem(name: "security.protocol", value: "tls") != nil)
    }

    @Test func `reserved properties are refused with the promise that rests on them`() {
        for (name, reason) in ReservedProperties.reasons {
            #expect(ConfigurationCheck.problem(name: name, value: "x") == "cannot be set: \(reason)")
        }
    }

    @Test func `what may be a secret stands in no answer`() {
        let key = "-----BEGIN geheim"
        let problem = ConfigurationCheck.problem(together: [("security.protocol", "ssl"), ("ssl.key.pem", key)])
        #expect(problem != nil && problem?.contains("geheim") == false)
    }

    @Test func `properties that do not fit together are told`() {
        #expect(ConfigurationCheck.problem(together: []) == nil)
        #expect(ConfigurationCheck.problem(together: [("security.protocol", "plaintext")]) == nil)
        let plain = [("security.protocol", "sasl_plaintext"), ("sasl.mechanism", "PLAIN")]
        #expect(ConfigurationCheck.problem(together: plain) != nil)
        #expect(
            ConfigurationCheck.problem(together: plain + [("sasl.username", "u"), ("sasl.password", "p")]) == nil)
    }

    @Test func `a login that lacks what it needs is refused, and none fetches anything`() {
        let oidc = [("sasl.mechanism", "OAUTHBEARER"), ("sasl.oauthbearer.method", "oidc")]
        let endpoint = [("sasl.oauthbearer.token.endpoint.url", "https://id.example/token")]
        let client = [("sasl.oauthbearer.client.id", "a"), ("sasl.oauthbearer.client.secret", "b")]
        let rows: [(properties: [(String, String)], problem: String?)] = [
            ([], "sasl.mechanism is missing: PLAIN, SCRAM-SHA-256"),
            ([("sasl.mechanism", "GSSAPI")], "sasl.kerberos.keytab"),
            ([("sasl.mechanism", "GSSAPI"), ("sasl.kerberos.keytab", "/a"), ("sasl.kerberos.principal", "a")], nil),
            ([("sasl.mechanisms", "OAUTHBEARER")], "no source of tokens: set sasl.oauthbearer.method to oidc"),
            (oidc, "no source of tokens: sasl.oauthbearer.token.endpoint.url, sasl.oauthbearer.client.id"),
            (oidc + endpoint, "sasl.oauthbearer.client.id, sasl.oauthbearer.client.secret is missing"),
            (oidc + endpoint + client, nil),
            ([("sasl.mechanism", "OAUTHBEARER"), ("enable.sasl.oauthbearer.unsecure.jwt", "true")], nil),
        ]
        for (properties, problem) in rows {
            let found = ConfigurationCheck.problem(together: [("security.protocol", "sasl_plaintext")] + properties)
            if let problem {
                #expect(found?.contains(problem) == true, "\(found ?? "")")
            } else {
                #expect(found == nil)
            }
        }
    }

    @Test func `mechanisms and Java's properties are answered with the names that exist`() {
        let rows: [(name: String, value: String, text: String)] = [
            ("sasl.mechanism", "SCRAM", "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, GSSAPI, OAUTHBEARER"),
            ("sasl.mechanisms", "scram-sha-512", "SCRAM-SHA-512"),
            ("sasl.jaas.config", "geheim", "use sasl.username and sasl.password"),
            ("ssl.truststore.location", "a.jks", "use ssl.ca.location"),
            ("ssl.truststore.password", "geheim", "use ssl.ca.location"),
        ]
        for (name, value, text) in rows {
            let problem = ConfigurationCheck.problem(name: name, value: value)
            #expect(problem?.contains(text) == true && problem?.contains("geheim") == false, "\(name)")
        }
        for mechanism in ConfigurationCheck.mechanisms {
            #expect(ConfigurationCheck.problem(name: "sasl.mechanism", value: mechanism) == nil)
        }
    }
}
