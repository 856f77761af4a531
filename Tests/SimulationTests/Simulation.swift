import KafkaLogs
import LiveUpdates
import ScriptedBroker

/// What a history is made of.
struct SimulationSetting: Sendable {
    var partitions = 2
    var nodes = 2
    /// The first tells what it knows of topics, and leads none. Where leaders change, none comes back while a node may not
    /// have seen the others: that a log was cut back then nobody could tell.
    var brokers = 2
    /// The account of each client.
    var clients = [0]
    /// Nodes whose library can ask for topic ids.
    var ids: Set<Int> = []
    /// Beside the topic there is another one, which had a record long ago, and to which nothing happens.
    var hasQuietTopic = false
    var topicNames: [String] { hasQuietTopic ? ["t", "u"] : ["t"] }
    /// How far the clock of each node is ahead, in milliseconds.
    var clocks: [Int64] = []
    var limits = HistoryLimits()
    /// Whether a limit on bytes makes accounts give way: what is let go then is not modelled.
    var isByteLimited: Bool { limits.maximumLogBytes < 1 << 20 }
    /// Whether nodes write an archive, and whether all of them have one.
    var archive: Archive?
    /// Whether every record is stamped as it comes.
    var hasHonestStamps = true
    enum Archive: Hashable, Sendable { case shared, ofEachNode }
    var margin: Int64 { limits.maximumTimestampDelayMilliseconds }
    /// Of any two nodes, and of producers, whose clocks are right: a part of what a time stamp may be late by goes for it.
    var clockDifference: Int64 { clocks.max() ?? 0 }
    var allowedDelay: Int64 { margin - clockDifference }
    func clock(_ node: Int) -> Int64 { node < clocks.count ? clocks[node] : 0 }
    var hasIDs: Bool { !ids.isEmpty && ids.count == nodes }
}

/// A history: a topic, nodes that read it by the real code, and clients that go between them, judged at every step.
///
/// Two judges: nothing is missing of which a client was not told, and nobody is told to resync without need.
struct Simulation {
    let setting: SimulationSetting
    var topic: SimulatedTopic
    var nodes: [SimulatedNode] = []
    var clients: [SimulatedClient]
    var writers: [SimulatedWriter] = []
    var stores: [SimulatedStore] = []
    private(set) var now = Self.beginning
    private(set) var problem: String?
    /// Whether some node ran with the second mapping: what that leaves out nobody is owed then.
    private(set) var hasLeftOut = false
    private(set) var outcomes = SimulationOutcomes()
    let mutant: RuleMutant?
    /// What happened, to understand a problem; nil while nobody wants to know.
    private(set) var account: [String]?

    init(_ setting: SimulationSetting, mutant: RuleMutant? = nil, isReported: Bool = false) {
        self.setting = setting
        self.mutant = mutant
        account = isReported ? [] : nil
        topic = SimulatedTopic(partitions: setting.partitions)
        clients = setting.clients.map { SimulatedClient(account: $0) }
        for node in 0..<setting.nodes { nodes.append(SimulatedNode(setting, node: node, mutant: mutant)) }
        prepareArchive()
        for node in nodes.indices { start(node) }
    }

    /// The same once more, to be gone on with apart.
    func copy() -> Simulation {
        var copy = self
        for node in nodes.indices { copy.nodes[node] = nodes[node].copy() }
        return copy
    }

    mutating func report(_ text: String) { problem = problem ?? text }

    var isReported: Bool { account != nil }
    mutating func note(_ text: String) { account?.append("    " + text) }

    mutating func count(_ change: (inout SimulationOutcomes) -> Void) { change(&outcomes) }

    // MARK: - Steps

    mutating func run(_ step: SimulationStep) {
        if isReported { account?.append("\(step)") }
        switch step {
        case .append(let partition, let account, let entity, let stamp):
            pass(1)
            append(partition, account, entity, stamp.milliseconds(now))
        case .addPartition: addPartition()
        case .recreate(let partitions, let records): recreate(partitions, records)
        case .trim(let partition, let keeping): trim(partition % topic.logs.count, keeping)
        case .compact(let partition, let back): compact(partition % topic.logs.count, back)
        case .cutBack(let partition, let losing, let records): cutBack(partition % topic.logs.count, losing, records)
        case .pass(let milliseconds): pass(milliseconds)
        case .refresh(let node): refresh(node)
        case .refreshPart(let node, let answers): handle(nodes[node].refreshPart(answers, topic, now), node)
        case .read(let node, let count): read(node, atMost: count)
        case .catchUp(let node): catchUp(node)
        case .restart(let node, let mapping): restart(node, mapping)
        case .freeze(let node):
            nodes[node].partitionsTold = topic.logs.count
            nodes[node].change { $0.freeze(1) }
        case .thaw(let node): thaw(node)
        case .sweep(let node): nodes[node].sweep(wall(node))
        case .archive(let step): runArchive(step)
        case .poll, .follow, .fallBehind, .readOn, .heartbeat, .leave: runClient(step)
        }
    }

    // MARK: - Time

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
        if nodes[node].isReady && nodes[node].isCaughtUp(topic) { nodes[node].noteCaughtUp(topic, now) }
    }

    private mutating func restart(_ node: Int, _ mapping: Int) {
        for client in clients.indices where clients[client].node == node {
            clients[client].node = nil
            clients[client].stream = .away
        }
        if mapping != 0 { hasLeftOut = true }
        nodes[node].restart(mapping: mapping)
        restartWriter(node)
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
        nodes[node].noteCaughtUp(topic, now)
        // Cursors say so: else they would be refused without need. The end of a log that was found to be another one is asked
        // for in the next refresh, and brokers that are behind may tell of partitions that are no more.
        guard nodes[node].noticed != wall(node), nodes[node].partitionsTold == nil, !nodes[node].hasReadWhatIsLost
        else { return }
        if nodes[node].history.current().readUntil() < wall(node) {
            report("node \(SimulationStep.name(ofNode: node)) has read all, and its cursors do not say so")
        }
    }

    /// What the node's clock says.
    func wall(_ node: Int) -> Int64 { now + setting.clock(node) }

    /// A whole refresh, after what is left of one that is under way.
    mutating func refresh(_ node: Int) {
        if nodes[node].isRefreshing { handle(nodes[node].refreshPart(.max, topic, now), node) }
        handle(nodes[node].refresh(now), node)
    }

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
                if isReported { note("node \(SimulationStep.name(ofNode: node)): \(Self.text(change))") }
                noteForArchive(change, node)
                if let wrong = nodes[node].handle(change, &topic, wall(node)) {
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
                guard name.topic == 0 else {
                    nodes[node].history.give(
                        .skip(name, offset: offset, timestamp: scripted.timestamp, now: wall(node)))
                    continue
                }
                let record = topic.records[scripted.payload]
                let partition = name.number
                if isReported {
                    let name = SimulationStep.name(ofNode: node)
                    note("node \(name) reads record \(scripted.payload), \(partition):\(offset)")
                }
                noteForArchive(record, scripted.payload, node, name, offset)
                let isLive = nodes[node].isLive(name, offset)
                topic.excuse(scripted.payload, margin: setting.allowedDelay, unlessReadAsItCame: isLive)
                if nodes[node].handle(record, scripted.payload, name, offset: offset, wall(node)) {
                    deliver(record, scripted.payload, node, name, offset)
                }
            }
        }
        if isReset { resyncAll(node) }
        guard setting.archive != nil else { return }
        writers[node].refreshed(nodes[node].topicAnswers)
        writers[node].endWake()
    }
}
