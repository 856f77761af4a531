import Testing

@testable import Kafka

@Suite struct `Where reading begins` {
    private func sighting(_ count: Int32, leader: Int32? = 1) -> PartitionHistory.Sighting {
        .present((0..<count).map { ($0, leader) })
    }

    private func origins(_ history: PartitionHistory, _ count: Int32) -> [PartitionHistory.Origin?] {
        (0..<count).map { history.openOrigin(topic: 0, partition: $0) }
    }

    @Test func `what is there when a topic is first seen is read from its end`() {
        var history = PartitionHistory(topics: ["t"])
        _ = history.see(sighting(2), topic: 0)
        #expect(origins(history, 3) == [.window, .window, nil])
    }

    @Test func `partitions that are added are read from their beginning`() {
        var history = PartitionHistory(topics: ["t"])
        _ = history.see(sighting(1), topic: 0)
        _ = history.see(sighting(3), topic: 0)
        #expect(origins(history, 3) == [.window, .beginning, .beginning])
    }

    @Test func `a topic that was missing is read from its beginning`() {
        var history = PartitionHistory(topics: ["t"])
        #expect(history.see(.missing, topic: 0).state == .missing)
        #expect(history.see(sighting(2), topic: 0).incarnation == 0, "nothing of it was read before")
        #expect(origins(history, 2) == [.beginning, .beginning])
    }

    @Test(arguments: [PartitionHistory.Sighting.forbidden, .unclear("loading")])
    func `not being told is not being missing`(_ sighting: PartitionHistory.Sighting) {
        var history = PartitionHistory(topics: ["t"])
        _ = history.see(sighting, topic: 0)
        _ = history.see(self.sighting(1), topic: 0)
        #expect(origins(history, 1) == [.window])
        history.resolve(topic: 0, partition: 0, Opening(start: 7, loadUntil: 7, began: nil, born: 0))
        _ = history.see(sighting, topic: 0)
        let topic = history.see(self.sighting(1), topic: 0)
        #expect(topic.incarnation == 0)
        #expect(
            topic.state
                == .present([
                    .init(number: 0, leader: 1, opening: Opening(start: 7, loadUntil: 7, began: nil, born: 0), end: nil)
                ]))
    }

    @Test func `a partition without a leader at first is still read from its end`() {
        var history = PartitionHistory(topics: ["t"])
        _ = history.see(sighting(1, leader: nil), topic: 0)
        _ = history.see(sighting(1), topic: 0)
        #expect(origins(history, 1) == [.window])
    }

    @Test func `a start once found stays`() {
        var history = PartitionHistory(topics: ["t"])
        _ = history.see(sighting(1), topic: 0)
        history.resolve(topic: 0, partition: 0, Opening(start: 42, loadUntil: 42, began: nil, born: 0))
        #expect(origins(history, 1) == [nil])
        #expect(
            history.see(sighting(1), topic: 0).state
                == .present([
                    .init(
                        number: 0, leader: 1, opening: Opening(start: 42, loadUntil: 42, began: nil, born: 0), end: nil)
                ]))
    }

    @Test func `a topic that went missing is another one when it comes back`() {
        var history = PartitionHistory(topics: ["t"])
        _ = history.see(sighting(2), topic: 0)
        history.resolve(topic: 0, partition: 0, Opening(start: 42, loadUntil: 42, began: nil, born: 0))
        #expect(history.see(.missing, topic: 0).incarnation == 1)
        #expect(history.see(.missing, topic: 0).incarnation == 1)
        #expect(history.see(sighting(2), topic: 0).incarnation == 1)
        #expect(origins(history, 2) == [.beginning, .beginning])
    }

    @Test func `a topic with fewer partitions than before was made anew`() {
        var history = PartitionHistory(topics: ["t"])
        _ = history.see(sighting(3), topic: 0)
        history.resolve(topic: 0, partition: 0, Opening(start: 42, loadUntil: 42, began: nil, born: 0))
        #expect(history.see(sighting(2), topic: 0).incarnation == 1)
        #expect(origins(history, 3) == [.beginning, .beginning, nil])
    }

    @Test func `a position that was lost is begun anew at the start of the log, and the others are left alone`() {
        var history = PartitionHistory(topics: ["t"])
        _ = history.see(sighting(2), topic: 0)
        for partition in [0, 1] as [Int32] {
            history.resolve(
                topic: 0, partition: partition, Opening(start: 42, loadUntil: 50, began: nil, born: 0))
        }
        history.reopen(topic: 0, partition: 1)
        #expect(origins(history, 2) == [nil, .beginning])
        history.resolve(topic: 0, partition: 1, Opening(start: 60, loadUntil: 60, began: 5, born: 5))
        let topic = history.see(sighting(2), topic: 0)
        #expect(topic.incarnation == 0)
        #expect(topic.partition(at: 0)?.opening?.turn == 0 && topic.partition(at: 1)?.opening?.turn == 1)
    }

    @Test func `another log is read from its beginning, and was not born before the old one was known last`() {
        var history = PartitionHistory(topics: ["t"])
        _ = history.see(sighting(2), topic: 0)
        for partition in [0, 1] as [Int32] {
            history.resolve(topic: 0, partition: partition, Opening(start: 0, loadUntil: 0, began: nil, born: 0))
        }
        let answers = AnchorCheck.Answers(end: 3)
        _ = history.hold(LogAnchor(next: 3), topic: 0, partition: 0, answers, known: 7_000)
        history.breakLogs(topic: 0)
        let topic = history.renew(history.see(sighting(2), topic: 0), topic: 0)
        #expect(topic.incarnation == 1)
        #expect(origins(history, 2) == [.beginning, .beginning])
        history.resolve(topic: 0, partition: 1, Opening(start: 0, loadUntil: 0, began: nil, born: 6_000))
        let opening = history.see(sighting(2), topic: 0).partition(at: 1)?.opening
        #expect(opening?.born == 7_001 && opening?.bornFloor == 7_001)
    }

    @Test func `topics are told apart`() {
        var history = PartitionHistory(topics: ["a", "b"])
        _ = history.see(sighting(1), topic: 0)
        _ = history.see(.missing, topic: 1)
        _ = history.see(sighting(1), topic: 1)
        #expect(history.openOrigin(topic: 0, partition: 0) == .window)
        #expect(history.openOrigin(topic: 1, partition: 0) == .beginning)
    }
}
