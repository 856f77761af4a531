import LiveUpdates

// The judges. What they know is the truth: of the topic, of when a record came, and of what a node has read and let go.
extension Simulation {
    // MARK: - Nobody is refused without need

    mutating func judge(_ reason: ResyncReason, _ cursor: Cursor, _ client: Int, _ node: Int, isFiltered: Bool) {
        let isOfThisTopic = clients[client].era == topic.era && era(node) == topic.era
        let isRight =
            switch reason {
            case .invalid: false
            case .epoch: !isOfThisTopic || isFromBeforeCut(cursor, node) || !setting.hasIDs && isAmbiguous(cursor, node)
            case .ahead: !isOfThisTopic
            case .expired: !isOfThisTopic || hasLost(cursor, client, node, isFiltered)
            }
        if !isRight {
            let name = SimulationStep.name(ofNode: node)
            report("client \(client) is refused with \(reason) by node \(name) without need")
        }
    }

    /// Whether the cursor is from before a node noticed that a log was cut back: others may not have noticed it yet.
    private func isFromBeforeCut(_ cursor: Cursor, _ node: Int) -> Bool {
        guard let noticed = nodes[node].noticed, topic.cuts.contains(where: { nodes[node].erasSeen.contains($0.era) })
        else { return false }
        let earliest = ([cursor.issue] + cursor.positions.map { $0.known ?? .min }).min() ?? cursor.issue
        return earliest <= noticed + setting.clockDifference
    }

    /// Where there are no ids: what nobody can tell from a cursor of a topic that had the name before, by the design's words.
    private func isAmbiguous(_ cursor: Cursor, _ node: Int) -> Bool {
        if topic.hasUnstampedBirth || !setting.ids.isEmpty && topic.hasMisleadingBirth { return true }
        // Its node had not noticed yet that the topic of which it speaks, which had records, is another one by now.
        if cursor.topicsKnown != nil, topic.birth == nil { return true }
        // Of the time between the recreation and its being noticed, nobody knows when it was.
        if let noticed = nodes[node].noticed {
            if cursor.issue <= noticed + setting.clockDifference { return true }
        }
        guard setting.clockDifference > 0, let known = cursor.topicsKnown, let birth = topic.birth else { return false }
        return known < birth + setting.clockDifference
    }

    /// Whether something after the cursor was let go, or may have been, as far as the design lets a node doubt.
    private func hasLost(_ cursor: Cursor, _ client: Int, _ node: Int, _ isFiltered: Bool) -> Bool {
        if setting.isByteLimited { return true }
        let account = clients[client].account
        let kept = nodes[node].kept
        let readUntil = min(cursor.issue, cursor.readUntil ?? cursor.issue)
        if cursor.quietPosition == nil, let seenFrom = nodes[node].quietSeenFrom, readUntil < seenFrom { return true }
        for (partition, opening) in nodes[node].openings.enumerated() {
            guard let opening else { continue }
            if let position = cursor.position(partition) {
                if kept.hasLetGo(account, partition, from: position.offset, isFiltered: isFiltered) { return true }
                if position.offset < opening.start { return true }
            } else {
                let horizon = readUntil == .min ? .min : readUntil - setting.margin
                if kept.hasLetGo(account, partition, arrivedSince: horizon, isFiltered: isFiltered) { return true }
                if let seenFrom = opening.seenFrom, readUntil < seenFrom { return true }
            }
        }
        return false
    }

    mutating func judgeLoss(_ client: Int, _ node: Int) {
        // A stream that reads on after a cursor may be outrun by whatever comes meanwhile.
    }

    // MARK: - Nothing is missing

    /// Lets every node come to know all there is, and every client come back to each: then nothing may be missing.
    mutating func finish() {
        note("at last every node catches up, and every client comes back")
        for node in nodes.indices { settle(node) }
        finishArchive()
        for client in clients.indices {
            judgeMissing(client, "live")
            for node in nodes.indices where problem == nil { finish(client, at: node) }
        }
    }

    /// Until the node has read everything.
    mutating func settle(_ node: Int) {
        run(.thaw(node))
        for _ in 0..<4 {
            pass(2_100)
            catchUp(node)
            if nodes[node].isCaughtUp(topic), !nodes[node].hasReadWhatIsLost { return }
        }
        // Where what was written instead is gone too, nothing tells of it.
        if nodes[node].isCaughtUp(topic) { return }
        // Where there are no ids, some recreations cannot be told: then nothing may be missing all the same.
        if nodes[node].isAtTheEnd(topic), !setting.ids.contains(node) { return }
        report("node \(SimulationStep.name(ofNode: node)) does not come to read the topic that there is")
    }

    /// What becomes of a client that comes back to a node. The client goes on from where it was with the next one.
    mutating func finish(_ client: Int, at node: Int) {
        let before = clients[client]
        guard !before.cursor.isEmpty, serves(node) else { return }
        runClient(.poll(client, at: node))
        judgeMissing(client, "at node \(SimulationStep.name(ofNode: node))")
        clients[client] = before
        clients[client].node = nil
        clients[client].stream = .away
    }

    private mutating func judgeMissing(_ client: Int, _ place: String) {
        if place == "live" {
            guard case .live = clients[client].stream, let node = clients[client].node, nodes[node].isCaughtUp(topic)
            else { return }
        }
        let missing = clients[client].missing(topic) { !hasLeftOut || $0.entity == 0 }
        if let missing {
            let record = topic.records[missing]
            report(
                "client \(client) has missed record \(missing) (\(record.partition):\(record.offset), stamped"
                    + " \(record.stamp), at \(record.arrival)) and was not told, \(place)")
        }
    }
}
