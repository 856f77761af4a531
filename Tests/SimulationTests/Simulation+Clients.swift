import LiveUpdates

// What clients do.
extension Simulation {
    mutating func runClient(_ step: SimulationStep) {
        switch step {
        case .poll(let client, let node, let isFiltered, let pages, let size):
            leave(client)
            guard resume(client, at: node, isFiltered ? SimulatedNames.filter : nil) else { return }
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
            let fresh = nodes[node].history.current().freshCursor(account: name(client), now: wall(node))
            clients[client].keep(fresh.bytes, era(node))
        case .leave(let client): leave(client)
        default: break
        }
    }

    private func name(_ client: Int) -> Account { SimulatedNames.accounts[clients[client].account] }

    /// The era of which a cursor of this node speaks; nil while it reads on in a log that is another one now.
    func era(_ node: Int) -> Int? {
        nodes[node].incarnation == topic.incarnation && !nodes[node].hasReadWhatIsLost ? topic.era : nil
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
    private mutating func resume(_ client: Int, at node: Int, _ filter: EntityFilter? = nil) -> Bool {
        guard serves(node) else { return false }
        clients[client].begin(at: node)
        // A node that has no memory of the topic before, or noticed the new one when others had not, knows by its first records
        // alone that the cursor is of the one before.
        if !setting.hasIDs, topic.incarnation > 0, topic.hasLateBirth, clients[client].era != topic.era,
            (Cursor(clients[client].cursor)?.issue ?? 0) + setting.clockDifference >= nodes[node].noticed ?? 0,
            !isContradicted(client, at: node)
        {
            clients[client].excuse(topic)
        }
        nodes[node].history.give(.retain(name(client)))
        guard let its = Cursor(clients[client].cursor) else {
            resync(client, node)
            return true
        }
        let cursor = mutant.map { $0.change(its) } ?? its
        readCuts(client, node, its)
        excuseCuts(client, node, its)
        var answer = nodes[node].history.current().resume(
            cursor, account: name(client), entities: filter, now: wall(node))
        if case .undecided(let doubt) = answer { answer = wait(client, node, cursor, filter, doubt) }
        if isReported { note("client \(client) resumes: \(Self.text(answer)); \(Self.text(clients[client].cursor))") }
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
            judge(reason, cursor, client, node, isFiltered: filter != nil)
            resync(client, node)
        case .undecided: report("client \(client): what becomes of its cursor stays undecided, \(answer)")
        }
        return true
    }

    /// Whether another record stands where the one is to be that the cursor says, so that the node knows the log for another one
    /// whatever its first records say.
    private func isContradicted(_ client: Int, at node: Int) -> Bool {
        guard let mark = Cursor(clients[client].cursor)?.fingerprint, mark.partition.topic == 0,
            nodes[node].partitionsTold == nil
        else { return false }
        let partition = Int(mark.partition.number)
        guard partition < topic.logs.count, mark.offset >= topic.starts[partition],
            mark.offset < topic.end(of: partition), mark.offset < nodes[node].nextOffset(partition),
            SimulatedNames.accounts.indices.allSatisfy({ nodes[node].remembers($0, partition, mark.offset) })
        else { return false }
        let record = topic.records[topic.logs[partition][Int(mark.offset)]]
        return !record.isRemoved && !mark.fits(record.stamp) && !mark.fitsAnyAccount(record.stamp)
    }

    /// Of a log that was cut back, a node that has not read as far as the cursor leaves records out by their offsets alone: it
    /// reads on before.
    private mutating func readCuts(_ client: Int, _ node: Int, _ cursor: Cursor) {
        let isBehind = topic.cuts.contains { cut in
            guard clients[client].era ?? -1 < cut.era else { return false }
            return cursor.position(cut.partition).map { $0.offset > nodes[node].nextOffset(cut.partition) } ?? false
        }
        if isBehind { catchUp(node) }
    }

    /// To a node that did not see a log being cut back, the account's last event is all that tells that its offsets have other
    /// records now. Where another account's records were lost, or it holds nothing to compare with, it cannot know.
    private mutating func excuseCuts(_ client: Int, _ node: Int, _ cursor: Cursor) {
        let hasIDs = cursor.topicIDs != nil && setting.ids.contains(node)
        for cut in topic.cuts where clients[client].era ?? -1 < cut.era {
            // Without ids a node refuses what was issued before it noticed, and others may notice later.
            if nodes[node].erasSeen.contains(cut.era), hasIDs || cursor.issue < nodes[node].noticed ?? 0 { continue }
            guard let position = cursor.position(cut.partition), position.offset > cut.offset
            else { continue }
            if let mark = cursor.fingerprint, mark.partition == position.partition,
                mark.offset >= cut.offset, mark.offset < cut.offset + Int64(cut.stamps.count),
                nodes[node].remembers(clients[client].account, cut.partition, mark.offset)
            {
                let log = topic.logs[cut.partition]
                let now = mark.offset < log.count ? topic.records[log[Int(mark.offset)]] : nil
                // With ids no record is read once more for that: only an event of the account contradicts it.
                let isOther = now.map { $0.account != clients[client].account || !nodes[node].isMapped($0) } ?? false
                let isAlike = now?.stamp == cut.stamps[Int(mark.offset - cut.offset)]
                let isReported = isOther ? !hasIDs && mark.offset >= topic.starts[cut.partition] : !isAlike
                // Or the client was given what stands there now, by a node that read on behind the gap.
                let isGiven = mark.offset < log.count && clients[client].has(log[Int(mark.offset)])
                guard !isReported || isGiven || now?.isRemoved == true else { continue }
            }
            clients[client].excuse(topic, cut.partition, from: cut.offset, before: position.offset)
        }
    }

    /// Waits as long as nothing can be said: the node refreshes and reads on meanwhile.
    private mutating func wait(_ client: Int, _ node: Int, _ cursor: Cursor, _ filter: EntityFilter?, _ doubt: Doubt)
        -> Resumption
    {
        count { $0.undecided += 1 }
        if let atOnce = nodes[node].add(client, name(client), cursor, filter, doubt, now) { return atOnce }
        for _ in 0..<5 {
            if let decided = nodes[node].decide(topic, now) { return decided }
            pass(2_000)
            catchUp(node)
        }
        return nodes[node].decide(topic, now) ?? .undecided(doubt)
    }

    mutating func resync(_ client: Int, _ node: Int) {
        let fresh = nodes[node].history.current().freshCursor(account: name(client), now: wall(node))
        clients[client].resync(fresh.bytes, era(node), records: topic.records.count)
        if isReported {
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
                account: name(client), partition: partition, offset: offset, timestamp: record.stamp, now: wall(node))
            clients[client].keep(cursor.bytes, era(node))
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
            account: name(client), from: position, limit: size, entities: filter, now: wall(node), withCursors: true)
        guard case .page(let events, let rest, let isComplete) = answer else {
            count { $0.lost += 1 }
            judgeLoss(client, node)
            return resync(client, node)
        }
        if !isComplete && events.count < size { report("client \(client): a page is short") }
        for event in events {
            give(client, Int(event.event.id) ?? -1)
            clients[client].keep(event.at, era(node))
        }
        if filter != nil { clients[client].pass(topic) }
        if isComplete || filter != nil {
            clients[client].keep(history.cursor(at: rest, account: name(client), now: wall(node)).bytes, era(node))
        }
        clients[client].stream = isComplete ? .live : .reading(rest)
        if isReported {
            note("client \(client) is given \(events.map(\.event.id)): \(Self.text(clients[client].cursor))")
        }
    }
}
