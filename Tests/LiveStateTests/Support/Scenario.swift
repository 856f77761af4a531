import Foundation
import LiveState
import Testing

/// A scenario of Tests/Scenarios: what comes in, what must be done and seen, in order, with a clock of its own. The JavaScript
/// module runs the same files (Tests/JavaScript/scenarios.js, which says what each member means).
struct Scenario: Sendable, CustomTestStringConvertible {
    let file: String
    private let bytes: Data

    var testDescription: String { file }

    /// All scenarios of a folder.
    static func all(_ folder: String) -> [Scenario] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Scenarios/\(folder)")
        let files = (try? FileManager.default.contentsOfDirectory(at: root, includingPropertiesForKeys: nil)) ?? []
        let scenarios = files.filter { $0.pathExtension == "json" }.sorted { $0.path < $1.path }.map {
            Scenario(file: $0.lastPathComponent, bytes: (try? Data(contentsOf: $0)) ?? Data())
        }
        precondition(!scenarios.isEmpty, "no scenario in \(root.path)")
        return scenarios
    }

    /// Scenarios that JavaScript has drawn: `count` of them, the first of `seed`, each named after its own.
    static func drawn(_ machine: String, count: Int, seed: Int) throws -> [Scenario] {
        // Node takes the way up by names: links would lead elsewhere.
        let support = URL(filePath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
        let script = support.appending(path: "../../JavaScript/histories.js")
        let node = Process()
        node.executableURL = URL(filePath: "/usr/bin/env")
        node.arguments = ["node", script.path, machine, "\(count)", "\(seed)"]
        let output = Pipe()
        node.standardOutput = output
        try node.run()
        let lines = output.fileHandleForReading.readDataToEndOfFile().split(separator: UInt8(ascii: "\n"))
        node.waitUntilExit()
        try #require(node.terminationStatus == 0 && lines.count == count, "node \(script.lastPathComponent) has failed")
        return lines.enumerated().map { Scenario(file: "\(machine) of seed \(seed + $0)", bytes: Data($1)) }
    }

    /// Runs it: each step in order, and no wake that was due is passed over.
    func run<Machine: StateMachine>(_ type: Machine.Type) throws {
        let json = try #require(
            try JSONSerialization.jsonObject(with: bytes) as? [String: Any], "\(file): not an object")
        var machine = Machine(try decode(Machine.Settings.self, json["settings"] ?? [String: Any]()))
        let steps = try #require(json["steps"] as? [[String: Any]], "\(file): no steps")
        #expect(json["about"] is String && !steps.isEmpty)
        for (index, step) in steps.enumerated() {
            let place = "\(file), step \(index)"
            let now = Milliseconds(try #require(step["at"] as? Int, "\(place): no 'at'"))
            let input = try decode(Machine.Input.self, try #require(step["in"], "\(place): no 'in'"))
            let isWake = (step["in"] as? [String: Any])?.keys.first == "wake"
            if let due = machine.wakeAt, !isWake { try #require(now <= due, "\(place): the wake at \(due) is missing") }
            let effects = try encode(machine.handle(input, at: now))
            let expected = step["out"] ?? [Any]()
            #expect(NSArray(array: effects as? [Any] ?? []) == NSArray(array: expected as? [Any] ?? []), "\(place)")
            if let view = step["view"] as? [String: Any] {
                let seen = try encode(machine.view) as? [String: Any] ?? [:]
                for (name, value) in view {
                    let found = seen[name] ?? NSNull()
                    #expect(NSArray(object: found) == NSArray(object: value), "\(place): \(name) is \(found)")
                }
            }
            if let wake = step["wake"] {
                #expect(machine.wakeAt.map { Int($0) } == wake as? Int, "\(place): wake")
            }
        }
    }

    private func decode<Value: Decodable>(_ type: Value.Type, _ json: Any) throws -> Value {
        let bytes = try JSONSerialization.data(withJSONObject: json, options: .fragmentsAllowed)
        return try JSONDecoder().decode(type, from: bytes)
    }

    private func encode(_ value: some Encodable) throws -> Any {
        try JSONSerialization.jsonObject(with: JSONEncoder().encode(value), options: .fragmentsAllowed)
    }
}
