import KafkaLogs
import LiveUpdates
import ScriptedBroker

// What happens to the topic, and so to the brokers of each node.
extension Simulation {
    mutating func append(_ partition: Int, _ account: Int, _ entity: Int, _ stamp: Int64) {
        let partition = partition % topic.logs.count
        // Without ids the first record of a recreated log says how old it is: a stamp that is too old cannot be told from a
        // right one, if it does not lie before the last moment at which the log before was known.
        let isFirst = topic.incarnation > 0 && topic.end(of: partition) == 0
        let stamp =
            isFirst && !setting.hasIDs && !(0...now - setting.margin).contains(stamp) && stamp < now ? now : stamp
        let index = topic.append(partition, account: account, entity: entity, stamp: stamp, now: now)
        if isReported {
            let offset = topic.end(of: partition) - 1
            note("record \(index), \(partition):\(offset), stamped \(Self.text(stamp)), at \(Self.text(now))")
        }
        for node in nodes.indices {
            nodes[node].change { $0.append(0, partition, ScriptedRecord(timestamp: stamp, payload: index)) }
        }
    }

    mutating func addPartition() {
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

    mutating func recreate(_ partitions: Int, _ records: Int) {
        // Without ids moments tell the logs apart: those of clocks that differ by more than has passed do not.
        pass(setting.hasIDs ? 1 : 1 + setting.clockDifference)
        for node in nodes.indices { nodes[node].noteRecreation(of: topic, partitions: partitions) }
        if !setting.hasIDs {
            // Nobody has read a record of these logs: without ids nobody can ever know that there were any.
            for store in stores.indices { stores[store].excuseUnread(topic) }
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
        pass(setting.hasIDs ? 1 : 1 + setting.clockDifference)
        for record in 0..<records { append(record % partitions, record / partitions % 2, 0, now) }
        count { $0.recreated += 1 }
    }

    /// Without ids the first record of a recreated log is all that tells it from the one before: it stays. Compaction leaves
    /// it in any log.
    private var mayLoseFirst: Bool { setting.hasIDs || topic.incarnation == 0 }

    mutating func trim(_ partition: Int, _ keeping: Int) {
        guard mayLoseFirst else { return }
        let offset = max(0, topic.end(of: partition) - Int64(keeping))
        // What is deleted before a node noticed that other records stand where it read some that are lost, it cannot know of.
        if nodes.contains(where: \.hasReadWhatIsLost) {
            topic.excuse(partition, from: topic.starts[partition], before: offset)
        }
        topic.trim(partition, before: offset)
        for node in nodes.indices { nodes[node].change { $0.deleteRecords(0, partition, before: offset) } }
    }

    mutating func compact(_ partition: Int, _ back: Int) {
        let offset = topic.end(of: partition) - 1 - Int64(back)
        guard offset >= topic.starts[partition], offset > 0 || setting.hasIDs else { return }
        // The record that stands where one was lost is what tells of that.
        guard !nodes.contains(where: \.hasReadWhatIsLost) else { return }
        topic.remove(partition, offset)
        for node in nodes.indices { nodes[node].change { $0.remove(0, partition, offset) } }
    }

    /// Without ids the first record stays, as it does where a log is trimmed.
    mutating func cutBack(_ partition: Int, _ losing: Int, _ records: Int) {
        let offset = topic.end(of: partition) - Int64(losing)
        guard losing > 0, offset >= max(topic.starts[partition], mayLoseFirst ? 0 : 1),
            !nodes.contains(where: { $0.hasNothing(of: partition, behind: offset, topic) })
        else { return }
        pass(1)
        // What a client has had a node leaves out by its offset alone, as long as it has not read so far itself.
        for client in clients where !client.floors.isEmpty { client.node.map { read($0, atMost: 1_000) } }
        // Of two elections between two refreshes the second need not show.
        for node in nodes.indices where nodes[node].elections.contains(partition) { refresh(node) }
        for node in nodes.indices { nodes[node].noteCut(of: partition, to: offset) }
        topic.cutBack(partition, to: offset)
        for node in nodes.indices {
            nodes[node].change { broker in
                broker.cutBack(0, partition, to: offset)
                let leader = (broker.log(0, partition).leader ?? 1) + 1
                broker.setLeader(0, partition, broker.brokers.contains(leader) ? leader : 2)
            }
        }
        for record in 0..<records {
            pass(1)
            append(partition, record % 2, 0, now)
        }
    }
}
