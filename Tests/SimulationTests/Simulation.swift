import KafkaLogs
import LiveUpdates
import ScriptedBroker

/// What a history is made of.
struct SimulationSetting: Sendable {
    var partitions = 2
    var nodes = 2
    /// The account of each client.
    var clients = [0]
    /// Nodes whose library can ask for topic ids.
    var ids: Set<Int> = []
    var limits = HistoryLimits()
    /// Whether a limit on bytes makes accounts give way: what is let go then is not modelled.
    var isByteLimited: Bool { limits.maximumLogBytes < 1 << 20 }
    var margin: Int64 { limits.maximumTimestampDelayMilliseconds }
    var hasIDs: Bool { !ids.isEmpty && ids.count == nodes }
}

/// A history: a topic, nodes that read it by the real code, and clients that go between them, judged at every step.
///
/// Two judges: nothing is missing of which a client was not told, and nobody is told to resync without need.
struct Simulation {
    let setting: SimulationSetting
    private(set) var topic: SimulatedTopic
    var nodes: [SimulatedNode] = []
    var clients: [SimulatedClient]
    private(set) var now = Self.beginning
    private(set) var problem: String?
    /// Whether some node ran with the second mapping: what that leaves out nobody is owed then.
    private(set) var hasLeftOut = false
    private(set) var outcomes = SimulationOutcomes()
    let mutant: RuleMutant?
    /// What happened, to understand a problem; nil while nobody wants to know.
    private(set) var account: [String]?

    init(_ setting: SimulationSetting, mutant: RuleMutant? = nil, isTold: Bool = false) {
        self.setting = setting
        self.mutant = mutant
        account = isTold ? [] : nil
        topic = SimulatedTopic(partitions: setting.partitions)
        clients = setting.clients.map { SimulatedClient(account: $0) }
        for node in 0..<setting.nodes { nodes.append(SimulatedNode(setting, node: node, mutant: mutant)) }
        for node in nodes.indices { start(node) }
    }

    /// The same once more, to be gone on with apart.
    func copy() -> Simulation {
        var copy = self
        for node in nodes.indices { copy.nodes[node] = nodes[node].copy() }
        return copy
    }

    mutating func report(_ text: String) { problem = problem ?? text }

    var isTold: Bool { account != nil }
    mutating func note(_ text: String) { account?.append("    " + text) }

    mutating func count(_ change: (inout SimulationOutcomes) -> Void) { change(&outcomes) }

    // MARK: - Steps

    mutating func run(_ step: SimulationStep) {
        if isTold { account?.append("\(step)") }
        switch step {
        case .append(let partition, let account, let entity, let stamp):
            pass(1)
            append(partition, account, entity, stamp.milliseconds(now))
        case .addPartition: addPartition()
        case .recreate(let partitions, let records): recreate(partitions, records)
        case .trim(let partition, let keeping): trim(partition % topic.logs.count, keeping)
        case .compact(let partition, let back): compact(partition % topic.logs.count, back)
        case .pass(let milliseconds): pass(milliseconds)
        case .refresh(let node): refresh(node)
        case .read(let node, let count): read(node, atMost: count)
        case .catchUp(let node): catchUp(node)
        case .restart(let node, let mapping): restart(node, mapping)
        case .freeze(let node):
            nodes[node].partitionsTold = topic.logs.count
            nodes[node].change { $0.freeze(1) }
        case .thaw(let node): thaw(node)
        case .sweep(let node): nodes[node].sweep(now)
        case .poll, .follow, .fallBehind, .readOn, .heartbeat, .leave: runClient(step)
        }
    }

    // MARK: - The topic

    private mutating func append(_ partition: Int, _ account: Int, _ entity: Int, _ stamp: Int64) {
        let partition = partition % topic.logs.count
        // Without ids the first record of a recreated log says how old it is: a wrong stamp cannot be told from a right one, if
        // it does not lie before the last moment at which the log before was known.
        let isFirst = topic.incarnation > 0 && topic.end(of: partition) == 0
        var stamp = isFirst && !setting.hasIDs && !(0...now - setting.margin).contains(stamp) ? now : stamp
        // The margin is for how late a stamp is and for how long a node does not know of the partition, together.
        if nodes.contains(where: { $0.isUnaware(of: partition) }) { stamp = max(stamp, now) }
        let index = topic.append(partition, account: account, entity: entity, stamp: stamp, now: now)
        if isTold {
            let offset = topic.end(of: partition) - 1
            note("record \(index), \(partition):\(offset), stamped \(Self.text(stamp)), at \(Self.text(now))")
        }
        for node in nodes.indices {
            nodes[node].change { $0.append(0, partition, ScriptedRecord(timestamp: stamp, payload: index)) }
        }
    }

    private mutating func addPartition() {
        guard topic.logs.count < 4 else { return }
        topic.addPartition()
        let count = topic.logs.count
        for node in nodes.indices {
            nodes[node].change {
                $0.addPartitions(0, to: count)
                $0.setLeader(0, count - 1, 2)
            }
        }
    }

    private mutating func recreate(_ partitions: Int, _ records: Int) {
        pass(1)
        for node in nodes.indices { nodes[node].noteRecreation(of: topic, partitions: partitions) }
        if !setting.hasIDs {
            // Nobody has read a record of these logs: without ids nobody can ever know that there were any.
            for partition in topic.logs.indices where nodes.allSatisfy({ $0.isUnread(partition) }) {
                topic.excuseAll(partition)
            }
            // A cursor from before the topic had a record fits any topic that has none.
            for client in clients.indices where clients[client].claimsNothing { clients[client].excuse(topic.logs) }
            // Nor does a node whose stream goes on know a log again of which it has read nothing.
            for client in clients.indices {
                guard let node = clients[client].node, !setting.ids.contains(node) else { continue }
                clients[client].excuse(topic.logs.indices.filter(nodes[node].isUnread).map { topic.logs[$0] })
            }
        }
        topic.recreate(partitions: partitions)
        for node in nodes.indices {
            nodes[node].change { broker in
                broker.create(0, partitions: partitions)
                for partition in 0..<partitions { broker.setLeader(0, partition, 2) }
            }
        }
        pass(1)
        for record in 0..<records { append(record % partitions, record / partitions % 2, 0, now) }
        count { $0.recreated += 1 }
    }

    /// Without ids the first record of a recreated log is all that tells it from the one before: it stays. Compaction leaves
    /// it in any log.
    private var mayLoseFirst: Bool { setting.hasIDs || topic.incarnation == 0 }

    private mutating func trim(_ partition: Int, _ keeping: Int) {
        guard mayLoseFirst else { return }
        let offset = max(0, topic.end(of: partition) - Int64(keeping))
        // A node does not know that it lacks what was deleted before the brokers that it asks had heard of the partition.
        if nodes.contains(where: { $0.isUnaware(of: partition) }) {
            topic.excuse(partition, from: topic.starts[partition], before: offset)
        }
        topic.trim(partition, before: offset)
        for node in nodes.indices { nodes[node].change { $0.deleteRecords(0, partition, before: offset) } }
    }

    private mutating func compact(_ partition: Int, _ back: Int) {
        let offset = topic.end(of: partition) - 1 - Int64(back)
        guard offset >= topic.starts[partition], offset > 0 || setting.hasIDs else { return }
        topic.remove(partition, offset)
        for node in nodes.indices { nodes[node].change { $0.remove(0, partition, offset) } }
    }

    /// No node lags behind by more than the margin allows: it catches up before that.
    mutating func pass(_ milliseconds: Int64) {
        var left = milliseconds
        while left > 0 {
            let step = min(left, setting.margin / 4)
            now += step
            left -= step
            for node in nodes.indices where nodes[node].isReady && now - nodes[node].caughtUp > setting.margin / 2 {
                thaw(node)
                catchUp(node)
            }
        }
        for node in nodes.indices where nodes[node].isReady && now - nodes[node].refreshed > Self.refreshInterval {
            refresh(node)
        }
    }

    // MARK: - Nodes

    /// At the latest: knowledge that is older is rounded in cursors.
    private static let refreshInterval: Int64 = 8_000

    private mutating func start(_ node: Int) {
        for _ in 0..<3 where !nodes[node].isReady {
            refresh(node)
            read(node, atMost: 1_000)
            nodes[node].noteReady()
        }
        if nodes[node].isReady && nodes[node].isCaughtUp(topic) { nodes[node].noteCaughtUp(now) }
    }

    private mutating func restart(_ node: Int, _ mapping: Int) {
        for client in clients.indices where clients[client].node == node {
            clients[client].node = nil
            clients[client].stream = .away
        }
        if mapping != 0 { hasLeftOut = true }
        nodes[node].restart(mapping: mapping)
        start(node)
    }

    private mutating func thaw(_ node: Int) {
        nodes[node].partitionsTold = nil
        nodes[node].change { $0.thaw(1) }
    }

    mutating func catchUp(_ node: Int) {
        refresh(node)
        read(node, atMost: 1_000)
        if !nodes[node].isReady { nodes[node].noteReady() }
        guard nodes[node].isCaughtUp(topic) else { return }
        nodes[node].noteCaughtUp(now)
        // Cursors say so: else they would be refused without need. The end of a log that was found to be another one is asked
        // for in the next refresh, and brokers that are behind may tell of partitions that are no more.
        guard nodes[node].noticed != now, nodes[node].partitionsTold == nil else { return }
        if nodes[node].history.current().readUntil() < now {
            report("node \(SimulationStep.name(ofNode: node)) has read all, and its cursors do not say so")
        }
    }

    mutating func refresh(_ node: Int) { handle(nodes[node].refresh(now), node) }

    mutating func read(_ node: Int, atMost count: Int) {
        handle(nodes[node].read(atMost: min(count, 1_000), now), node)
        nodes[node].history.give(.wake)
    }

    private mutating func handle(_ outputs: [ScriptedReader.Output], _ node: Int) {
        var isReset = false
        for output in outputs {
            switch output {
            case .change(let change):
                if isReset, case .facts = change {
                    // Before anything is known of the new logs.
                    resyncAll(node)
                    isReset = false
                }
                if isTold { note("node \(SimulationStep.name(ofNode: node)): \(Self.text(change))") }
                if let wrong = nodes[node].handle(change, &topic, now) {
                    report("node \(SimulationStep.name(ofNode: node)): \(wrong)")
                }
                switch change {
                case .recordsLost where mutant == .ignoresLoss: break
                case .recreated, .recordsLost: isReset = true
                case .facts, .found, .vanished, .identified: break
                }
            case .record(let name, let offset, let scripted):
                if isReset { resyncAll(node) }
                isReset = false
                let record = topic.records[scripted.payload]
                let partition = name.number
                if isTold {
                    let name = SimulationStep.name(ofNode: node)
                    note("node \(name) reads record \(scripted.payload), \(partition):\(offset)")
                }
                let isLive = nodes[node].isLive(name, offset)
                topic.excuse(scripted.payload, margin: setting.margin, unlessReadAsItCame: isLive)
                if nodes[node].handle(record, scripted.payload, name, offset: offset, now) {
                    deliver(record, scripted.payload, node, name, offset)
                }
            }
        }
        if isReset { resyncAll(node) }
    }
}
