import Kafka
import Testing

extension AgainstApacheKafka {
    @Suite(.serialized) struct `Who may read, and what the operator is told` {
        let kafka: ApacheKafka
        let topic = freshTopic()

        init() throws {
            kafka = try ApacheKafka.cluster(.current)
            try kafka.administrator().createTopic(topic, partitions: 2)
        }

        private func user(
            _ name: String = "livegate", password: String? = nil, mechanism: String = "PLAIN", tls: Bool = false
        ) -> [(String, String)] {
            [
                ("security.protocol", tls ? "SASL_SSL" : "SASL_PLAINTEXT"), ("sasl.mechanism", mechanism),
                ("sasl.username", name), ("sasl.password", password ?? "\(name)-secret"),
            ] + (tls ? [("ssl.ca.location", kafka.description.ca)] : [])
        }

        private func check(_ reading: Reading) throws {
            try kafka.producer().send(topic, 1, "hello")
            try #require(reading.run { $0.values == ["hello"] })
        }

        @Test func `TLS with the right CA, and with a client certificate`() throws {
            let (address, ca) = (kafka.description.bootstrap.tls, kafka.description.ca)
            let tls = [("security.protocol", "SSL"), ("ssl.ca.location", ca)]
            try check(try kafka.reading(topic, at: address, tls))

            let certificate = kafka.description.clientCertificate
            try kafka.administrator().grant(.read, topic: topic, to: "User:CN=client")
            let reading = try kafka.reading(
                topic, at: address,
                tls + [("ssl.certificate.location", certificate), ("ssl.key.location", certificate)])
            try check(reading)
        }

        @Test func `a login with PLAIN, plain and over TLS`() throws {
            try kafka.administrator().grant(.read, topic: topic, to: "User:livegate")
            try check(try kafka.reading(topic, at: kafka.description.bootstrap.sasl, user()))
            try check(try kafka.reading(topic, at: kafka.description.bootstrap.saslTls, user(tls: true)))
        }

        /// What is told, and that nothing secret is in it.
        private func told(_ cause: KafkaCause, at address: String, _ properties: [(String, String)]) throws -> Reading {
            let reading = try kafka.reading(topic, at: address, properties, readying: false)
            let cameUp = reading.run { $0.has(cause) }
            #expect(cameUp, "told instead: \(reading.notices)")
            #expect(!reading.isReady)
            for notice in reading.notices { #expect(!notice.description.contains("secret")) }
            return reading
        }

        @Test func `a wrong password is told with the broker and the setting`() throws {
            let address = kafka.description.bootstrap.sasl
            let reading = try told(.loginRefused, at: address, user(password: "wrong-secret"))
            #expect(reading.notice(.loginRefused)?[.broker] == address)
            #expect(reading.notice(.loginRefused)?.description.contains("kafka.settings") == true)
        }

        @Test func `SCRAM with an old library and Kafka 4 is told as that`() throws {
            let settings = user(mechanism: "SCRAM-SHA-256")
            let address = kafka.description.bootstrap.sasl
            if KafkaLibrary.warnsAboutSCRAM(settings) {
                _ = try told(.scramWithOldLibrary, at: address, settings)
            } else {
                try kafka.administrator().grant(.read, topic: topic, to: "User:livegate")
                try check(try kafka.reading(topic, at: address, settings))
            }
        }

        @Test func `a mechanism that the broker does not offer is told`() throws {
            _ = try told(
                .mechanismRefused, at: kafka.description.bootstrap.sasl,
                [
                    ("security.protocol", "SASL_PLAINTEXT"), ("sasl.mechanism", "OAUTHBEARER"),
                    ("enable.sasl.oauthbearer.unsecure.jwt", "true"),
                    ("sasl.oauthbearer.config", "principal=livegate"),
                ])
        }

        @Test func `a CA that did not sign the broker's certificate is told, and so is none`() throws {
            let address = kafka.description.bootstrap.tls
            _ = try told(.certificateUntrusted, at: address, [("security.protocol", "SSL")])
            // A certificate that signed nothing but itself.
            let other = kafka.description.clientCertificate
            _ = try told(
                .certificateUntrusted, at: address, [("security.protocol", "SSL"), ("ssl.ca.location", other)])
        }

        @Test func `a certificate for another name is told, as far as the library tells it apart`() throws {
            let port = kafka.description.bootstrap.tls.split(separator: ":")[1]
            // An address that the resolver takes for 127.0.0.1 and that the certificate does not have.
            _ = try told(
                .certificateUntrusted, at: "127.1:\(port)",
                [("security.protocol", "SSL"), ("ssl.ca.location", kafka.description.ca)])
        }

        @Test func `TLS to a plain port and plain to a TLS or SASL port are told as that`() throws {
            let bootstrap = kafka.description.bootstrap
            _ = try told(
                .brokerSpeaksNoTLS, at: bootstrap.plaintext,
                [("security.protocol", "SSL"), ("ssl.ca.location", kafka.description.ca)])
            _ = try told(.brokerSpeaksTLS, at: bootstrap.tls, [])
            _ = try told(.brokerWantsSASL, at: bootstrap.sasl, [])
        }

        @Test func `an unknown name and a port where nobody listens are told`() throws {
            let unknown = try told(.hostUnknown, at: "no-such-host.invalid:9092", [])
            #expect(unknown.notice(.hostUnknown)?[.broker] == "no-such-host.invalid:9092")
            let refused = try told(.connectionRefused, at: "127.0.0.1:1", [])
            #expect(refused.notice(.connectionRefused)?[.broker] == "127.0.0.1:1")
        }

        @Test func `a topic that we may describe but not read keeps us from being ready, until the right is granted`()
            throws
        {
            try kafka.administrator().grant(.describe, topic: topic, to: "User:stranger")
            let reading = try told(.topicUnreadable, at: kafka.description.bootstrap.sasl, user("stranger"))
            #expect(reading.notice(.topicUnreadable)?[.topic] == topic)
            #expect(reading.readiness.topicsForbidden == [topic])
            let wakes = reading.wakes
            reading.run(for: .seconds(2))
            #expect(reading.wakes - wakes < 100, "no spinning while it lasts")
            try kafka.administrator().grant(.read, topic: topic, to: "User:stranger")
            try #require(reading.run { $0.isReady })
            try check(reading)
        }

        @Test func `a right to read that is withdrawn stalls the source soon, and costs nothing once it is back`()
            throws
        {
            let administrator = try kafka.administrator()
            for right in [Administrator.Right.describe, .read] {
                try administrator.grant(right, topic: topic, to: "User:livegate")
            }
            let reading = try kafka.reading(topic, at: kafka.description.bootstrap.sasl, user())
            let producer = try kafka.producer()
            try producer.send(topic, 1, "1")
            try #require(reading.run { $0.values == ["1"] })
            reading.refreshInterval = .seconds(2)
            try administrator.revoke(.read, topic: topic, from: "User:livegate")
            try #require(reading.run { $0.readiness.topicsForbidden == [topic] })
            try producer.send(topic, 1, "2")
            let isStalled = reading.run(refreshes: 3) { $0.isStalled }
            #expect(isStalled, "\(reading.notices)")
            try administrator.grant(.read, topic: topic, to: "User:livegate")
            try #require(reading.run { $0.values == ["1", "2"] && !$0.isStalled && $0.isReady })
            #expect(reading.resyncs.isEmpty)
        }

        @Test func `a topic that we may not describe is told as that, and group rights are no matter`() throws {
            let reading = try told(.topicForbidden, at: kafka.description.bootstrap.sasl, user("stranger"))
            #expect(reading.notice(.topicForbidden)?[.topic] == topic)
            #expect(!reading.notices.contains { $0.description.contains("roup auth") && $0.level > .debug })
            try kafka.administrator().grant(.read, topic: topic, to: "User:stranger")
            try #require(reading.run { $0.isReady })
        }
    }
}
