import KafkaLogs
import LiveUpdates

// The archive: what its writers do, and the pages that are read from it.
extension Simulation {
    /// After how long a position is stored once more, with what is known of its log by then.
    private static let renewalMilliseconds: Int64 = 300_000

    mutating func prepareArchive() {
        guard let archive = setting.archive else { return }
        writers = nodes.indices.map { _ in SimulatedWriter(mutant) }
        stores =
            archive == .shared
            ? [SimulatedStore(isShared: true)] : nodes.indices.map { _ in SimulatedStore(isShared: false) }
    }

    private func store(of node: Int) -> Int { setting.archive == .shared ? 0 : node }
    private var monotonic: UInt64 { UInt64(now) }

    mutating func restartWriter(_ node: Int) {
        guard setting.archive != nil else { return }
        stores[store(of: node)].disconnect(node)
        writers[node] = SimulatedWriter(mutant)
    }

    mutating func noteForArchive(_ change: LogChange, _ node: Int) {
        guard setting.archive != nil else { return }
        writers[node].note(change)
    }

    mutating func noteForArchive(
        _ record: SimulatedTopic.Record, _ index: Int, _ node: Int, _ name: PartitionName, _ offset: Int64
    ) {
        guard setting.archive != nil else { return }
        writers[node].note(record, index, name, offset: offset, wall(node))
    }

    // MARK: - Steps

    mutating func runArchive(_ step: ArchiveStep) {
        guard setting.archive != nil else { return }
        switch step {
        case .pass(let node): writeAll(node)
        case .claim(let node): claim(node)
        case .ask(let node): writers[node].ask(nodes[node].broker, monotonic)
        case .reread(let node, let count):
            writers[node].reread(nodes[node].broker, topic, atMost: count, wall: wall(node), monotonic)
        case .begin(let node, let events): begin(node, events)
        case .commit(let node): commit(node)
        case .lose(let node, let isStored):
            if isStored { commit(node, isReceived: false) }
            writers[node].fail()
            stores[store(of: node)].disconnect(node)
        case .disconnect(let node):
            stores[store(of: node)].disconnect(node)
            if writers[node].flight == nil { writers[node].fail() }
        case .drop(let node): writers[node].drop()
        case .trouble(let store, let trouble): if store < stores.count { stores[store].trouble = trouble }
        case .page(let client, let node): page(client, at: node)
        }
    }

    private mutating func claim(_ node: Int) {
        writers[node].claim(&stores[store(of: node)], node, wall: wall(node), monotonic)
    }

    private mutating func begin(_ node: Int, _ events: Int) {
        writers[node].begin(stores[store(of: node)], node, events: events, wall: wall(node), monotonic)
        guard isReported, let flight = writers[node].flight else { return }
        for run in flight.batch.runs {
            note(
                "transaction: \(run.partition): \(run.from)..<\(run.next)\(run.continuation == .same ? "" : ", \(run.continuation)"),"
                    + " events \(run.events.map(\.offset))")
        }
    }

    private mutating func commit(_ node: Int, isReceived: Bool = true) {
        writers[node].commit(&stores[store(of: node)], node, topic, isReceived: isReceived, monotonic)
        if isReported { note("stored: \(stores[store(of: node)].stored.map { "\($0.partition):\($0.next)" })") }
    }

    private mutating func writeAll(_ node: Int) {
        for _ in 0..<4 {
            claim(node)
            for _ in 0..<100 where writers[node].hasQuestions { writers[node].ask(nodes[node].broker, monotonic) }
            for _ in 0..<3 where writers[node].hasBehind {
                writers[node].reread(nodes[node].broker, topic, atMost: .max, wall: wall(node), monotonic)
            }
            begin(node, 10_000)
            commit(node)
        }
    }

    // MARK: - Pages

    private func name(_ client: Int) -> Account { SimulatedNames.accounts[clients[client].account] }

    /// A page and its cursor, or none. The node may come to know and read more while it waits.
    private mutating func page(_ client: Int, at node: Int) {
        guard serves(node), stores[store(of: node)].trouble != .away else { return }
        runClient(.leave(client))
        var made = cursor(of: client, node)
        if case .behind = made {
            catchUp(node)
            made = cursor(of: client, node)
        }
        let store = stores[store(of: node)]
        if isReported {
            let stored = store.stored.map { "\($0.partition):\($0.next)" }
            note("client \(client) asks for a page: \(Self.text(made)), stored \(stored)")
        }
        let isOther = mutant != .believesStoredLog && writers[node].contradicts(store.snapshot)
        guard case .cursor(let text) = made, !isOther else {
            count { $0.pagesRefused += 1 }
            return judge(made, client, node)
        }
        count { $0.pages += 1 }
        let account = clients[client].account
        let rows = store.rows.filter { topic.records[$0].account == account }
        let lacking = topic.records.indices.filter {
            !rows.contains($0) && topic.records[$0].account == account && mutant != .hidesGaps
                && store.mayLack($0, topic, hasHonestStamps: setting.hasHonestStamps)
        }
        let old = rows.filter { index in
            !nodes[node].kept.holds(index, of: account, topic.records[index].partition)
        }
        clients[client].begin(with: rows, lacking: Set(lacking), old: old, text.bytes, era(node))
        if isReported { note("its page holds \(rows.sorted()), and may lack \(lacking): \(Self.text(text.bytes))") }
    }

    private mutating func cursor(of client: Int, _ node: Int) -> SnapshotCursor {
        var positions = stores[store(of: node)].snapshot
        if let mutant { positions = mutant.change(positions) { nodes[node].facts(of: $0) } }
        return nodes[node].history.current().snapshotCursor(
            account: name(client), positions: positions, now: wall(node))
    }

    /// Where the topic was never another one, a page is refused only for what the node has not read, or holds no more.
    private mutating func judge(_ made: SnapshotCursor, _ client: Int, _ node: Int) {
        guard topic.era == 0 else { return }
        let store = stores[store(of: node)]
        let account = clients[client].account
        let isRight =
            switch made {
            // Another record was read where the store has one.
            case .cursor: false
            case .behind(let floor):
                !nodes[node].isCaughtUp(topic) || floor.offset > topic.end(of: Int(floor.partition.number))
            case .refused(.expired):
                nodes[node].openings.indices.contains { partition in
                    let next = store.next(partition) ?? 0
                    return nodes[node].openings[partition].map { next < $0.start } ?? false
                        || nodes[node].kept.hasLetGo(account, partition, from: next, isFiltered: false)
                }
            case .refused(.epoch): store.holdsUnknownLog
            case .refused: false
            }
        if !isRight { report("client \(client) is refused a page without need: \(Self.text(made))") }
    }

    // MARK: - The end

    /// Each store comes to hold all there is, and gives a page of it.
    mutating func finishArchive() {
        guard setting.archive != nil, problem == nil else { return }
        for store in stores.indices { stores[store].trouble = .none }
        for node in nodes.indices { runArchive(.commit(node)) }
        // Of a topic that was recreated, what is gone is found out in five refreshes.
        for _ in 0..<(topic.incarnation > 0 ? 8 : 4) {
            for node in nodes.indices { writeAll(node) }
            pass(4_100)
            for node in nodes.indices { catchUp(node) }
        }
        for node in nodes.indices { judgeStore(node) }
        for account in Set(setting.clients).sorted() {
            for node in nodes.indices where problem == nil && serves(node) { judgePage(account, node) }
        }
    }

    private mutating func judgeStore(_ node: Int) {
        guard nodes[node].isCaughtUp(topic) else { return }
        let store = stores[store(of: node)]
        for partition in topic.logs.indices {
            let next = store.next(partition) ?? 0
            guard topic.first(partition, from: next) < topic.end(of: partition) || next > topic.end(of: partition)
            else {
                continue
            }
            report(
                "the archive of node \(SimulationStep.name(ofNode: node)) stands at \(partition):\(next) for good,"
                    + " and the log ends at \(topic.end(of: partition))")
        }
    }

    /// A page at the end, and what follows it at each node.
    private mutating func judgePage(_ account: Int, _ node: Int) {
        guard nodes[node].isCaughtUp(topic) else { return }
        let client = clients.count
        clients.append(SimulatedClient(account: account))
        defer { clients.removeLast() }
        let before = outcomes.pages
        page(client, at: node)
        if outcomes.pages == before, !topic.cuts.isEmpty {
            // What was stored before this node knew that the log was cut back counts once its writer says anew which log it is.
            pass(Self.renewalMilliseconds)
            for _ in 0..<2 {
                for node in nodes.indices { catchUp(node) }
                for node in nodes.indices { writeAll(node) }
            }
            page(client, at: node)
        }
        guard problem == nil else { return }
        guard outcomes.pages > before else {
            return report("account \(account) gets no page from node \(SimulationStep.name(ofNode: node)) at the end")
        }
        for other in nodes.indices where problem == nil { finish(client, at: other) }
    }

    private static func text(_ made: SnapshotCursor) -> String {
        switch made {
        case .cursor: "it has a cursor"
        case .behind(let floor): "the node is behind \(floor.partition.number):\(floor.offset)"
        case .refused(let reason): "its cursor would be refused, \(reason)"
        }
    }
}
