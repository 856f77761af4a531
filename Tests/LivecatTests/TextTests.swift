// Tests: JSONLine.swift, SlashCommand.swift

import Testing

@testable import livecat

@Suite struct `Lines from a pipe` {
    static func split(_ pieces: [[UInt8]], limit: Int = 5) -> (lines: [String], isTooLong: Bool) {
        var splitter = LineSplitter(maximumLineBytes: limit)
        var lines: [[UInt8]] = []
        for piece in pieces {
            let result = splitter.split(piece)
            lines += result.lines
            if result.isTooLong { return (lines.map { String(decoding: $0, as: UTF8.self) }, true) }
        }
        if let last = splitter.end() { lines.append(last) }
        return (lines.map { String(decoding: $0, as: UTF8.self) }, false)
    }

    @Test(arguments: [
        ("a\nb\n", ["a", "b"], false), ("a\nb", ["a", "b"], false), ("\n\na", ["", "", "a"], false), ("", [], false),
        ("12345\n", ["12345"], false), ("12345", ["12345"], false), ("a\n123456\n", ["a"], true), ("123456", [], true),
        ("a\r\n", ["a\r"], false),
    ]) func `are cut however they come`(_ input: String, _ lines: [String], _ isTooLong: Bool) {
        let bytes = Array(input.utf8)
        for cut in 0...bytes.count {
            let result = Self.split([Array(bytes[..<cut]), Array(bytes[cut...])])
            #expect(result.lines == lines && result.isTooLong == isTooLong)
        }
    }

    @Test func `tell whether there was any input`() {
        var splitter = LineSplitter(maximumLineBytes: 5)
        #expect(splitter.isEmpty)
        _ = splitter.split([])
        #expect(splitter.isEmpty)
        _ = splitter.split([0x0A])
        #expect(!splitter.isEmpty)
    }
}

@Suite struct `Slash commands` {
    @Test(arguments: [
        ("/ping", SlashCommand.ping("")), ("/ping  a b", .ping("a")), ("/pong x", .pong("x")),
        ("/close", .close(code: 1000, reason: "")), ("/close 4001", .close(code: 4001, reason: "")),
        ("/close 3000 so  long", .close(code: 3000, reason: "so long")),
        ("/ping " + String(repeating: "p", count: 125), .ping(String(repeating: "p", count: 125))),
    ]) func `are understood`(_ line: String, _ command: SlashCommand) throws {
        #expect(try SlashCommand(line) == command)
    }

    @Test(arguments: [
        "/", "/x", "/pings", "/close x", "/close 999", "/close 1005", "/close 1006", "/close 1015", "/close 2999",
        "/close 5000", "/close -1", "/ping " + String(repeating: "p", count: 126),
        "/close 1000 " + String(repeating: "r", count: 124),
    ]) func `are refused`(_ line: String) {
        #expect(throws: SlashCommand.Problem.self) { try SlashCommand(line) }
    }
}

@Suite struct `JSON lines` {
    @Test func `say what happened`() {
        var line = JSONLine(type: "close", milliseconds: 1_795_258_846_007)
        line.add("code", 1000)
        line.add("reason", "a\"\\\n\r\t\u{1}\u{7F}\u{9B}\u{2028}\u{FC}")
        #expect(
            line.line == "{\"time\":\"2026-11-21T11:00:46.007Z\",\"type\":\"close\",\"code\":1000,"
                + "\"reason\":\"a\\\"\\\\\\n\\r\\t\\u0001\\u007f\\u009b\\u2028\u{FC}\"}\n")
    }

    @Test func `carry text as text and the rest as base64`() {
        func payload(_ bytes: [UInt8], isText: Bool) -> String {
            var line = JSONLine(type: "message", milliseconds: 0)
            line.add(payload: bytes, isText: isText) { "\($0.count)" }
            return String(line.line.dropFirst(52))
        }
        #expect(payload([0x61], isText: true) == "\"text\":\"a\"}\n")
        #expect(payload([0x61], isText: false) == "\"base64\":\"1\"}\n")
        #expect(payload([0xFF], isText: true) == "\"base64\":\"1\"}\n")
    }
}

@Suite struct `Round trips` {
    @Test(arguments: [
        (0, "0.00"), (4, "0.00"), (5, "0.01"), (12_345, "12.35"), (1_000_000, "1000.00"), (10_990, "10.99"),
    ])
    func `are told in milliseconds with two decimals`(_ microseconds: Int, _ text: String) {
        #expect(Cat.milliseconds(.microseconds(microseconds)) == text)
    }
}
