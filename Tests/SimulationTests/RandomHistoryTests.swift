import Foundation
import Synchronization
import Testing

@Suite struct `Random histories` {
    private typealias History = (setting: SimulationSetting, steps: [SimulationStep])

    private struct Failure {
        let seed: UInt64
        let problem: String
    }

    /// `LIVEGATE_SIMULATION_SEED` runs the history of that seed alone; `LIVEGATE_SIMULATION_HISTORIES` so many.
    @Test func `nobody misses an event silently, and nobody is refused without need`() {
        run("SIMULATION", 100_000) { seed in
            let history = RandomHistory(seed: seed)
            return (history.setting, history.steps)
        }
    }

    /// The same by `LIVEGATE_PAST_SEED` and `LIVEGATE_PAST_HISTORIES`.
    @Test func `a page and what follows it are the whole log, nothing missing and nothing twice`() {
        run("PAST", 20_000) { seed in
            let history = RandomArchiveHistory(seed: seed)
            return (history.setting, history.steps)
        }
    }

    private func run(_ name: String, _ histories: Int, _ make: @Sendable (UInt64) -> History) {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["LIVEGATE_\(name)_SEED"].flatMap(UInt64.init) { return replay(seed, make(seed)) }
        let total = environment["LIVEGATE_\(name)_HISTORIES"].flatMap(Int.init) ?? histories
        let first = environment["LIVEGATE_\(name)_FIRST"].flatMap(Int.init) ?? 0
        let failures = Mutex<[Failure]>([])
        let outcomes = Mutex(SimulationOutcomes())
        let chunk = 500
        let began = ContinuousClock.now
        DispatchQueue.concurrentPerform(iterations: (total + chunk - 1) / chunk) { index in
            var sum = SimulationOutcomes()
            for seed in (first + index * chunk)..<min(first + total, first + (index + 1) * chunk) {
                let history = make(UInt64(seed))
                var simulation = Simulation(history.setting)
                for step in history.steps where simulation.problem == nil { simulation.run(step) }
                if simulation.problem == nil { simulation.finish() }
                sum.add(simulation.outcomes)
                guard let problem = simulation.problem else { continue }
                failures.withLock { $0.append(Failure(seed: UInt64(seed), problem: problem)) }
            }
            outcomes.withLock { $0.add(sum) }
        }
        let found = failures.withLock { $0.sorted { $0.seed < $1.seed } }
        print("\(total) random histories in \(ContinuousClock.now - began): \(outcomes.withLock { $0 })")
        for failure in found.prefix(3) {
            let history = make(failure.seed)
            Issue.record("seed \(failure.seed): \(Shrinking.report(history.setting, history.steps))")
        }
        if found.count > 3 {
            let lines = found.prefix(60).map { "seed \($0.seed): \($0.problem.prefix(80))" }
            Issue.record("\(found.count) histories failed:\n\(lines.joined(separator: "\n"))")
        }
    }

    private func replay(_ seed: UInt64, _ history: History) {
        guard Shrinking.problem(history.setting, history.steps) != nil else { return }
        Issue.record("seed \(seed): \(Shrinking.report(history.setting, history.steps))")
    }
}
