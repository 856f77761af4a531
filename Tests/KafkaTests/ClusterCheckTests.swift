import CRdKafka
import Testing

@testable import Kafka

struct ClusterCheckTests {
    @Test func `brokers that answer are named, and topics are there or not`() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("t", partitions: 3)
        let check = try ClusterCheck(brokers: cluster.bootstrap, properties: [])
        let (addresses, why) = check.brokers(within: 60_000)
        #expect(addresses?.isEmpty == false && why == nil)
        #expect(cluster.bootstrap.contains(addresses?.first ?? "none"))
        #expect(check.topic("t") == .readable(partitions: 3))
        cluster.setError(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, topic: "t")
        #expect(check.topic("t") == .missing)
        cluster.setError(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, topic: "t")
        #expect(check.topic("t") == .hidden)
    }

    @Test func `where no broker answers the reason is that of the log`() throws {
        let cluster = try MockCluster()
        try cluster.setDown()
        let check = try ClusterCheck(brokers: cluster.bootstrap, properties: [])
        let (addresses, why) = check.brokers(within: 3_000)
        #expect(addresses == nil)
        #expect(why?.isEmpty == false)
    }

    @Test func `properties that may not be set are refused`() {
        #expect(throws: KafkaError.self) { try ClusterCheck(brokers: "127.0.0.1:1", properties: [("group.id", "a")]) }
    }
}
