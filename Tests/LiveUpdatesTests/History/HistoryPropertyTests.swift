import Testing

@testable import LiveUpdates

#if canImport(Glibc)
    import Glibc
#endif

/// Random histories against clients that remember everything: what they are owed is given in order, or they are told.
///
/// A failure prints its seed: `LIVEGATE_HISTORY_SEED=N swift test --filter HistoryPropertyTests` runs that one alone, and
/// `LIVEGATE_HISTORIES=N` makes them more or fewer than 100,000.
struct HistoryPropertyTests {
    static let parts = 20

    static func number(_ name: String) -> UInt64? {
        unsafe getenv(name).flatMap { unsafe UInt64(String(cString: $0)) }
    }

    @Test(arguments: 0..<parts) func `whoever resumes is given everything, in order, or told to resync`(part: Int) {
        if let seed = Self.number("LIVEGATE_HISTORY_SEED") {
            if part == 0 { _ = Self.run(seed, isTold: true) }
            return
        }
        let count = (Self.number("LIVEGATE_HISTORIES") ?? 100_000) / UInt64(Self.parts)
        var outcomes = SimulationOutcomes()
        for seed in UInt64(part) * count..<UInt64(part + 1) * count {
            guard let outcome = Self.run(seed) else { return }
            outcomes.add(outcome)
        }
        print("histories from seed \(UInt64(part) * count): \(outcomes)")
    }

    /// Nil when something was wrong.
    static func run(_ seed: UInt64, isTold: Bool = false) -> SimulationOutcomes? {
        var simulation = HistorySimulation(seed: seed, isTold: isTold)
        simulation.run(steps: 30)
        if let problem = simulation.problem { Issue.record("LIVEGATE_HISTORY_SEED=\(seed): \(problem)") }
        return simulation.problem == nil ? simulation.outcomes : nil
    }
}
