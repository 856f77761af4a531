import Kafka
import Testing

extension AgainstApacheKafka {
    @Suite(.serialized) struct `The previous line of Kafka` {
        let kafka: ApacheKafka
        let topic = freshTopic()

        init() throws {
            kafka = try ApacheKafka.cluster(.previous)
            try kafka.administrator().createTopic(topic, partitions: 2)
        }

        @Test func `plain, and TLS with PLAIN and with SCRAM, by whatever library`() throws {
            try kafka.administrator().grant(.read, topic: topic, to: "User:livegate")
            let bootstrap = kafka.description.bootstrap
            let tls = [
                ("security.protocol", "SASL_SSL"), ("ssl.ca.location", kafka.description.ca),
                ("sasl.username", "livegate"), ("sasl.password", "livegate-secret"),
            ]
            let readings = [
                try kafka.reading(topic),
                try kafka.reading(topic, at: bootstrap.saslTls, tls + [("sasl.mechanism", "PLAIN")]),
                try kafka.reading(topic, at: bootstrap.saslTls, tls + [("sasl.mechanism", "SCRAM-SHA-256")]),
                try kafka.reading(topic, at: bootstrap.saslTls, tls + [("sasl.mechanism", "SCRAM-SHA-512")]),
            ]
            try kafka.producer().send(topic, 1, "hello")
            for reading in readings { try #require(reading.run { $0.values == ["hello"] }) }
        }

        @Test func `aborted records never come, added partitions and topics made later do`() throws {
            let later = freshTopic()
            let reading = try kafka.reading(topic, later, readying: false)
            try #require(reading.run { $0.has(.topicMissing) })
            try kafka.administrator().createTopic(later)
            try kafka.producer().send(later, 0, "later")
            try #require(reading.run { $0.isReady && $0.values == ["later"] })
            let producer = try kafka.producer([("transactional.id", topic)])
            try producer.beginTransactions()
            try producer.beginTransaction()
            try producer.send(topic, 0, "aborted")
            try producer.abortTransaction()
            try producer.beginTransaction()
            try producer.send(topic, 0, "committed")
            try producer.commitTransaction()
            try #require(reading.run { $0.values == ["later", "committed"] })
            try kafka.administrator().growTopic(topic, to: 3)
            try kafka.producer().send(topic, 2, "added")
            try #require(reading.run { $0.values == ["later", "committed", "added"] })
        }
    }

    @Suite(.serialized) struct `The previous line of Kafka, logs recreated` {
        @Test func `at once and longer than our position`() throws {
            try checkRecreatedLonger(try ApacheKafka.cluster(.previous))
        }
    }

    @Suite(.serialized) struct `Three nodes` {
        @Test func `one node killed and started again: everything acknowledged comes, in order and once`() throws {
            let kafka = try ApacheKafka.cluster(.threeNodes)
            let topic = freshTopic()
            try kafka.administrator().createTopic(topic, partitions: 6, replication: 3)
            let reading = try kafka.reading(topic)
            let writer = Writer(brokers: kafka.plaintext, topic: topic, partitions: 6)
            try #require(reading.run { $0.entries.count > 60 })
            try kafka.run("kill", "2")
            let count = reading.entries.count
            // All partitions again, those that the node led included.
            try #require(
                reading.run(within: .seconds(60)) { Set($0.entries.dropFirst(count).map(\.partition)).count == 6 })
            try kafka.run("start-node", "2")
            try writer.endAndJudge(reading)
        }
    }
}
