@testable import LiveUpdates

/// One random history: a topic, nodes that read it, clients that go between them. Everything that a client is owed must
/// have been given to it at the end, or it was told to resync.
struct HistorySimulation {
    private var numbers: SeededNumbers
    private var topic: SimulatedTopic
    private var nodes: [SimulatedNode] = []
    private var clients: [SimulatedClient] = []
    private var now: Int64 = 1_000
    /// How far a time stamp may lag behind, and a node behind time stamps.
    private let margin: Int64
    private let accounts: [Account]
    private let mayMakeAnew: Bool
    private let mayDelete: Bool
    private let maximumEvents: Int
    private(set) var problem: String?
    private(set) var outcomes = SimulationOutcomes()

    /// Whether each step is printed, to understand a failure.
    private let isTold: Bool

    init(seed: UInt64, isTold: Bool = false) {
        self.isTold = isTold
        numbers = SeededNumbers(state: seed)
        accounts = (0..<(1 + numbers.below(4))).map { Account("A\($0)") }
        margin = Int64(1 + numbers.below(6))
        mayMakeAnew = numbers.isOne(in: 3)
        mayDelete = numbers.isOne(in: 4)
        maximumEvents = 1 + numbers.below(5)
        topic = SimulatedTopic(partitions: 1 + numbers.below(3))
        topic.write(0, account: nil, timestamp: now)
        for _ in 0..<(1 + numbers.below(3)) {
            var limits = HistoryLimits()
            limits.maximumEventsPerAccount = maximumEvents
            limits.maximumTimestampDelayMilliseconds = margin
            let keepsAll = numbers.isOne(in: 2)
            limits.retentionMilliseconds = keepsAll ? 1_000_000 : margin + 1 + Int64(numbers.below(30))
            let window = keepsAll ? 1_000_000 : limits.retentionMilliseconds - Int64(numbers.below(4))
            if !keepsAll && numbers.isOne(in: 3) { limits.maximumLogBytes = 300 + numbers.below(1_600) }
            var node = SimulatedNode(
                limits: limits, window: window, keepsAll: keepsAll, accounts: accounts, topic: topic, now: now)
            node.start(topic, now: now, order: 0)
            nodes.append(node)
        }
        for _ in 0..<(1 + numbers.below(2)) {
            clients.append(SimulatedClient(account: numbers.below(accounts.count)))
            join(clients.count - 1)
        }
    }

    mutating func run(steps: Int) {
        for _ in 0..<steps where problem == nil { step() }
        finish()
    }

    private func tell(_ step: @autoclosure () -> String) {
        if isTold { print("\(now): \(step())") }
    }

    private func cursor(of client: Int) -> String { Cursor(clients[client].cursor).map { "\($0)" } ?? "unreadable" }

    // MARK: - Steps

    private mutating func step() {
        switch numbers.below(32) {
        case 0..<9: write()
        case 9..<15: wake(numbers.below(nodes.count), atMost: 1 + numbers.below(4))
        case 15..<18: advance(by: Int64(numbers.below(4)))
        case 18..<20: leave(numbers.below(clients.count))
        case 20..<24: joinOrRead(numbers.below(clients.count))
        case 24: fallBehind(numbers.below(clients.count))
        case 25: beat(numbers.below(clients.count))
        case 26: nodes[numbers.below(nodes.count)].history.sweep(now: now)
        case 27: look(numbers.below(nodes.count))
        case 28: restart(numbers.below(nodes.count))
        case 29: if numbers.isOne(in: 2) { advance(by: Int64(numbers.below(20))) } else { addPartition() }
        case 30: if mayMakeAnew && numbers.isOne(in: 2) { makeAnew() }
        default: if mayDelete { deleteRecords() }
        }
    }

    private mutating func write() {
        let partition = numbers.below(topic.logs.count)
        let account = numbers.isOne(in: 8) ? nil : numbers.below(accounts.count)
        // The first record of a log tells its age; the others may have any time stamp within the margin.
        var timestamp = now
        if topic.end(of: partition) > 0 { timestamp -= Int64(numbers.below(Int(margin) + 1)) }
        tell("write to \(partition) for \(account ?? -1) at \(timestamp), event \(topic.accountOfEvent.count)")
        topic.write(partition, account: account, timestamp: timestamp)
    }

    /// No node is behind by more than the margin allows: whatever has an older time stamp is read before time goes on.
    private mutating func advance(by milliseconds: Int64) {
        let later = now + milliseconds
        for node in nodes.indices where milliseconds > 0 {
            while problem == nil, isBehind(node, before: later - margin) {
                wake(node, atMost: 8)
                if nodes[node].next.count < topic.logs.count { nodes[node].look(topic, now: now) }
            }
        }
        now = later
    }

    private func isBehind(_ node: Int, before time: Int64) -> Bool {
        if nodes[node].isOutOfRange(topic) { return true }
        for partition in topic.logs.indices {
            let isOpen = partition < nodes[node].next.count
            var offset = isOpen ? Int(nodes[node].next[partition]) : 0
            let log = topic.logs[partition]
            while offset < log.count {
                if log[offset].timestamp < time { return true }
                offset += 1
            }
        }
        return false
    }

    // MARK: - Nodes

    /// Reads some records, and hands them to those who listen.
    private mutating func wake(_ node: Int, atMost count: Int) {
        if nodes[node].isOutOfRange(topic) { return notice(node) }
        nodes[node].history.beginWake()
        let first = numbers.below(nodes[node].next.count)
        var left = count
        for turn in nodes[node].next.indices {
            let partition = (first + turn) % nodes[node].next.count
            while left > 0, let (record, offset) = nodes[node].read(partition, topic, now: now) {
                left -= 1
                tell("node \(node) reads \(partition):\(offset) \(record)")
                if let account = record.account { handOut(record, account, node, partition, offset) }
            }
        }
    }

    private mutating func handOut(
        _ record: SimulatedTopic.Record, _ account: Int, _ node: Int, _ partition: Int, _ offset: Int64
    ) {
        let name = SimulatedNode.name(partition)
        for client in clients.indices where clients[client].node == node && clients[client].account == account {
            guard case .live = clients[client].stream, !clients[client].isBelowFloor(name, offset) else { continue }
            give(client, event: record.event, partition: name, offset: offset)
            clients[client].cursor =
                nodes[node].history.liveCursor(
                    account: accounts[account], partition: name, offset: offset, timestamp: record.timestamp, now: now
                ).bytes
        }
    }

    private mutating func give(_ client: Int, event: Int, partition: PartitionName, offset: Int64) {
        if let wrong = clients[client].take(event: event, partition: partition, offset: offset) {
            problem = problem ?? "client \(client): \(wrong)"
        }
    }

    private mutating func look(_ node: Int) {
        if nodes[node].isIgnorant(topic) && numbers.isOne(in: 2) { return notice(node) }
        if !nodes[node].isOutOfRange(topic) { nodes[node].look(topic, now: now) }
    }

    private mutating func notice(_ node: Int) {
        tell("node \(node) notices")
        nodes[node].notice(topic, now: now)
        for client in clients.indices where clients[client].node == node { resync(client, node) }
    }

    private mutating func restart(_ node: Int) {
        tell("node \(node) restarts")
        for client in clients.indices where clients[client].node == node {
            clients[client].node = nil
            clients[client].stream = .away
        }
        nodes[node].start(topic, now: now, order: numbers.below(8))
    }

    // MARK: - The topic

    private mutating func addPartition() {
        if topic.logs.count < 4 { topic.addPartition() }
        tell("\(topic.logs.count) partitions")
    }

    private mutating func makeAnew() {
        advance(by: 1)
        tell("made anew")
        topic.makeAnew(partitions: 1 + numbers.below(3))
        topic.write(numbers.below(topic.logs.count), account: nil, timestamp: now)
        for _ in 0..<numbers.below(12) { write() }
        outcomes.madeAnew += 1
    }

    private mutating func deleteRecords() {
        let partition = numbers.below(topic.logs.count)
        var below = topic.end(of: partition)
        for node in nodes where partition < node.next.count { below = min(below, node.next[partition]) }
        guard !nodes.contains(where: { $0.isIgnorant(topic) || $0.next.count <= partition }) else { return }
        topic.deleteRecords(of: partition, below: Int64(numbers.below(Int(below) + 1)))
        tell("\(partition) begins at \(topic.starts[partition])")
    }
}

/// What came of the clients' cursors, to see that a run has had a bit of everything.
struct SimulationOutcomes {
    var served = 0
    var refused: [ResyncReason: Int] = [:]
    var lost = 0
    var madeAnew = 0
    var floors = 0
    var judged = 0

    mutating func add(_ other: SimulationOutcomes) {
        served += other.served
        refused.merge(other.refused, uniquingKeysWith: +)
        lost += other.lost
        madeAnew += other.madeAnew
        floors += other.floors
        judged += other.judged
    }
}

// MARK: - Clients

extension HistorySimulation {
    /// A first join, from now on.
    private mutating func join(_ client: Int) {
        let node = numbers.below(nodes.count)
        clients[client].node = node
        nodes[node].history.retain(accounts[clients[client].account])
        resync(client, node)
    }

    private mutating func resync(_ client: Int, _ node: Int) {
        let fresh = nodes[node].history.freshCursor(account: accounts[clients[client].account], now: now)
        clients[client].resync(cursor: fresh.bytes, events: topic.accountOfEvent.count)
        tell("client \(client) of \(clients[client].account) is told to resync on \(node): \(cursor(of: client))")
    }

    private mutating func leave(_ client: Int) {
        guard let node = clients[client].node else { return }
        nodes[node].history.release(accounts[clients[client].account])
        clients[client].node = nil
        clients[client].stream = .away
    }

    private mutating func beat(_ client: Int) {
        guard let node = clients[client].node, case .live = clients[client].stream else { return }
        clients[client].cursor =
            nodes[node].history.freshCursor(account: accounts[clients[client].account], now: now).bytes
    }

    private mutating func fallBehind(_ client: Int) {
        guard let node = clients[client].node, case .live = clients[client].stream else { return }
        clients[client].stream = .reading(
            StreamPosition(sequence: nodes[node].history.lastSequence, floors: clients[client].floors))
    }

    private mutating func joinOrRead(_ client: Int) {
        switch clients[client].stream {
        case .away: resume(client)
        case .live: break
        case .reading(let position): readOn(client, position)
        }
    }

    private mutating func resume(_ client: Int) {
        let node = numbers.below(nodes.count)
        let account = accounts[clients[client].account]
        clients[client].node = node
        clients[client].begin()
        nodes[node].history.retain(account)
        var answer = nodes[node].history.resume(clients[client].cursor, account: account, now: now)
        if case .undecided(.record(let partition, let offset)) = answer {
            answer = nodes[node].history.resume(
                clients[client].cursor, account: account, now: now, record: topic.record(partition, offset, accounts))
        }
        if case .undecided = answer {
            let mayLook = !numbers.isOne(in: 3) && !nodes[node].isOutOfRange(topic)
            if mayLook { nodes[node].look(topic, now: now) }
            answer = nodes[node].history.resume(
                clients[client].cursor, account: account, now: now, ends: mayLook ? .since(1) : .unknown)
        }
        tell("client \(client) resumes on \(node): \(answer), \(cursor(of: client))")
        judge(answer, client, node)
        switch answer {
        case .accepted(let position, let floors):
            outcomes.served += 1
            if !floors.isEmpty { outcomes.floors += 1 }
            clients[client].floors = floors
            clients[client].stream = .reading(position)
        case .refused(let reason):
            outcomes.refused[reason, default: 0] += 1
            if reason == .invalid { problem = problem ?? "client \(client): its own cursor is invalid" }
            resync(client, node)
        case .undecided(.ends(let floors)) where floors.contains { $0.partition.number >= nodes[node].next.count }:
            // A partition that was never opened.
            resync(client, node)
        case .undecided:
            problem = problem ?? "client \(client): undecided after a look"
        }
    }

    /// A node that has read all there ever was has no reason to refuse, but for events that the limit took; and that reason
    /// it must not overlook.
    private mutating func judge(_ answer: Resumption, _ client: Int, _ node: Int) {
        guard nodes[node].keepsAll, topic.incarnation == 0, topic.starts.allSatisfy({ $0 == 0 }),
            let cursor = Cursor(clients[client].cursor)
        else { return }
        outcomes.judged += 1
        let isServed = nodes[node].kept[clients[client].account].serves(cursor, margin: margin)
        switch answer {
        case .accepted where isServed: break
        case .refused(.expired) where !isServed: break
        default: problem = problem ?? "client \(client): \(answer), although \(isServed ? "all" : "not all") is kept"
        }
    }

    private mutating func readOn(_ client: Int, _ position: StreamPosition) {
        guard let node = clients[client].node else { return }
        let history = nodes[node].history
        let account = accounts[clients[client].account]
        let wantsCursors = !numbers.isOne(in: 3)
        let limit = 1 + numbers.below(3)
        let answer = history.read(
            account: account, from: position, limit: limit, entities: nil, now: now, withCursors: wantsCursors)
        guard case .page(let events, let rest, let isComplete) = answer else {
            outcomes.lost += 1
            return resync(client, node)
        }
        if !isComplete && events.count < limit { problem = problem ?? "client \(client): a page is short" }
        for event in events {
            give(client, event: Int(event.event.id) ?? -1, partition: event.partition, offset: event.offset)
            if wantsCursors { clients[client].cursor = event.at }
        }
        if numbers.isOne(in: 2) { clients[client].cursor = history.cursor(at: rest, account: account, now: now).bytes }
        clients[client].stream = isComplete ? .live : .reading(rest)
        tell("client \(client) reads \(events.map(\.offset)), then \(clients[client].stream): \(cursor(of: client))")
    }

    /// Lets every node read to the end and every client come back, and then looks for what is missing.
    private mutating func finish() {
        for node in nodes.indices {
            if nodes[node].isIgnorant(topic) { notice(node) }
            nodes[node].look(topic, now: now)
            for _ in 0..<topic.logs.count { wake(node, atMost: .max) }
        }
        for client in clients.indices {
            for _ in 0..<1_000 where problem == nil {
                if case .live = clients[client].stream { break }
                joinOrRead(client)
            }
            guard case .live = clients[client].stream else {
                problem = problem ?? "client \(client) never comes to an end"
                return
            }
            if let event = clients[client].missing(topic) {
                problem = problem ?? "client \(client) was never given event \(event), and not told"
            }
        }
    }
}
