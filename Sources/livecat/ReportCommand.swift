import Glibc
import Options
import Terminal

/// `livecat report FILE`: shows, from what apps counted, whether people trust what they see.
enum ReportCommand {
    static let svg = SingleOption("svg", .file(), help: "also write the curves to this file, as SVG")

    /// Enough for some hundred thousand values.
    static let maximumBytes = 64 << 20

    static let table = Command(
        "livecat report", summary: "show how often people refresh what should change by itself",
        details: [
            "Reads JSON lines, each a value of the SDK's RefreshCounts, as apps send them: day, screen, manual, automatic, "
                + "latency, ahead, made, merged, avoided. With a member device, the last line of the same device, day and "
                + "screen counts; without it each line does.",
            "Shows by day how many refreshes people asked for and the time from an event to the screen, and a table of "
                + "the screens.",
        ],
        options: [svg],
        operands: [Operand("FILE", completion: .files, help: "the lines; - for standard input")],
        statuses: [
            (.success, "the report is written"), (.wrongUse, "wrong use"),
            (.badInput, "a line is no value of RefreshCounts"), (.noInput, "FILE cannot be read"),
            (.output, "standard output or the file of --svg cannot be written"),
        ])

    /// The section about it in livecat's manual page.
    static var section: ManualSection {
        ManualSection(
            "Reports",
            table.details.map(ManualSection.Line.paragraph)
                + [.example("livecat report counts.jsonl --svg counts.svg")]
                + table.options.map { .entry("--\($0.row.name) \($0.row.placeholder)", $0.row.help) }
                + table.statuses.map { .entry("status \($0.status.code)", $0.meaning) })
    }

    /// Reads, writes, and ends the program.
    static func run(_ words: [String]) -> Never {
        let arguments = table.parseOrExit(words)
        let path = arguments.operands[0]
        let name = path == "-" ? "standard input" : path.printable
        guard let bytes = read(path, name) else { exit(ExitStatus.noInput.code) }
        do throws(RefreshReport.BadLine) {
            let report = try RefreshReport(bytes)
            if let file = arguments[svg], let problem = OutputFile.write(ReportSVG(report: report).text, to: file) {
                StandardError.line("\(table.name): \(problem)")
                exit(ExitStatus.output.code)
            }
            StandardOutput.write(ReportText(report: report, columns: TerminalMode.columns).text)
            exit(ExitStatus.success.code)
        } catch {
            StandardError.line("\(table.name): \(name), \(error.description.printable)")
            exit(ExitStatus.badInput.code)
        }
    }

    private static func read(_ path: String, _ name: String) -> [UInt8]? {
        do {
            if path != "-" { return try BoundedFile.read(path, maximumBytes: maximumBytes) }
            var (bytes, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 64 * 1024))
            while bytes.count <= maximumBytes {
                let count = try StandardInput.read(into: &buffer)
                if count == 0 { return bytes }
                bytes += buffer[..<count]
            }
            StandardError.line("\(table.name): \(name) is larger than the limit of \(maximumBytes) bytes")
        } catch let problem as BoundedFile.Unreadable {
            StandardError.line("\(table.name): cannot read \(name): \(problem.reason)")
        } catch let problem as StandardInput.Unreadable {
            StandardError.line("\(table.name): cannot read \(name): \(problem.reason)")
        } catch {
            StandardError.line("\(table.name): cannot read \(name): \(error)")
        }
        return nil
    }
}
