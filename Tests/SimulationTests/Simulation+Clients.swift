import LiveUpdates

// What clients do.
extension Simulation {
    mutating func runClient(_ step: SimulationStep) {
        switch step {
        case .poll(let client, let node, let isFiltered, let pages, let size):
            leave(client)
            guard resume(client, at: node) else { return }
            for page in 0... {
                guard page < pages, case .reading = clients[client].stream else { break }
                readPage(client, size, isFiltered ? SimulatedNames.filter : nil)
            }
            leave(client)
        case .follow(let client, let node):
            leave(client)
            guard resume(client, at: node) else { return }
            while case .reading = clients[client].stream { readPage(client, 100, nil) }
        case .fallBehind(let client):
            guard let node = clients[client].node, case .live = clients[client].stream else { return }
            clients[client].stream = .reading(
                StreamPosition(sequence: nodes[node].history.current().lastSequence, floors: clients[client].floors))
        case .readOn(let client, let size):
            if case .reading = clients[client].stream { readPage(client, size, nil) }
        case .heartbeat(let client):
            guard let node = clients[client].node, case .live = clients[client].stream else { return }
            let fresh = nodes[node].history.current().freshCursor(account: name(client), now: now)
            clients[client].keep(fresh.bytes, incarnation(node))
        case .leave(let client): leave(client)
        default: break
        }
    }

    private func name(_ client: Int) -> Account { SimulatedNames.accounts[clients[client].account] }

    /// The incarnation of which a cursor of this node speaks; nil while it reads on in a log that is another one now.
    func incarnation(_ node: Int) -> Int? {
        nodes[node].incarnation == topic.incarnation ? topic.incarnation : nil
    }

    private mutating func leave(_ client: Int) {
        if let node = clients[client].node { nodes[node].history.give(.release(name(client))) }
        clients[client].node = nil
        clients[client].stream = .away
    }

    // MARK: - Resuming

    /// Clients go to nodes that are ready. Without ids a node that has not read a log's first record yet cannot tell the log
    /// from another.
    func serves(_ node: Int) -> Bool { nodes[node].isReady && (setting.hasIDs || !nodes[node].hasUnreadLog(topic)) }

    /// Returns whether the client is at the node now: clients go to nodes that are ready.
    private mutating func resume(_ client: Int, at node: Int) -> Bool {
        guard serves(node) else { return false }
        clients[client].begin(at: node)
        // A node that has no memory of the topic before, or noticed the new one when others had not, knows by its first records
        // alone that the cursor is of the one before.
        if !setting.hasIDs, topic.hasLateBirth, clients[client].incarnation != topic.incarnation,
            Cursor(clients[client].cursor)?.issue ?? 0 >= nodes[node].noticed ?? 0
        {
            clients[client].excuse(topic)
        }
        nodes[node].history.give(.retain(name(client)))
        guard let cursor = Cursor(clients[client].cursor) else {
            resync(client, node)
            return true
        }
        var answer = nodes[node].history.current().resume(cursor, account: name(client), now: now)
        if case .undecided(let doubt) = answer { answer = wait(client, node, cursor, doubt) }
        if isTold { note("client \(client) resumes: \(Self.text(answer)); \(Self.text(clients[client].cursor))") }
        switch answer {
        case .accepted(let position, let floors):
            count {
                $0.served += 1
                $0.floors += floors.isEmpty ? 0 : 1
            }
            clients[client].floors = floors
            clients[client].stream = .reading(position)
        case .refused(let reason):
            count { $0.refused[reason, default: 0] += 1 }
            judge(reason, cursor, client, node)
            resync(client, node)
        case .undecided: report("client \(client): what becomes of its cursor stays undecided, \(answer)")
        }
        return true
    }

    /// Waits as long as nothing can be said: the node refreshes and reads on meanwhile.
    private mutating func wait(_ client: Int, _ node: Int, _ cursor: Cursor, _ doubt: Doubt) -> Resumption {
        count { $0.undecided += 1 }
        if let atOnce = nodes[node].add(client, name(client), cursor, doubt, now) { return atOnce }
        for _ in 0..<5 {
            if let decided = nodes[node].decide(topic, now) { return decided }
            pass(2_000)
            catchUp(node)
        }
        return nodes[node].decide(topic, now) ?? .undecided(doubt)
    }

    mutating func resync(_ client: Int, _ node: Int) {
        let fresh = nodes[node].history.current().freshCursor(account: name(client), now: now)
        clients[client].resync(fresh.bytes, incarnation(node), records: topic.records.count)
        if isTold {
            note("client \(client) resyncs: \(Self.text(fresh.bytes))")
        }
    }

    mutating func resyncAll(_ node: Int) {
        for client in clients.indices where clients[client].node == node {
            if case .away = clients[client].stream { continue }
            resync(client, node)
        }
    }

    // MARK: - Events

    /// Hands an event that was just read to those who listen.
    mutating func deliver(
        _ record: SimulatedTopic.Record, _ index: Int, _ node: Int, _ partition: PartitionName, _ offset: Int64
    ) {
        for client in clients.indices where clients[client].node == node && clients[client].account == record.account {
            guard case .live = clients[client].stream,
                !clients[client].isBelowFloor(Int(partition.number), offset)
            else { continue }
            give(client, index)
            let cursor = nodes[node].history.current().liveCursor(
                account: name(client), partition: partition, offset: offset, timestamp: record.stamp, now: now)
            clients[client].keep(cursor.bytes, incarnation(node))
        }
    }

    private mutating func give(_ client: Int, _ index: Int) {
        guard topic.records.indices.contains(index) else { return report("client \(client) is given what never was") }
        if let wrong = clients[client].receive(topic.records[index], index) { report("client \(client) \(wrong)") }
    }

    private mutating func readPage(_ client: Int, _ size: Int, _ filter: EntityFilter?) {
        guard let node = clients[client].node, case .reading(let position) = clients[client].stream else { return }
        let history = nodes[node].history.current()
        let answer = history.read(
            account: name(client), from: position, limit: size, entities: filter, now: now, withCursors: true)
        guard case .page(let events, let rest, let isComplete) = answer else {
            count { $0.lost += 1 }
            judgeLoss(client, node)
            return resync(client, node)
        }
        if !isComplete && events.count < size { report("client \(client): a page is short") }
        for event in events {
            give(client, Int(event.event.id) ?? -1)
            clients[client].keep(event.at, incarnation(node))
        }
        if filter != nil { clients[client].pass(topic) }
        if isComplete || filter != nil {
            clients[client].keep(history.cursor(at: rest, account: name(client), now: now).bytes, incarnation(node))
        }
        clients[client].stream = isComplete ? .live : .reading(rest)
        if isTold {
            note("client \(client) is given \(events.map(\.event.id)): \(Self.text(clients[client].cursor))")
        }
    }
}
