// Tests: EventMapping.swift, Preset.swift

import LiveUpdates
import Testing

/// Settings that cannot be are refused by key and value.
struct MappingSettingsTests {
    static func refusal(
        _ preset: String? = "rails", _ change: (inout EventMapping.Settings) -> Void = { _ in }
    ) -> MappingError? {
        var settings = EventMapping.Settings(preset: preset)
        change(&settings)
        do throws(MappingError) {
            _ = try EventMapping(settings)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: Preset.allCases) func `each preset stands by itself`(preset: Preset) {
        #expect(Self.refusal(preset.rawValue) == nil)
    }

    @Test func `the presets have the names of the design`() {
        #expect(
            Preset.allCases.map(\.rawValue) == [
                "rails", "pagerduty-webhook-v3", "debezium", "debezium-flat", "debezium-outbox", "cloudevents",
            ])
    }

    @Test func `an unknown preset is refused with the known ones`() {
        #expect(
            Self.refusal("Rails")?.description
                == "events.preset: \"Rails\" is none of rails, pagerduty-webhook-v3, debezium, debezium-flat, "
                + "debezium-outbox, cloudevents")
        #expect(Self.refusal("")?.key == "events.preset")
    }

    @Test func `without a preset each of the four is needed`() {
        #expect(Self.refusal(nil)?.key == "events.account")
        #expect(Self.refusal(nil) { $0.account = ["/a"] }?.key == "events.entity")
        #expect(
            Self.refusal(nil) {
                $0.account = ["/a"]
                $0.entity = ["/e"]
                $0.id = ["/i"]
            }?.description
                == "events.type: missing; without events.preset each of account, entity, id and type is needed")
        #expect(
            Self.refusal(nil) {
                $0.account = ["/a"]
                $0.entity = ["/e"]
                $0.id = ["/i"]
                $0.type = ["/t"]
            } == nil)
    }

    static let malformed: [(source: String, expected: String)] = [
        ("", "a source: /pointer, header:NAME, key, key:/pointer or topic:N"), ("id", "a source"),
        ("Key", "a source"), ("keys", "a source"), ("topic", "a source"), ("header", "a source"),
        (" /id", "a source"), ("$.id", "a source"), ("header:", "the name of a header"),
        ("key:", "a JSON pointer, which begins with \"/\""), ("key:id", "a JSON pointer, which begins"),
        ("/a~", "a JSON pointer with every \"~\""), ("/a~2b", "a JSON pointer with every \"~\""),
        ("key:/~x", "a JSON pointer with every \"~\""), ("topic:", "a whole number"), ("topic:x", "a whole number"),
        ("topic:1.5", "a whole number"), ("topic:+1", "a whole number"), ("topic:-", "a whole number"),
        ("topic:250", "a whole number from -249 to 249"), ("topic:-250", "a whole number"),
        ("topic:99999999999999999999", "a whole number"), ("row:/id", "another source: \"row:\" is for the presets"),
    ]

    @Test(arguments: malformed) func `a malformed source is refused`(source: String, expected: String) {
        let error = Self.refusal { $0.id = ["/id", source] }
        #expect(error?.key == "events.id")
        #expect(error?.description.hasPrefix("events.id: \"\(source)\" is not \(expected)") == true)
    }

    @Test(arguments: ["topic:249", "topic:-249", "topic:0", "header: ", "key:/", "/", "/a~0~1", "header:a:b"])
    func `an odd source is taken`(source: String) {
        #expect(Self.refusal { $0.id = [source] } == nil)
    }

    @Test func `a row's column is a source of the Debezium presets alone`() {
        for preset in Preset.allCases {
            let takes = preset == .debezium || preset == .debeziumFlat
            #expect((Self.refusal(preset.rawValue) { $0.id = ["row:/id"] } == nil) == takes)
        }
        #expect(
            Self.refusal("debezium") { $0.id = ["row:id"] }?.description
                == "events.id: \"row:id\" is not a JSON pointer, which begins with \"/\"")
        #expect(Self.refusal("debezium") { $0.id = ["x"] }?.description.contains("row:/pointer") == true)
    }

    @Test func `16 sources are taken and one more is refused`() {
        #expect(Self.refusal { $0.id = [String](repeating: "/id", count: 16) } == nil)
        #expect(
            Self.refusal { $0.id = [String](repeating: "/id", count: 17) }
                == .tooMany(key: "events.id", count: 17, limit: 16))
    }

    @Test func `names are measured and doubled ones refused`() {
        func pair(_ from: String, _ to: String) -> EventMapping.Translation { .init(from: from, to: to) }
        func name(_ count: Int) -> String { String(repeating: "n", count: count) }
        #expect(Self.refusal { $0.rename = [pair(name(255), name(64))] } == nil)
        #expect(Self.refusal { $0.rename = [pair(name(256), "x")] }?.key == "events.rename")
        #expect(Self.refusal { $0.rename = [pair("x", name(65))] }?.key == "events.rename.x")
        #expect(Self.refusal { $0.rename = [pair("x", "")] }?.key == "events.rename.x")
        #expect(Self.refusal { $0.types = [pair("", "x")] }?.key == "events.types")
        #expect(Self.refusal { $0.types = [pair("x", name(65))] }?.key == "events.types.x")
        #expect(Self.refusal { $0.drop = [name(255)] } == nil)
        #expect(Self.refusal { $0.drop = [name(256)] }?.key == "events.drop")
        #expect(Self.refusal { $0.drop = [""] }?.key == "events.drop")
        #expect(
            Self.refusal { $0.rename = [pair("x", "y"), pair("x", "y")] } == .doubled(key: "events.rename", value: "x"))
        #expect(Self.refusal { $0.rename = [pair("\u{E9}", "y"), pair("e\u{301}", "z")] } == nil)
    }

    @Test func `1000 names are taken and one more is refused`() {
        #expect(Self.refusal { $0.drop = (0..<1000).map(String.init) } == nil)
        #expect(
            Self.refusal { $0.drop = (0..<1001).map(String.init) }
                == .tooMany(key: "events.drop", count: 1001, limit: 1000))
    }
}
