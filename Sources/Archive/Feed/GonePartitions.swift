import KafkaLogs

/// Partitions that are stored and do not exist any more: their topic was recreated with fewer, or is gone. What was not stored
/// of them is lost, and no later record will show that.
///
/// No I/O and no clock; moments are monotonic, in ms.
struct GonePartitions {
    /// A partition does not exist if brokers have left it out in so many refreshes, and for as long as so many need. One answer
    /// is no proof, and while no broker answers nothing is known.
    static let answers = 5
    static let milliseconds: UInt64 = 10_000

    private var topics: [TopicAnswers] = []
    /// Partitions that no broker names, each with the moment at which that was seen first, and the number of answers by then.
    private var unknownSince: [PartitionName: (moment: UInt64, answers: Int)] = [:]
    /// When each was found to be gone, by the wall clock: what was lost had arrived before.
    private var found: [PartitionName: Int64] = [:]
    /// Those that this node writes, each with the stamp of the last record that is sure to be of its log.
    private var claimed: [PartitionName: Int64?] = [:]
    /// What is being stored.
    private(set) var flight: Set<PartitionName> = []

    /// A refresh has ended.
    mutating func refreshed(_ topics: [TopicAnswers]) {
        self.topics = topics
        unknownSince = unknownSince.filter { !exists($0.key) }
        found = found.filter { !exists($0.key) }
        claimed = claimed.filter { !exists($0.key) }
    }

    private func exists(_ name: PartitionName) -> Bool {
        Int(name.topic) >= topics.count || Int(name.number) < topics[Int(name.topic)].partitions
    }

    /// Receives how far all partitions are stored. `id`: of a topic as it is now. Returns whether more are gone than before.
    mutating func find(
        in stored: [PartitionName: StoredPosition], now: UInt64, wallClock: Int64, _ id: (UInt16) -> UInt32?
    ) -> Bool {
        // A partition is no longer counted as gone once its position is no longer stored.
        for name in Set(found.keys).union(unknownSince.keys) where stored[name] == nil { forget(name) }
        let before = found.count
        for (name, position) in stored where !exists(name) {
            if position.next == 0, position.log?.isUnread(id(name.topic)) == true {
                forget(name)
                continue
            }
            let answers = topics[Int(name.topic)].count
            let since = unknownSince[name] ?? (moment: now, answers: answers)
            unknownSince[name] = since
            guard now >= since.moment + Self.milliseconds, answers >= since.answers + Self.answers else { continue }
            found[name] = found[name] ?? wallClock
        }
        return found.count > before
    }

    var names: Dictionary<PartitionName, Int64>.Keys { found.keys }

    // MARK: - What is stored of them

    mutating func claim(_ name: PartitionName, _ position: ClaimedPartition?, _ id: UInt32?) {
        guard let position else {
            claimed[name] = nil
            return
        }
        // Another node has stored that.
        let isReported = position.next == 0 && position.log?.known.isUnread(id) == true
        guard !isReported, let next = position.next else { return forget(name) }
        claimed.updateValue(position.log?.sureStamp(at: next), forKey: name)
    }

    mutating func disclaim() { (claimed, flight) = ([:], []) }

    /// Returns what is to be stored: that nothing follows, and between which stamps something may be missing.
    mutating func take() -> [(name: PartitionName, moment: Int64, since: Int64?)] {
        var taken: [(name: PartitionName, moment: Int64, since: Int64?)] = []
        for (name, since) in claimed.sorted(by: { $0.key < $1.key }) {
            if let moment = found[name] { taken.append((name, moment, since)) }
        }
        flight = Set(taken.map(\.name))
        return taken
    }

    mutating func stored() {
        for name in flight { forget(name) }
        flight = []
    }

    private mutating func forget(_ name: PartitionName) {
        found[name] = nil
        unknownSince[name] = nil
        claimed[name] = nil
    }
}
