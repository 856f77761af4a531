import Testing

@testable import Kafka

@Suite(.serialized) struct `Producer with the embedded broker` {
    @Test func `it learns the leaders of a topic, and writes to them`() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("incidents", partitions: 4)
        let producer = try Producer(brokers: cluster.bootstrap)
        #expect(producer.learnLeaders(of: "incidents", within: 60_000))
        for partition in 0..<4 {
            #expect(try producer.produce(topic: "incidents", partition: Int32(partition), value: [0x7B, 0x7D]))
        }
        #expect(producer.flush(within: 60_000))
        #expect(producer.delivered == 4 && producer.failed == 0)
    }

    @Test func `as many records as the limit wait for a broker, one more is not accepted`() throws {
        let cluster = try MockCluster()
        try cluster.setDown()
        let producer = try Producer(brokers: cluster.bootstrap)
        for number in 0..<Producer.maximumQueued {
            guard try producer.produce(topic: "incidents", value: []) else {
                Issue.record("record \(number) is one too many")
                break
            }
        }
        #expect(try !producer.produce(topic: "incidents", value: []))
    }

    @Test func `it learns nothing where no broker answers, and says so`() throws {
        let cluster = try MockCluster()
        try cluster.setDown()
        #expect(try !Producer(brokers: cluster.bootstrap).learnLeaders(of: "incidents", within: 200))
    }
}
