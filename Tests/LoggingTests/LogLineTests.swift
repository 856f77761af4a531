// Tests: LogKey.swift, LogValue.swift, Timestamp.swift

import Foundation
import Testing

@testable import Logging

@Suite struct LogLineTests {
    static func record(_ facts: Logger.Facts, time: Int64 = 1_795_257_646_123) -> LogRecord {
        LogRecord(
            time: time, level: .warning, part: "kafka", message: "a sentence", facts: facts.map { ($0.key, $0.value) })
    }

    static func bytes(_ record: LogRecord, _ format: LogFormat) -> [UInt8] {
        var text = LogText()
        text.append(record, format: format)
        return text.bytes
    }

    /// As the writer makes it: shortened on its way into the queue.
    static func line(_ facts: Logger.Facts, _ format: LogFormat) -> String {
        String(decoding: bytes(record(facts).shortened, format), as: UTF8.self)
    }

    @Test func `a JSON line is an object with time, level, message and the facts`() throws {
        let line = Self.line([.topic: "incidents", .offset: 42, .cause: .truth(true), .reason: .absent], .json)
        #expect(
            line == """
                {"time":"2026-11-21T10:40:46.123Z","level":"warning","message":"a sentence","part":"kafka",\
                "topic":"incidents","offset":42,"cause":true}

                """)
    }

    @Test func `a text line ends its values clearly`() {
        let line = Self.line([.topic: "incidents", .path: "/a b", .error: "", .text: "x=\"y\"", .offset: -1], .text)
        #expect(
            line == """
                2026-11-21T10:40:46.123Z warning kafka: a sentence topic=incidents path="/a b" error="" \
                text="x=\\"y\\"" offset=-1

                """)
    }

    @Test(arguments: [LogFormat.text, .json]) func `no peer forges a line or steers a terminal`(format: LogFormat) {
        for value in 0...0x10FFFF as ClosedRange<UInt32> where value < 0x300 || (0x2000...0x2100).contains(value) {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let line = Self.line([.peer: .text("a\(scalar)b")], format)
            let scalars = line.unicodeScalars.dropLast()
            let steering: [ClosedRange<UInt32>] = [
                0...0x1F, 0x7F...0x9F, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069,
            ]
            #expect(!scalars.contains { scalar in steering.contains { $0.contains(scalar.value) } }, "\(value)")
        }
    }

    @Test func `every JSON line can be read back with the value that was given`() throws {
        let values = [
            "", "\"", "\\", "\n\r\t\0\u{1b}[31m", "\u{7f}\u{80}\u{9f}\u{2028}\u{2029}\u{202e}", "é漢🎺", "a\u{301}",
        ]
        for value in values {
            let bytes = Self.bytes(Self.record([.peer: .text(value)]), .json)
            let object = try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
            #expect((object?["peer"] as? String).map { Array($0.utf8) } == Array(value.utf8))
        }
    }

    @Test func `bytes that are not UTF-8 are repaired`() {
        #expect(
            LogValue.text(bytes: [0x61, 0xFF, 0xC3, 0x28, 0xED, 0xA0, 0x80])
                == "a\u{FFFD}\u{FFFD}(\u{FFFD}\u{FFFD}\u{FFFD}")
    }

    @Test func `a long value is cut at its limit, and its length is told`() {
        let longest = String(repeating: "x", count: LogValue.maximumTextBytes)
        #expect(Self.line([.peer: .text(longest)], .json).contains("\"\(longest)\""))
        #expect(Self.line([.peer: .text(longest + "y")], .json).contains("\(longest)… (2049 bytes)\"}"))
        let hostile = Self.line([.peer: .text(String(repeating: "\u{1}", count: 1 << 20))], .text)
        #expect(hostile.utf8.count < LogValue.maximumTextBytes + 200)
    }

    @Test func `what waits for the writer holds no more of a text than its line shows`() {
        let rows: [(text: String, kept: Int?)] = [
            (String(repeating: "x", count: 2_048), nil), (String(repeating: "x", count: 2_049), 2_048),
            (String(repeating: "x", count: 2 << 20), 2_048), ("x" + String(repeating: "é", count: 1_024), 2_047),
            ("xyz" + String(repeating: "🎺", count: 512), 2_047),
        ]
        for (text, kept) in rows {
            let shortened = Self.record([.offset: 1, .peer: .text(text)]).shortened
            guard let kept else {
                #expect(shortened[.peer] == .text(text))
                continue
            }
            let beginning = String(decoding: Array(text.utf8).prefix(kept), as: UTF8.self)
            #expect(shortened[.peer] == .cut(beginning, bytes: text.utf8.count))
            #expect(shortened[.offset] == 1 && LogEntry(record: shortened, format: .json).byteCount < 2_048 + 512)
            #expect(Self.line([.peer: .text(text)], .text).contains("\"\(beginning)… (\(text.utf8.count) bytes)\""))
        }
    }

    @Test func `lines of one second share its text, and each has its own milliseconds`() {
        let times: [Int64] = [
            1_795_257_646_123, 1_795_257_646_999, 1_795_257_646_000, 1_795_257_647_001, 1_795_257_646_007, -1, -1_000,
            0, .max, .min, 253_402_300_799_998,
        ]
        var text = LogText()
        for time in times { text.append(Self.record([:], time: time), format: .text) }
        let lines = String(decoding: text.bytes, as: UTF8.self).split(separator: "\n")
        #expect(lines.map { String($0.prefix(24)) } == times.map(Timestamp.text))
    }

    @Test func `a line that has become too long says that facts are left out`() throws {
        let long = LogValue.text(String(repeating: "x", count: 3_000))
        let facts: Logger.Facts = [
            .text: long, .reason: long, .cause: long, .error: long, .path: long, .topic: long, .peer: long,
            .account: long, .advice: long, .broker: long,
        ]
        let line = Self.line(facts, .json)
        #expect(line.utf8.count < LogText.maximumLineBytes + LogValue.maximumTextBytes + 200)
        #expect(line.hasSuffix(",\"cut\":true}\n"))
        #expect((try? JSONSerialization.jsonObject(with: Data(line.utf8))) != nil)
        #expect(Self.line(facts, .text).hasSuffix(" cut=true\n"))
    }

    @Test func `times are RFC 3339 in UTC`() {
        let rows: [(Int64, String)] = [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (951_827_696_789, "2000-02-29T12:34:56.789Z"), (1_709_164_800_000, "2024-02-29T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"), (1_735_689_599_999, "2024-12-31T23:59:59.999Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"), (.max, "9999-12-31T23:59:59.999Z"),
            (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"), (.min, "0000-01-01T00:00:00.000Z"),
        ]
        for (milliseconds, text) in rows { #expect(Timestamp.text(milliseconds) == text) }
    }
}
