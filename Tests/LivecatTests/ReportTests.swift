// Tests: RefreshReport.swift, CountReading.swift, ReportText.swift, ReportSVG.swift, ReportCommand.swift
import LiveState
import Testing

@testable import Options
@testable import livecat

@Suite struct `A report of refreshes` {
    static func line(_ day: String, _ screen: String, _ members: String) -> String {
        #"{"day":"\#(day)","screen":"\#(screen)",\#(members)}"# + "\n"
    }

    static func report(_ text: String) throws -> RefreshReport { try RefreshReport(Array(text.utf8)) }

    static let twoDays =
        line("2026-11-22", "list", #""manual":1,"automatic":3,"latency":[3,0,0,1,0,0,0,0,0],"made":2,"merged":6"#)
        + line("2026-11-24", "list", #""manual":1,"automatic":99,"latency":[0,0,0,0,0,0,0,0,5],"avoided":2"#)
        + line("2026-11-24", "details", #""manual":0,"automatic":100"#)

    @Test func `is drawn as curves over the days, with a table of the screens`() throws {
        let text = ReportText(report: try Self.report(Self.twoDays), columns: 80).text
        #expect(
            text == """
                Refreshes that people asked for, in % of all
                    50 % |
                         |
                         |
                         |
                         |
                    25 % |*
                         |
                         |
                         |
                         |
                     0 % |  *
                         +---
                          2026-11-22 2026-11-24

                From an event to the screen: o half of them, * 95 %
                  > 60 s |  o
                  < 60 s |
                  < 10 s |
                   < 5 s |
                 < 2.5 s |
                   < 1 s |*
                < 500 ms |
                < 250 ms |
                < 100 ms |o
                         +---
                          2026-11-22 2026-11-24

                Screen   refreshes  manual    half    95 %  fetches  saved
                list           104   1.9 %  > 60 s  > 60 s        2   80 %
                details        100     0 %       -       -        0      -
                all            204     1 %  > 60 s  > 60 s        2   80 %

                """)
    }

    @Test func `adds up what devices counted, and takes the last line of one that went on counting`() throws {
        let text =
            Self.line("2026-11-23", "list", #""manual":1,"device":"a""#)
            + Self.line("2026-11-23", "list", #""manual":4,"device":"a""#)
            + Self.line("2026-11-23", "list", #""manual":10,"device":"b""#)
            + Self.line("2026-11-23", "list", #""manual":100"#) + "\n \r\n"
            + Self.line("2026-11-23", "list", #""manual":100"#)
        #expect(try Self.report(text).total.manual == 214)
    }

    @Test(arguments: [
        ("{", 1), (#"[1]"#, 1), (#"{"day":"2026-11-31","screen":"a"}"#, 1), (#"{"day":"2026-1-01","screen":"a"}"#, 1),
        (#"{"day":"2026-11-23"}"#, 1), (#"{"day":"2026-11-23","screen":1}"#, 1),
        (#"{"day":"2026-11-23","screen":"a","manual":-1}"#, 1), (#"{"day":"2026-11-23","screen":"a","manual":1.5}"#, 1),
        (#"{"day":"2026-11-23","screen":"a","manual":1000000000001}"#, 1),
        (#"{"day":"2026-11-23","screen":"a","latency":[1,2]}"#, 1),
        (#"{"day":"2026-11-23","screen":"a","manual":1,"manual":2}"#, 1),
        (#"{"day":"2026-11-23","screen":"a"}"# + "\n\nx\n", 3),
    ]) func `names the line that is none`(_ text: String, _ line: Int) throws {
        let problem = #expect(throws: RefreshReport.BadLine.self) { try Self.report(text) }
        #expect(problem?.line == line, "\(text)")
    }

    @Test(arguments: [
        ("1970-01-01", 0), ("1969-12-31", -1), ("2000-02-29", 11_016), ("2000-03-01", 11_017), ("2026-11-23", 20_780),
        ("2100-02-29", nil), ("2024-02-29", 19_782), ("2026-00-01", nil), ("2026-13-01", nil), ("2026-11-00", nil),
        ("2026/11/23", nil), ("12026-11-2", nil), ("", nil),
    ]) func `knows the days of the calendar`(_ text: String, _ number: Int?) {
        #expect(CalendarDate(text)?.number == number)
    }

    @Test func `puts more days than there are columns together`() throws {
        let report = try Self.report(
            (10...29).map { Self.line("2026-11-\($0)", "a", #""manual":1"#) }.joined())
        #expect(report.columns(atMost: 20).map { $0?.manual } == Array(repeating: 1, count: 20))
        #expect(report.columns(atMost: 19).map { $0?.manual } == Array(repeating: 2, count: 10))
        #expect(report.columns(atMost: 7).map { $0?.manual } == [3, 3, 3, 3, 3, 3, 2])
        let width = ReportText(report: report, columns: 1).text.split(separator: "\n").map(\.count).max()
        #expect((width ?? 0) <= 64, "the table is as wide as its numbers, the curves have 40 columns")
    }

    @Test(arguments: [(0, 0.01), (0.01, 0.01), (0.011, 0.02), (0.2, 0.2), (0.21, 0.5), (0.51, 1), (1, 1)])
    func `chooses a scale that fits`(_ share: Double, _ top: Double) {
        #expect(ReportText.top([nil, share]) == top)
    }

    @Test func `says so when nothing was counted`() throws {
        #expect(ReportText(report: try Self.report("\n"), columns: 80).text == "nothing was counted\n")
        #expect(ReportSVG(report: try Self.report("")).text.hasSuffix("</svg>\n"))
    }

    @Test func `is a picture whose text is escaped, with a gap where nothing was counted`() throws {
        let svg = ReportSVG(report: try Self.report(Self.twoDays)).text
        #expect(svg.contains("<text x=\"80\" y=\"218\" text-anchor=\"start\">2026-11-22</text>"))
        #expect(svg.contains(">&lt; 250 ms</text>") && !svg.contains("< 250"))
        #expect(svg.contains("<path class=\"share\" d=\"M80 125h2M780 198h2\"/>"), "\(svg)")
        #expect(svg.count(where: { $0 == "<" }) == svg.count(where: { $0 == ">" }))
    }

    @Test func `shows no control characters of a screen's name, and no more than fit`() throws {
        let name = String(repeating: "x", count: 23)
        let report = try Self.report(
            Self.line("2026-11-23", #"a\u001b[2Jb"#, #""manual":1"#)
                + Self.line("2026-11-23", name + "yz", #""manual":2"#))
        let text = ReportText(report: report, columns: 80).text
        #expect(text.contains(#"a\u{1b}[2Jb "#) && text.contains(name + "… "))
    }

    @Test func `has a table of options, which the manual page shows too`() throws {
        guard case .run(let arguments) = try ReportCommand.table.parse(["counts.jsonl", "--svg=a.svg"]) else {
            Issue.record("it does not run")
            return
        }
        #expect(arguments.operands == ["counts.jsonl"] && arguments[ReportCommand.svg] == "a.svg")
        #expect(throws: CommandLineProblem.self) { try ReportCommand.table.parse([]) }
        let page = LivecatCommand.table.manualPage()
        #expect(page.contains("livecat report counts.jsonl") && page.contains("svg FILE"))
    }
}
