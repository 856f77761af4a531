// Tests: LimitsTable.swift

import TestHarness
import Testing

@testable import GatewaySettings

/// The page about limits says of each what the settings say.
struct LimitsPageTests {
    private static let section = ArticleSection("limits", of: "Limits.md")

    /// What stands of a limit in the table of the page: one line.
    private static func line(_ row: SettingRow) -> String {
        "| `\(row.path)` | \(row.defaultText) | \(row.explanation) |"
    }

    @Test func `the page has a line for each limit, with its default and its sentences, in the order of the settings`()
        throws
    {
        let expected = SettingsTable.rows.filter { $0.path.hasPrefix("limits.") }.map(Self.line)
        #expect(expected.count > 15)
        let isWritten = try Self.section.has(["| setting | default | what |", "| --- | --- | --- |"] + expected)
        #expect(isWritten, "Limits.md is not as the table has it: run Tests/documents")
        // Nor is there another table of them.
        let found = try Self.section.text.split(separator: "\n").filter { $0.hasPrefix("| `limits.") }
        #expect(found.map(String.init) == expected)
    }
}
