import LiveUpdates

/// All sequences of steps up to a length, each gone on with from the one before it, and after each the end: every node comes
/// to know all there is, the client comes back to both.
///
/// Left out is what equals another sequence: a step that changes nothing (a node that has read all there is refreshes or reads
/// once more at the same moment, a client that polls again keeps its cursor); steps that do not concern one another, in
/// another order (those of two nodes, or of a node and of a client that polls the other one and has not to wait); what a node
/// did before it restarted, if nobody has seen it and only records came in between; where both nodes are alike, what begins
/// with the second.
///
/// Nearly equal, and left out as well: a sequence that ends with a node that refreshes or reads, which is what the end begins
/// with, some seconds later.
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
            .append(1, account: 0, .late(40_000)),
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
    /// Of each step, whether time has passed in it.
    private var hasPassed: [Bool] = []

    init(_ alphabet: [SimulationStep], depth: Int, mutant: RuleMutant? = nil) {
        self.alphabet = alphabet
        self.depth = depth
        self.mutant = mutant
    }

    /// One partition with a record of the client's account, which both nodes have read; the client was at the first.
    static func beginning(_ setting: SimulationSetting, mutant: RuleMutant? = nil) -> Simulation {
        var simulation = Simulation(setting, mutant: mutant)
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
            guard let next = advance(simulation, by: step) else { break }
            simulation = next
        }
        if steps.count == first.count { go(simulation) }
        steps = []
        hasPassed = []
    }

    private mutating func go(_ simulation: Simulation) {
        guard simulation.problem == nil else {
            sequences += 1
            return note(simulation)
        }
        if !(steps.last?.isBeginningOfEnd ?? false) {
            sequences += 1
            var end = simulation.copy()
            end.finish()
            guard end.problem == nil else { return note(end) }
        }
        guard steps.count < depth else { return }
        for step in alphabet where steps.count + 1 < depth || !step.isBeginningOfEnd {
            guard let next = advance(simulation, by: step) else { continue }
            go(next)
            steps.removeLast()
            hasPassed.removeLast()
        }
    }

    /// Nil where the sequence equals another one.
    private mutating func advance(_ simulation: Simulation, by step: SimulationStep) -> Simulation? {
        guard isWorthwhile(step, simulation) else { return nil }
        var next = simulation.copy()
        if case .append(1, _, _, _) = step, next.topic.logs.count < 2 { next.run(.addPartition) }
        next.run(step)
        if step.isPoll, next.problem == nil, next.now == simulation.now,
            next.clients[0].cursor == simulation.clients[0].cursor
        {
            return nil
        }
        steps.append(step)
        hasPassed.append(next.now > simulation.now)
        return next
    }

    private mutating func note(_ simulation: Simulation) {
        guard findings.count < 200 else { return }
        findings.append(
            Finding(setting: simulation.setting, steps: Self.prologue + steps, problem: simulation.problem ?? ""))
    }

    // MARK: - What equals another sequence

    private func isWorthwhile(_ step: SimulationStep, _ simulation: Simulation) -> Bool {
        switch step {
        case .addPartition where simulation.topic.logs.count >= 2: return false
        case .trim(let partition, 0) where simulation.topic.isTrimmed(partition): return false
        case .compact(let partition, _) where simulation.topic.isLastRemoved(partition): return false
        case .thaw(let node) where simulation.nodes[node].partitionsTold == nil: return false
        case .read(let node, _) where simulation.nodes[node].hasNothingToRead: return false
        case .refresh(let node), .catchUp(let node):
            if simulation.nodes[node].isDone(simulation.topic, simulation.now) { return false }
        case .restart(let node, _) where isForgotten(node): return false
        default: break
        }
        guard let node = step.node else { return true }
        // Until one is named, the nodes are the same if both have ids or none has.
        let isNamed = steps.contains { $0.node != nil }
        if node == 1, !isNamed, simulation.setting.ids.count != 1 { return false }
        guard !step.isPoll, let last = steps.last, let other = last.node, other != node else { return true }
        return last.isPoll ? hasPassed.last == true : node > other
    }

    /// Whether a node did something that nobody has seen: a restart forgets it.
    private func isForgotten(_ node: Int) -> Bool {
        for (step, hasPassed) in zip(steps, hasPassed).reversed() {
            switch step {
            case .append: continue
            case .read(node, _), .catchUp(node), .refresh(node), .restart(node, _): return true
            default: if step.node == nil || step.node == node || hasPassed { return false }
            }
        }
        return false
    }
}

extension SimulationStep {
    fileprivate var isPoll: Bool {
        if case .poll = self { true } else { false }
    }

    /// The end is that every node refreshes and reads all there is, and that clients come back.
    fileprivate var isBeginningOfEnd: Bool {
        switch self {
        case .read, .refresh, .catchUp, .thaw: true
        default: false
        }
    }

    fileprivate var node: Int? {
        switch self {
        case .read(let node, _), .catchUp(let node), .restart(let node, _), .refresh(let node),
            .refreshPart(let node, _), .freeze(let node), .thaw(let node), .poll(_, let node, _, _, _):
            node
        default: nil
        }
    }
}
