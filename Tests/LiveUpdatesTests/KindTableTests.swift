import LiveUpdates
import TestHarness
import Testing

/// What the mapper remembers of kinds changes nothing that comes of a record.
@Suite struct KindTableTests {
    static let entities = [
        "incident", "incidents::incident", "incident.a", "alerts::alert", "e\u{301}", "é", "service", "",
        String(repeating: "x", count: 64), String(repeating: "x", count: 65), "long",
    ]
    static let types = [
        "created", "incident.created", "incidents::incident.created", "incident.", "old", "incident.old", "e\u{301}",
        "é", "", String(repeating: "y", count: 64), String(repeating: "y", count: 65),
        "service." + String(repeating: "y", count: 64),
    ]

    static func mapping() throws -> EventMapping {
        var settings = EventMapping.Settings(preset: "rails")
        settings.rename = [.init(from: "long", to: String(repeating: "z", count: 64)), .init(from: "é", to: "accent")]
        settings.drop = ["incident.a"]
        settings.types = [.init(from: "old", to: "new"), .init(from: "é", to: "accented")]
        return try EventMapping(settings)
    }

    @Test func `a mapper that has seen many records makes of each what a new one makes`() throws {
        let mapping = try Self.mapping()
        let mapper = EventMapper(mapping)
        var generator = SeededGenerator(seed: 7)
        var events = 0
        for _ in 0..<4_000 {
            let entity = Self.entities[generator.below(Self.entities.count)]
            // As many types as share the table's slots, and some that come again and again.
            let type =
                generator.isOne(in: 3) ? "t\(generator.below(2_000))" : Self.types[generator.below(Self.types.count)]
            let account = generator.isOne(in: 20) ? String(repeating: "a", count: 256) : "A1"
            let id = generator.isOne(in: 20) ? "" : "I1"
            let record = TestRecord(
                #"{"account_id":"\#(account)","entity":"\#(entity)","id":"\#(id)","type":"\#(type)"}"#)
            let outcome = mapper.map(record)
            if case .event = outcome { events += 1 }
            #expect(outcome == EventMapper(mapping).map(record), "\(entity) \(type)")
        }
        #expect(events > 1_000)
    }
}
