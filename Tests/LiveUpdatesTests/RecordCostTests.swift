// Tests: RecordedEvent.swift

import AllocationCounter
import Testing

@testable import LiveUpdates

/// What a record costs where nobody follows its account, in allocations.
@Suite(.enabled(if: allocations_are_counted())) struct RecordCostTests {
    /// Longer than what a String has room for in itself.
    static let account = "ACCOUNT-0123456789-0123456789"

    static func records(_ preset: String) -> [TestRecord] {
        let id = "0c2e6a4e-5d4c-4f0e-9a3b-3c1d6b7a8e9f"
        let headers = [
            ("account_id", account), ("ce_specversion", "1.0"), ("ce_accountid", account), ("ce_subject", id),
            ("ce_type", "com.example.incident.created"), ("eventType", "incident.created"),
        ]
        let values =
            switch preset {
            case "rails":
                [
                    #"{"account_id":"\#(account)","entity":"incidents::incident","id":"\#(id)","type":"created"}"#,
                    #"{"account_id":4711,"entity":"alerts\/alert","id":17,"type":"alert.upd\u0061ted"}"#,
                ]
            case "debezium":
                [
                    #"{"op":"c","source":{"table":"incident"},"after":{"account_id":"\#(account)","id":"\#(id)"}}"#,
                    #"{"op":"d","source":{"table":"incident"},"before":{"account_id":7,"id":12},"after":null}"#,
                ]
            case "pagerduty-webhook-v3":
                [
                    """
                    {"event":{"resource_type":"incident","event_type":"incident.triggered",\
                    "data":{"type":"incident","id":"\(id)"}}}
                    """
                ]
            default: ["{}"]
            }
        return values.map { TestRecord($0, topic: "outbox.event.incident", key: id, headers: headers) }
    }

    @Test(arguments: ["rails", "debezium", "pagerduty-webhook-v3", "debezium-outbox", "cloudevents"])
    func `mapping a record of a known kind allocates nothing`(preset: String) throws {
        let mapper = try EventMapper.of(preset)
        let records = Self.records(preset)
        for record in records {
            guard case .event = mapper.read(record) else {
                Issue.record("\(record)")
                return
            }
        }
        let before = allocations_of_thread()
        var events = 0
        for number in 0..<100 * records.count {
            guard case .event = mapper.read(records[number % records.count]) else { continue }
            events += 1
        }
        let after = allocations_of_thread()
        #expect(events == 100 * records.count)
        #expect(after - before == 0)
    }

    @Test func `an event that nobody follows allocates nothing in a log that is full`() throws {
        var limits = HistoryLimits()
        limits.maximumEventsPerAccount = 200
        let history = History(limits: limits)
        let mapper = try EventMapper.of("rails")
        let records = Self.records("rails")
        let partition = PartitionName(topic: 0, number: 0)
        var offset: Int64 = 0
        func take(_ count: Int) {
            for _ in 0..<count {
                guard case .event(let event) = mapper.read(records[Int(offset) % records.count]) else { continue }
                let appended = history.append(event, partition: partition, offset: offset, timestamp: 1_000, now: 1_000)
                #expect(appended.sequence > 0 && appended.followed == nil)
                offset += 1
            }
        }
        take(2_000)
        #expect(history.size.events == 400)
        let before = allocations_of_thread()
        for _ in 0..<1_000 {
            guard case .event(let event) = mapper.read(records[Int(offset) % records.count]) else { continue }
            history.append(event, partition: partition, offset: offset, timestamp: 1_000, now: 1_000)
            offset += 1
        }
        #expect(allocations_of_thread() - before == 0)
    }

    @Test func `an allocation is counted`() {
        let before = allocations_of_thread()
        let array = [UInt8](repeating: 1, count: Int(before % 7) + 100)
        #expect(allocations_of_thread() > before && array.count >= 100)
    }

    @Test func `what is mapped stays as it was while the mapper goes on`() throws {
        let mapper = try EventMapper.of("rails")
        var kept: [RecordedEvent] = []
        for number in 0..<10 {
            let record = TestRecord(
                #"{"account_id":"A\#(number)","entity":"incident","id":"I\#(number)","type":"made"}"#)
            guard case .event(let event) = mapper.read(record) else {
                Issue.record("\(number)")
                return
            }
            kept.append(event)
        }
        #expect(kept.map(\.account.text) == (0..<10).map { "A\($0)" })
        #expect(kept.map(\.event.id) == (0..<10).map { "I\($0)" })
    }
}
