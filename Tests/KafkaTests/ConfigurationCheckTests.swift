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

    @Test func `logins that would fetch something at once are not tried`() {
        for mechanism in [[], [("sasl.mechanism", "GSSAPI")], [("sasl.mechanisms", "oauthbearer")]] {
            #expect(ConfigurationCheck.problem(together: [("security.protocol", "sasl_plaintext")] + mechanism) == nil)
        }
    }
}
