import LiveUpdates

/// All sequences of steps up to a length, each gone on with from the one before it, and after each the end: every node comes
/// to know all there is, the client comes back to both.
///
/// Left out is only what equals another sequence: steps of two nodes that follow one another are independent, so they come
/// in one order; a restart forgets what its node did just before; what changes nothing is no step.
struct ExhaustiveSearch {
    struct Finding {
        let setting: SimulationSetting
        let steps: [SimulationStep]
        let problem: String
    }

    /// Small enough for six steps; what is rare comes of their order. An event for the second partition adds it.
    static let few: [SimulationStep] = [
        .append(0, account: 0), .append(1, account: 0, .late(15_000)), .recreate(partitions: 2, records: 3),
        .trim(0, keeping: 0),
        .read(0, atMost: .max), .catchUp(0), .restart(0), .poll(0, at: 0),
        .read(1, atMost: .max), .catchUp(1), .restart(1), .poll(0, at: 1),
    ]

    /// For fewer steps.
    static let many: [SimulationStep] =
        few + [
            .append(0, account: 1), .append(0, account: 0, .future(30_000)), .append(0, account: 0, .none),
            .recreate(partitions: 1, records: 0), .addPartition, .compact(0, back: 0), .trim(0, keeping: 1),
            .cutBack(0, losing: 1, records: 2), .refreshPart(0, answers: 3),
            .freeze(0), .thaw(0), .refresh(0), .pass(70_000), .poll(0, at: 1, pages: 1, pageSize: 1),
        ]

    let alphabet: [SimulationStep]
    let depth: Int
    let mutant: RuleMutant?
    private(set) var sequences = 0
    private(set) var findings: [Finding] = []
    private var steps: [SimulationStep] = []

    init(_ alphabet: [SimulationStep], depth: Int, mutant: RuleMutant? = nil) {
        self.alphabet = alphabet
        self.depth = depth
        self.mutant = mutant
    }

    /// One partition with a record of the client's account, which both nodes have read; the client was at the first.
    static func beginning(ids: Set<Int>, mutant: RuleMutant? = nil) -> Simulation {
        var simulation = Simulation(setting(ids), mutant: mutant)
        for step in prologue { simulation.run(step) }
        return simulation
    }

    static let prologue: [SimulationStep] = [.append(0, account: 0), .catchUp(0), .catchUp(1), .poll(0, at: 0)]

    static func setting(_ ids: Set<Int>) -> SimulationSetting {
        var setting = SimulationSetting(partitions: 1, ids: ids)
        setting.limits.maximumTimestampDelayMilliseconds = 20_000
        setting.limits.retentionMilliseconds = 60_000
        setting.limits.maximumEventsPerAccount = 2
        setting.brokers = 6
        return setting
    }

    /// Everything that begins with these steps.
    mutating func search(from beginning: Simulation, first: [SimulationStep]) {
        var simulation = beginning
        for step in first {
            guard isWorthwhile(step, simulation) else { return }
            run(step, &simulation)
            steps.append(step)
        }
        go(simulation)
        steps = []
    }

    private mutating func go(_ simulation: Simulation) {
        sequences += 1
        guard simulation.problem == nil else { return note(simulation) }
        var end = simulation.copy()
        end.finish()
        guard end.problem == nil else { return note(end) }
        guard steps.count < depth else { return }
        for step in alphabet where isWorthwhile(step, simulation) {
            var next = simulation.copy()
            run(step, &next)
            steps.append(step)
            go(next)
            steps.removeLast()
        }
    }

    private func run(_ step: SimulationStep, _ simulation: inout Simulation) {
        if case .append(1, _, _, _) = step, simulation.topic.logs.count < 2 { simulation.run(.addPartition) }
        simulation.run(step)
    }

    private mutating func note(_ simulation: Simulation) {
        guard findings.count < 200 else { return }
        findings.append(
            Finding(setting: simulation.setting, steps: Self.prologue + steps, problem: simulation.problem ?? ""))
    }

    // MARK: - What equals another sequence

    private static func node(of step: SimulationStep) -> Int? {
        switch step {
        case .read(let node, _), .catchUp(let node), .restart(let node, _), .refresh(let node),
            .refreshPart(let node, _), .freeze(let node),
            .thaw(let node), .poll(_, let node, _, _, _):
            node
        default: nil
        }
    }

    private func isWorthwhile(_ step: SimulationStep, _ simulation: Simulation) -> Bool {
        switch step {
        case .addPartition where simulation.topic.logs.count >= 2: return false
        case .trim(let partition, 0) where simulation.topic.isTrimmed(partition): return false
        case .compact(let partition, _) where simulation.topic.isLastRemoved(partition): return false
        default: break
        }
        let node = Self.node(of: step)
        // Until one is named, the nodes are the same if both have ids or none has.
        let isNamed = steps.contains { Self.node(of: $0) != nil }
        if node == 1, !isNamed, simulation.setting.ids.count != 1 { return false }
        guard let node, !step.isPoll, let last = steps.last, let other = Self.node(of: last), !last.isPoll else {
            return true
        }
        if other != node { return node > other }
        switch step {
        // It forgets what its node did just before, or there is nothing new to read.
        case .restart, .read: return false
        default: return true
        }
    }
}

extension SimulationStep {
    fileprivate var isPoll: Bool {
        if case .poll = self { true } else { false }
    }
}
