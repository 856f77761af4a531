import Foundation
import Testing

@testable import Kafka

@Suite(.serialized) struct `Producer with the embedded broker` {
    @Test func `it learns the leaders of a topic, and writes to them`() throws {
        let cluster = try MockCluster()
        try cluster.createTopic("incidents", partitions: 4)
        let producer = try Producer(brokers: cluster.bootstrap)
        #expect(producer.learnLeaders(of: "incidents", within: 60_000) == .known)
        for partition in 0..<4 {
            #expect(try producer.produce(topic: "incidents", partition: Int32(partition), value: [0x7B, 0x7D]))
        }
        #expect(producer.flush(within: 60_000))
        #expect(producer.delivered == 4 && producer.failed == 0)
    }

    @Test func `the broker's answers leave at once, also where two are under way`() throws {
        let cluster = try MockCluster()
        let port = try #require(in_port_t(cluster.bootstrap.drop { $0 != ":" }.dropFirst()))
        try cluster.createTopic("incidents")
        let producer = try Producer(brokers: cluster.bootstrap)
        #expect(producer.learnLeaders(of: "incidents", within: 60_000) == .known)
        // What listens, and what it has accepted.
        let open = try FileManager.default.contentsOfDirectory(atPath: "/dev/fd").compactMap { Int32($0) }
        let sockets = open.filter { localPort($0) == port }
        #expect(sockets.count > 1)
        for socket in sockets { #expect(leavesAtOnce(socket)) }
        #expect(producer.flush(within: 60_000))
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
        #expect(
            try Producer(brokers: cluster.bootstrap).learnLeaders(of: "incidents", within: 200)
                == Producer.TopicAnswer.none)
    }
}

private func localPort(_ descriptor: Int32) -> in_port_t? {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = unsafe withUnsafeMutablePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe getsockname(descriptor, $0, &length) }
    }
    return status == 0 && address.sin_family == sa_family_t(AF_INET) ? in_port_t(bigEndian: address.sin_port) : nil
}

private func leavesAtOnce(_ descriptor: Int32) -> Bool {
    var isSet: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    return unsafe getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isSet, &length) == 0 && isSet != 0
}
