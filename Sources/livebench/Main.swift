import Foundation
import Options
import Reactor

/// Measures a gateway: connections, deliveries, latencies, and their cost.
@main
struct Main {
    private static let connections = SingleOption(
        "connections", .integer("N", in: 100...100_000),
        help: "connections of the largest scenario (default 10000), as far as the limit of descriptors allows")
    private static let loops = SingleOption(
        "loops", .integer("N", in: 0...64), help: "event loops of the gateway; 0, the default, is one a core")
    private static let only = RepeatedOption("only", .text("NAME"), help: "run the scenarios whose names begin so")
    private static let program = SingleOption(
        "livegate", .file("PROGRAM"), help: "the gateway to measure (default: the one beside this program)")
    private static let scrape = Flag(
        "scrape",
        help: "run each scenario without and with a scrape of the metrics every second, and compare them (but "
            + "\"returning resumed\", which restarts the gateway)")
    private static let archive = Flag(
        "archive",
        help: "run each scenario without an archive, with one in SQLite and with one whose store refuses all, and "
            + "compare them (but \"returning resumed\")")
    private static let json = Flag("json", help: "print JSON instead of a table")

    static let table = Command(
        "livebench", summary: "measure a gateway with an embedded broker and a crowd of clients on this machine",
        details: [
            "Broker, clients and gateway share the machine: compare figures of one run, not of two machines.",
            "Scenarios: idle, idle tls, pinged, saturating, saturating many, accounts, paced 50/s, paced 50/s tls, "
                + "gentle 5/s, stopping (most clients stop reading), returning (all but 50 TLS clients come at once; "
                + "those 50 are served meanwhile), returning resumed (the same with the session tickets that they had "
                + "before the gateway was restarted), hostile, hostile tls (50 clients beside a hundredth of the connections "
                + "that write for ever, trickle, or do nothing at all).",
            "livebench archive measures the archive (livebench archive --help).",
        ],
        options: [connections, loops, only, program, scrape, archive, json],
        statuses: [(.success, "every scenario was complete"), (.software, "something was lost or did not start")])

    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        if words.first == "archive" { await ArchiveBench.run(Array(words.dropFirst())) }
        let arguments = table.parseOrExit(words)
        let names = arguments[only]
        let scenarios = Scenario.all(connections: possible(arguments[connections] ?? 10_000)).filter { scenario in
            names.isEmpty || names.contains { scenario.name.hasPrefix($0) }
        }
        guard !scenarios.isEmpty else {
            table.exitWrongUse("option '--only': no scenario is called so")
        }
        let archives: [Beside] = arguments[archive] ? [.archive, .failingArchive] : []
        let beside = (arguments[scrape] ? [.scrape] : []) + archives
        let runs = beside.isEmpty ? scenarios : scenarios.flatMap { Comparison.runs($0, beside) }
        guard !runs.isEmpty else {
            table.exitWrongUse("options '--scrape' and '--archive': the gateway is restarted in this scenario")
        }
        let before = Calibration.measure()
        var measurements: [Measurement] = []
        for scenario in runs {
            StandardError.line("\(scenario.name): \(scenario.connections) connections …")
            do {
                measurements.append(
                    try await scenario.run(
                        program: arguments[program] ?? besideThisProgram, loops: arguments[loops] ?? 0))
            } catch {
                StandardError.line("livebench: \(scenario.name): \(error)")
                exit(ExitStatus.software.code)
            }
        }
        let report = Report(calibration: (before, Calibration.measure()), measurements: measurements)
        StandardOutput.write(arguments[json] ? report.json : report.table)
        exit((measurements.allSatisfy(\.isComplete) ? ExitStatus.success : ExitStatus.software).code)
    }

    /// Clients and gateway are two processes with the same limit of descriptors, and each needs some for itself.
    private static func possible(_ connections: Int) -> Int {
        guard let limit = try? ProcessLimits.raiseDescriptorLimit(), connections > Int(clamping: limit) - 200 else {
            return connections
        }
        let most = max(10, Int(clamping: limit) - 200)
        StandardError.line("livebench: \(most) connections, for more than the limit of descriptors allows (ulimit -n)")
        return most
    }

    private static var besideThisProgram: String {
        let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? "./livebench"
        return URL(fileURLWithPath: path).deletingLastPathComponent().appendingPathComponent("livegate").path
    }
}
