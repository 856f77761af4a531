/// Makes a history shorter as long as it still shows a problem, and tells it.
enum Shrinking {
    /// Leaves out runs of steps, long ones first, until no single step can go.
    static func shrink(_ steps: [SimulationStep], _ fails: ([SimulationStep]) -> Bool) -> [SimulationStep] {
        var steps = steps
        var length = max(1, steps.count / 2)
        while true {
            var start = 0
            var isShorter = false
            while start < steps.count {
                var fewer = steps
                fewer.removeSubrange(start..<min(steps.count, start + length))
                if fails(fewer) {
                    steps = fewer
                    isShorter = true
                } else {
                    start += length
                }
            }
            if length > 1 { length /= 2 } else if !isShorter { return steps }
        }
    }

    /// A problem without its numbers and names.
    private static func kind(_ problem: String) -> String {
        String(problem.prefix { $0 != "(" }.filter { $0.isLowercase || $0 == " " })
    }

    static func problem(_ setting: SimulationSetting, _ steps: [SimulationStep], mutant: RuleMutant? = nil) -> String? {
        var simulation = Simulation(setting, mutant: mutant)
        for step in steps where simulation.problem == nil { simulation.run(step) }
        if simulation.problem == nil { simulation.finish() }
        return simulation.problem
    }

    /// The shortest history found that shows a problem, step by step, with what came of each.
    static func report(_ setting: SimulationSetting, _ steps: [SimulationStep], mutant: RuleMutant? = nil) -> String {
        let kind = problem(setting, steps, mutant: mutant).map(kind)
        let short = shrink(steps) { problem(setting, $0, mutant: mutant).map(Self.kind) == kind }
        var simulation = Simulation(setting, mutant: mutant, isReported: true)
        for step in short where simulation.problem == nil { simulation.run(step) }
        if simulation.problem == nil { simulation.finish() }
        let ids = setting.ids.sorted().map(SimulationStep.name(ofNode:)).joined(separator: ", ")
        return """
            \(simulation.problem ?? "it cannot be repeated")
            \(setting.partitions) partitions; nodes with topic ids: \(ids.isEmpty ? "none" : ids); \
            at most \(setting.limits.maximumEventsPerAccount) events of an account, \
            retention \(setting.limits.retentionMilliseconds) ms, time stamps late by \(setting.margin) ms at most
            steps: \(short.map(\.description).joined(separator: "; "))
            \((simulation.account ?? []).joined(separator: "\n"))
            """
    }
}
