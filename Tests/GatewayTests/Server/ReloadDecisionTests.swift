import GatewaySettings
import LiveUpdates
import Testing
import Tokens

@testable import Gateway

struct ReloadDecisionTests {
    static let now: Int64 = 1_800_000_000

    private func settings(_ text: String) throws -> Settings {
        try #require(Settings.load(text: Array(text.utf8), file: "gate.yaml").settings)
    }

    /// Tokens by letters: `a` is the token a of the account A; `a:B` the same token for B, `a:A:s` with a subject.
    private func tokens(_ words: String) -> StaticTokens {
        StaticTokens(
            words.split(separator: " ").map { word in
                let parts = word.split(separator: ":").map(String.init)
                let digest = [UInt8](repeating: parts[0].utf8.first!, count: StaticTokens.digestBytes)
                return StaticTokens.Entry(
                    digest: digest, account: Account(parts.count > 1 ? parts[1] : parts[0].uppercased()),
                    subject: parts.count > 2 ? parts[2] : nil)
            })
    }

    private func marks(_ files: [(String, String)]) -> FileMarks {
        Dictionary(
            uniqueKeysWithValues: files.map { (NamedFile(setting: $0.0, path: "/\($0.0)"), .holds(Array($0.1.utf8))) })
    }

    private func basis(_ text: String = "", tokens words: String = "", certificateEnd: Int64? = nil) throws
        -> ReloadBasis
    {
        ReloadBasis(
            settings: try settings(text), readSettings: try settings(text),
            marks: marks([("", "1"), ("tls.key", "1")]),
            certificateEnd: certificateEnd, isFileEmpty: false, tokens: tokens(words), warnings: [])
    }

    private func finding(_ text: String? = "", tokens words: String? = "") throws -> ReloadFinding {
        var finding = ReloadFinding(settings: try text.map { try settings($0) }, tokens: words.map { tokens($0) })
        finding.marks = marks([("", "1"), ("tls.key", "1")])
        finding.file = "gate.yaml"
        return finding
    }

    private static let broken = SettingsProblem(SettingsLocation(.file("gate.yaml"), line: 3), key: "loops", "is wrong")

    // MARK: - What counts

    /// Each row: settings before and after, what changed, what waits for a restart.
    static let changes: [(old: String, new: String, changed: [String], restarts: [String])] = [
        ("", "", [], []),
        ("", "limits: {max_lag: 3s}", ["limits.max_lag"], []),
        ("", "loops: 3", [], ["loops"]),
        (
            "loops: 2", "loops: 3\nlimits: {max_lag: 3s}\nlog: {level: debug}", ["limits.max_lag", "log.level"],
            ["loops"]
        ),
        (
            "auth: {anonymous: A}", "listen: [':1']\nhistory: {epoch: 2}", ["auth.anonymous"],
            ["listen", "history.epoch"]
        ),
    ]

    @Test(arguments: changes.indices) func `what counts at once does, and the rest is warned about`(row: Int) throws {
        let (old, new, changed, restarts) = Self.changes[row]
        let decision = ReloadDecision(try basis(old), try finding(new), now: Self.now)
        #expect(
            decision.lines == [.reloaded(changed: changed, lostTokens: 0)] + restarts.map { .needsRestart($0) })
        let adopted = try #require(decision.settings)
        #expect(adopted.changes(from: try settings(new)).map(\.path) == restarts)
        #expect(decision.problem == nil)
    }

    @Test func `a file that holds something else has changed, by the setting that names it`() throws {
        var found = try finding()
        found.marks = marks([("", "2"), ("tls.key", "2"), ("auth.jwt[0].keys", "1")])
        let decision = ReloadDecision(try basis(), found, now: Self.now)
        #expect(decision.lines == [.reloaded(changed: ["auth.jwt[0].keys", "tls.key"], lostTokens: 0)])
    }

    @Test func `what needs a restart is warned about once for each value`() throws {
        var now = try basis("loops: 2")
        for (text, restarts) in [
            ("loops: 3", 1), ("loops: 3", 0), ("loops: 4", 1), ("loops: 2", 0), ("loops: 2", 0), ("loops: 4", 1),
        ] {
            let decision = ReloadDecision(now, try finding(text), now: Self.now)
            #expect(decision.lines.count == 1 + restarts, "\(text): \(decision.lines)")
            #expect(decision.settings?.loops == 2)
            now = decision.basis
        }
    }

    @Test func `a warning is written once, as long as it stays`() throws {
        let warning = SettingsProblem(
            SettingsLocation(.file("gate.yaml")), key: "auth", "lets nobody in", isWarning: true)
        var now = try basis()
        for (problems, count) in [([warning], 1), ([warning], 0), ([], 0), ([warning], 1)] {
            var found = try finding()
            found.problems = problems
            let decision = ReloadDecision(now, found, now: Self.now)
            #expect(decision.lines.filter { $0 == .warning(warning) }.count == count && decision.settings != nil)
            now = decision.basis
        }
    }

    // MARK: - What does not

    @Test func `one problem keeps everything as it was, and is reported once`() throws {
        var found = try finding(nil)
        found.problems = [Self.broken]
        found.marks = [:]
        let first = ReloadDecision(try basis("loops: 2"), found, now: Self.now)
        #expect(first.settings == nil && first.problem == Self.broken)
        #expect(first.lines == [.refused(Self.broken, others: 0, lostTokens: 0)])
        #expect(first.basis.settings.loops == 2 && first.basis.marks.count == 2)
        let second = ReloadDecision(first.basis, found, now: Self.now)
        #expect(second.lines == [] && second.problem == Self.broken)
        // Another problem is another line, and so is the same one after a success.
        let other = SettingsProblem(SettingsLocation(.file("gate.yaml")), key: "", "is broken")
        found.problems = [other, Self.broken]
        let third = ReloadDecision(second.basis, found, now: Self.now)
        #expect(third.lines == [.refused(other, others: 1, lostTokens: 0)])
        let good = ReloadDecision(third.basis, try finding("loops: 2"), now: Self.now)
        #expect(good.lines == [.reloaded(changed: [], lostTokens: 0)] && good.basis.failure == [])
        #expect(ReloadDecision(good.basis, found, now: Self.now).lines.count == 1)
    }

    @Test func `an empty settings file is a broken one, unless it was empty before`() throws {
        var found = try finding()
        found.isFileEmpty = true
        let decision = ReloadDecision(try basis(), found, now: Self.now)
        #expect(decision.settings == nil && decision.problem?.text.hasPrefix("is empty") == true)
        var empty = try basis()
        empty.isFileEmpty = true
        #expect(ReloadDecision(empty, found, now: Self.now).settings != nil)
    }

    /// Each row: the last seconds of the certificate before and of the new one, from now (nil: no TLS), and whether the new
    /// one counts.
    static let ends: [(old: Int64?, new: Int64?, counts: Bool)] = [
        (nil, nil, true), (nil, 10, true), (10, nil, true), (10, 20, true), (20, 10, true),
        // The last second still counts.
        (10, 0, true), (10, -1, false), (0, -1, false), (nil, -1, false),
        // It did not change, or replaces one that has expired too.
        (-1, -1, true), (-1, -9, true), (-9, -1, true), (-1, 10, true),
    ]

    @Test(arguments: ends.indices) func `a new certificate that has expired is refused`(row: Int) throws {
        let (old, new, counts) = Self.ends[row]
        var found = try finding()
        found.certificateEnd = new.map { Self.now + $0 }
        let decision = ReloadDecision(
            try basis(certificateEnd: old.map { Self.now + $0 }), found, now: Self.now)
        #expect((decision.settings != nil) == counts)
        #expect(decision.basis.certificateEnd == (counts ? new : old).map { Self.now + $0 })
        if !counts { #expect(decision.problem?.key == "tls.certificate") }
    }

    @Test func `an expired certificate that replaces an expired one is told, as often as another one comes`() throws {
        let warning = SettingsProblem(
            SettingsLocation(.file("gate.yaml")), key: "tls.certificate", "c.pem has expired: clients will refuse it",
            isWarning: true)
        let other = SettingsProblem(SettingsLocation(.file("gate.yaml")), key: "auth", "is open", isWarning: true)
        var now = try basis(certificateEnd: Self.now - 1)
        now.warnings = [warning, other]
        now.marks = marks([("tls.certificate", "1")])
        // Each row: the end of the certificate and what its file holds, and whether the log says it.
        for (end, holds, isReported) in [
            (-1, "1", false), (-9, "2", true), (-9, "2", false), (-9, "3", true), (-8, "3", true),
        ] {
            var found = try finding()
            found.problems = [warning, other]
            found.certificateEnd = Self.now + Int64(end)
            found.marks = marks([("tls.certificate", holds)])
            let decision = ReloadDecision(now, found, now: Self.now)
            #expect(decision.lines.contains(.warning(warning)) == isReported, "\(end) \(holds)")
            #expect(!decision.lines.contains(.warning(other)))
            now = decision.basis
        }
    }

    // MARK: - Static tokens

    /// Each row: static tokens before and in the file (nil: not known), which are left where all else is refused, and how many
    /// are lost.
    static let tokenRows: [(old: String, new: String?, left: String, lost: Int)] = [
        ("", "", "", 0), ("a b", "a b", "a b", 0), ("a b", "a", "a", 1), ("a b", "", "", 2), ("a b", nil, "a b", 0),
        ("a", "a:B", "", 1), ("a:A:s", "a:A:t", "", 1), ("a:A:s", "a", "", 1), ("a", "a:A:s", "", 1),
        // What is new waits until all else is right.
        ("a", "a b", "a", 0), ("a", "b", "", 1),
    ]

    @Test(arguments: tokenRows.indices) func `static tokens that are gone are gone whatever else fails`(row: Int) throws
    {
        let (old, new, left, lost) = Self.tokenRows[row]
        var refused = try finding(nil, tokens: new)
        refused.problems = [Self.broken]
        let kept = ReloadDecision(try basis(tokens: old), refused, now: Self.now)
        #expect(kept.lostTokens == lost && kept.settings == nil)
        #expect(kept.lines == [.refused(Self.broken, others: 0, lostTokens: lost)])
        #expect(kept.tokens.stillIn(tokens(left)).lost == 0 && tokens(left).stillIn(kept.tokens).lost == 0)
        // They stay gone, and another loss of a gateway that stays broken is a line again.
        let again = ReloadDecision(kept.basis, refused, now: Self.now)
        #expect(again.lostTokens == 0 && again.lines == [])

        let applied = ReloadDecision(try basis(tokens: old), try finding("", tokens: new), now: Self.now)
        #expect(applied.lostTokens == lost)
        #expect(applied.lines == [.reloaded(changed: [], lostTokens: lost)])
        let all = tokens(new ?? old)
        #expect(applied.tokens.stillIn(all).lost == 0 && all.stillIn(applied.tokens).lost == 0)
    }
}
