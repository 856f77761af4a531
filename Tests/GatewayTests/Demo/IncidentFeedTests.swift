// Tests: IncidentLife.swift

import Gateway
import LiveUpdates
import Testing

struct IncidentFeedTests {
    static let accounts = ["PACC1", "PACC2", "PACC3"]

    static func records(_ count: Int, seed: UInt64 = 1) -> [IncidentFeed.Record] {
        var feed = IncidentFeed(seed: seed, accounts: accounts, startMilliseconds: 1_795_240_000_000)
        return (0..<count).map { _ in feed.next() }
    }

    /// A record of the feed, as the broker would hand it on.
    struct Fed: RecordReading {
        let record: IncidentFeed.Record
        let topic = "incidents"

        func readValue(_ body: (Span<UInt8>) -> Void) -> Bool {
            body(record.value.span)
            return true
        }

        func readKey(_ body: (Span<UInt8>) -> Void) -> Bool {
            body(record.account.utf8Span.span)
            return true
        }

        func readHeader(_ name: String, _ body: (Span<UInt8>) -> Void) -> Bool { false }
    }

    static func outcomes(_ records: [IncidentFeed.Record]) throws -> [MappingOutcome] {
        let mapper = EventMapper(try EventMapping(IncidentFeed.mapping))
        return records.map { mapper.map(Fed(record: $0)) }
    }

    @Test func `the same seed gives the same records and another seed others`() {
        #expect(Self.records(500) == Self.records(500))
        #expect(Self.records(500) != Self.records(500, seed: 2))
    }

    @Test func `records are due in order and keep coming`() {
        let records = Self.records(5_000)
        #expect(zip(records, records.dropFirst()).allSatisfy { $0.due <= $1.due })
        // Something to see within 20 seconds, and no flood.
        let early = records.prefix { $0.due < 20_000 }
        #expect(early.count > 60)
        #expect(early.count < 2_000)
        #expect(records[0].due < 1_000)
    }

    @Test func `the first account sees the incident of the README first`() throws {
        let first = try Self.outcomes(Self.records(200)).compactMap { outcome -> ThinEvent? in
            guard case .event(let account, let event) = outcome, account == Account("PACC1") else { return nil }
            return event
        }.filter { $0.id == "PAM4FGS" }
        #expect(first.map(\.type).prefix(2) == ["created", "updated"])
        #expect(first.last?.type == "resolved")
    }

    @Test func `every record maps to an event of its key's account or is a dropped alert`() throws {
        let records = Self.records(3_000)
        var alerts = 0
        var entities: Set<String> = []
        var accounts: Set<Account> = []
        for (record, outcome) in zip(records, try Self.outcomes(records)) {
            switch outcome {
            case .event(let account, let event):
                #expect(account == Account(record.account))
                entities.insert(event.entity)
                accounts.insert(account)
            case .skip(let reason, let why):
                #expect(reason == .dropped, "\(why)")
                alerts += 1
            }
        }
        #expect(alerts > 300)
        #expect(entities == ["incident", "note", "responder_request"])
        #expect(accounts == Set(Self.accounts.map(Account.init)))
    }

    @Test func `an incident is created first, resolved last and never both twice`() throws {
        var lives: [String: [String]] = [:]
        for case .event(let account, let event) in try Self.outcomes(Self.records(5_000))
        where event.entity == "incident" {
            lives["\(account)/\(event.id)", default: []].append(event.type)
        }
        #expect(lives.count > 200)
        for (incident, types) in lives {
            #expect(types.first == "created", "\(incident): \(types)")
            #expect(types.filter { $0 == "created" }.count == 1)
            #expect(types.filter { $0 == "resolved" }.count <= 1)
            if let end = types.firstIndex(of: "resolved") { #expect(end == types.count - 1, "\(incident): \(types)") }
        }
        let seen = Set(lives.values.joined())
        #expect(seen == ["created", "updated", "acknowledged", "escalated", "annotated", "resolved"])
    }

    @Test func `records are JSON with a time that begins where the feed began`() throws {
        for record in Self.records(300) {
            let root = try JSONDocument(record.value, limits: .record).root
            #expect(root.repeatedMember == nil)
            #expect(try root.member("changes")?.kind == .object)
            let occurred = try root.member("occurred_at")?.string
            #expect(occurred?.hasPrefix("2026-11-21T") == true, "\(occurred ?? "")")
        }
    }
}
