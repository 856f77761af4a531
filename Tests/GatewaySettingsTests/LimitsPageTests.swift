// Tests: LimitsTable.swift

import Foundation
import Testing

@testable import GatewaySettings

/// The page about limits says of each what the settings say.
struct LimitsPageTests {
    private static let page = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Sources/Gateway/Gateway.docc/Limits.md").standardizedFileURL

    /// What stands of a limit in the table of the page: one line.
    private static func line(_ row: SettingRow) -> String {
        "| `\(row.path)` | \(row.defaultText) | \(row.explanation) |"
    }

    @Test func `the page has a line for each limit, with its default and its sentences, in the order of the settings`()
        throws
    {
        let lines = try String(contentsOf: Self.page, encoding: .utf8).split(separator: "\n").map(String.init)
        let expected = SettingsTable.rows.filter { $0.path.hasPrefix("limits.") }.map(Self.line)
        #expect(expected.count > 15)
        let found = lines.filter { $0.hasPrefix("| `limits.") }
        for line in expected where !found.contains(line) { Issue.record("Limits.md lacks this line: \(line)") }
        for line in found where !expected.contains(line) { Issue.record("Limits.md has a line too many: \(line)") }
        #expect(found.filter(expected.contains) == expected.filter(found.contains), "the order differs")
    }
}
