import Foundation
import LiveUpdates
import Testing

/// What real producers wrote, and what must come of it.
struct RecordsTests {
    static let counts = [
        "cloudevents": 16, "debezium": 38, "debezium-flat": 21, "debezium-outbox": 3, "debezium-schema": 25,
        "pagerduty-webhook-v3": 32, "rails": 41,
    ]

    static func lines(of name: String) throws -> [[UInt8]] {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Records/\(name).jsonl")
        return [UInt8](try Data(contentsOf: file)).split(separator: UInt8(ascii: "\n")).map(Array.init)
    }

    static func json(_ line: [UInt8]) throws -> JSONValue { try JSONDocument(line, limits: .record).root }

    @Test(arguments: counts.keys.sorted()) func `real records give what stands beside them`(name: String) throws {
        let lines = try Self.lines(of: name)
        let settings = try #require(try Self.json(lines[0]).member("settings"))
        let mapping = try EventMapping(EventMapping.Settings(settings))
        let mapper = MapLines(mapping)
        #expect(lines.count - 1 == Self.counts[name])
        for (number, line) in lines.enumerated().dropFirst() {
            let expect = try #require(try Self.json(line).member("expect"))
            let outcome = mapper.outcome(of: line)
            #expect(outcome.short == (try Self.short(expect)), "\(name).jsonl:\(number + 1)")

            // And the line that `map` prints is valid JSON that says the same.
            var output: [UInt8] = []
            let stream = MapLines(mapping)
            stream.consume((line + [UInt8(ascii: "\n")]).span, into: &output)
            #expect(output.popLast() == UInt8(ascii: "\n"))
            #expect(try Self.short(try Self.json(output)) == outcome.short)
            if case .event = outcome {
                #expect(try Self.json(output).member("message")?.members?.map(\.name) == ["ent", "id", "type"])
            }
        }
    }

    private static func short(_ expect: JSONValue) throws -> String {
        if let reason = try expect.member("skip")?.string { return reason }
        let message = try #require(try expect.member("message"))
        let account = try #require(try expect.member("account")?.string)
        let entity = try #require(try message.member("ent")?.string)
        let id = try #require(try message.member("id")?.string)
        let type = try #require(try message.member("type")?.string)
        return "\(account) \(entity)/\(id)/\(type)"
    }
}
