import Foundation
import Synchronization
import Testing

@Suite struct `All short histories` {
    private struct Start {
        let setting: SimulationSetting
        let alphabet: [SimulationStep]
        let depth: Int
        let steps: [SimulationStep]
    }

    /// Without ids, with them, and while one node has them and the other does not.
    private static let settings = [[], [0, 1], [1]].map(ExhaustiveSearch.setting)

    /// `LIVEGATE_SIMULATION_DEPTH` is the number of steps.
    @Test func `of up to six steps show no fault`() {
        let depth = ProcessInfo.processInfo.environment["LIVEGATE_SIMULATION_DEPTH"].flatMap(Int.init) ?? 6
        search("of up to \(depth) steps", Self.settings, ExhaustiveSearch.few, depth: depth)
    }

    @Test func `of up to four steps of every kind show no fault`() {
        let depth = ProcessInfo.processInfo.environment["LIVEGATE_SIMULATION_DEPTH"].flatMap(Int.init) ?? 6
        search("of up to \(depth - 2) steps of every kind", Self.settings, ExhaustiveSearch.many, depth: depth - 2)
    }

    @Test func `of two topics, of up to three steps of every kind show no fault`() {
        var setting = ExhaustiveSearch.setting([])
        setting.hasQuietTopic = true
        search("of two topics, of up to 3 steps of every kind", [setting], ExhaustiveSearch.many, depth: 3)
    }

    private func search(_ label: String, _ settings: [SimulationSetting], _ alphabet: [SimulationStep], depth: Int) {
        var starts: [Start] = []
        for setting in settings {
            starts.append(Start(setting: setting, alphabet: alphabet, depth: 0, steps: []))
            for first in alphabet {
                starts.append(Start(setting: setting, alphabet: alphabet, depth: 1, steps: [first]))
                for second in alphabet {
                    starts.append(Start(setting: setting, alphabet: alphabet, depth: depth, steps: [first, second]))
                }
            }
        }
        let all = starts
        let findings = Mutex<[ExhaustiveSearch.Finding]>([])
        let sequences = Mutex(0)
        let began = ContinuousClock.now
        DispatchQueue.concurrentPerform(iterations: all.count) { index in
            let start = all[index]
            var search = ExhaustiveSearch(start.alphabet, depth: start.depth)
            search.search(from: ExhaustiveSearch.beginning(start.setting), first: start.steps)
            sequences.withLock { $0 += search.sequences }
            findings.withLock { $0 += search.findings }
        }
        let found = findings.withLock { $0 }.sorted { $0.steps.count < $1.steps.count }
        print("\(sequences.withLock { $0 }) sequences \(label) in \(ContinuousClock.now - began)")
        for finding in found.prefix(3) { Issue.record("\(Shrinking.report(finding.setting, finding.steps))") }
        if found.count > 3 {
            let lines = found.prefix(40).map {
                "\($0.problem.prefix(60)) ids \($0.setting.ids): \($0.steps.dropFirst(4).map(\.description).joined(separator: "; "))"
            }
            Issue.record("\(found.count) sequences failed:\n\(lines.joined(separator: "\n"))")
        }
    }
}
