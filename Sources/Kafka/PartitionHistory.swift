/// What the scout remembers between two looks, and the rule where reading begins.
///
/// A partition that was there when its topic was first seen is read from where the window begins (its end, where there
/// is no window); whatever is seen later, from its beginning, because it was made while we were watching. No I/O.
struct PartitionHistory {
    /// Where reading of a partition begins. Resolved to an offset by its leader, once.
    enum Origin: Sendable, Equatable {
        case beginning, window
    }

    /// What the brokers' metadata says about one topic.
    enum Sighting: Equatable {
        case present([(number: Int32, leader: Int32?)])
        case missing, forbidden
        case unclear(String)

        static func == (a: Sighting, b: Sighting) -> Bool {
            switch (a, b) {
            case (.present(let a), .present(let b)): a.elementsEqual(b, by: ==)
            case (.missing, .missing), (.forbidden, .forbidden): true
            case (.unclear(let a), .unclear(let b)): a == b
            default: false
            }
        }
    }

    private struct Known {
        var origin: Origin
        var opening: Opening?
        /// How often its position was lost.
        var turn = 0
        /// Nil until it is opened.
        var check: AnchorCheck?
        /// The last moment at which the log was known to be this one.
        var known = Int64.min
    }

    private struct Topic {
        var name: String
        var seen = false
        var incarnation = 0
        var partitions: [Int32: Known] = [:]
        /// When one of this name that is gone was still known to be there.
        var lastKnown = Int64.min

        mutating func beginAnew() {
            incarnation += 1
            let moments = partitions.values.lazy.map { max($0.known, $0.opening?.found ?? .min) }
            lastKnown = max(lastKnown, moments.max() ?? .min)
            partitions = [:]
        }
    }

    private var topics: [Topic]

    init(topics: [String]) {
        self.topics = topics.map { Topic(name: $0) }
    }

    /// Takes in what metadata says about the topic at `index` and returns it with what is known of each partition.
    mutating func see(_ sighting: Sighting, topic index: Int) -> PartitionMap.Topic {
        let state: PartitionMap.Topic.State
        switch sighting {
        case .present(let partitions):
            state = .present(see(partitions, topic: index))
        case .missing:
            if !topics[index].partitions.isEmpty { topics[index].beginAnew() }
            topics[index].seen = true
            state = .missing
        case .forbidden:
            state = .forbidden
        case .unclear(let text):
            state = .unclear(text)
        }
        let topic = topics[index]
        return PartitionMap.Topic(name: topic.name, state: state, incarnation: topic.incarnation)
    }

    private mutating func see(
        _ partitions: [(number: Int32, leader: Int32?)], topic index: Int
    ) -> [PartitionMap.Partition] {
        let numbers = Set(partitions.map(\.number))
        // The number of partitions never falls: this is another topic of the same name.
        if topics[index].partitions.keys.contains(where: { !numbers.contains($0) }) {
            topics[index].beginAnew()
        }
        let origin: Origin = topics[index].seen ? .beginning : .window
        topics[index].seen = true
        return partitions.map { number, leader in
            let known = topics[index].partitions[number] ?? Known(origin: origin)
            topics[index].partitions[number] = known
            return PartitionMap.Partition(number: number, leader: leader, opening: known.opening)
        }
    }

    /// From where the partition is to be read, if that is not resolved yet.
    func openOrigin(topic index: Int, partition: Int32) -> Origin? {
        guard let known = topics[index].partitions[partition], known.opening == nil else { return nil }
        return known.origin
    }

    /// Begins to read.
    mutating func resolve(topic index: Int, partition: Int32, _ opening: Opening) {
        guard let known = topics[index].partitions[partition] else { return }
        var opening = opening
        opening.turn = known.turn
        // What was known at that moment itself was the one that is gone.
        let lastKnown = topics[index].lastKnown
        opening.bornFloor = lastKnown == .min ? .min : lastKnown + 1
        opening.born = max(opening.born, opening.bornFloor)
        topics[index].partitions[partition]?.opening = opening
        topics[index].partitions[partition]?.check = AnchorCheck(opening)
    }

    // MARK: - Whether the logs are the same

    /// `first` is the record that the consumer has read first.
    mutating func questions(
        topic index: Int, partition: Int32, first: RecordMark?, now: Int64
    ) -> (floor: Int64?, witness: Int64?)? {
        topics[index].partitions[partition]?.check?.begin(with: first)
        return topics[index].partitions[partition]?.check?.questions(now: now)
    }

    /// The record that settles a suspicion.
    func lastRecord(topic index: Int, partition: Int32) -> RecordMark? {
        topics[index].partitions[partition]?.check?.held.last
    }

    mutating func check(
        topic index: Int, partition: Int32, _ judge: (inout AnchorCheck) -> AnchorCheck.Verdict
    ) -> AnchorCheck.Verdict {
        guard var check = topics[index].partitions[partition]?.check else { return .open }
        defer { topics[index].partitions[partition]?.check = check }
        return judge(&check)
    }

    /// The check held. Returns the offset of the newest record if that is gone.
    mutating func hold(
        _ anchor: LogAnchor, topic index: Int, partition: Int32, _ answers: AnchorCheck.Answers, known: Int64
    ) -> Int64? {
        let gone = topics[index].partitions[partition]?.check?.witnessGone(answers)
        topics[index].partitions[partition]?.check?.hold(anchor)
        topics[index].partitions[partition]?.known = known
        return gone
    }

    /// The log no longer holds the position: read on from where it begins now.
    mutating func reopen(topic index: Int, partition: Int32) {
        guard let known = topics[index].partitions[partition] else { return }
        topics[index].partitions[partition] = Known(origin: .beginning, turn: known.turn + 1)
    }

    /// Another topic has the name: all of it is read from its beginning.
    mutating func breakLogs(topic index: Int) {
        let numbers = topics[index].partitions.keys
        topics[index].beginAnew()
        for number in numbers { topics[index].partitions[number] = Known(origin: .beginning) }
    }

    /// The topic as seen in this look, with what was found out since.
    func renew(_ topic: PartitionMap.Topic, topic index: Int) -> PartitionMap.Topic {
        guard case .present(var partitions) = topic.state else { return topic }
        for position in partitions.indices {
            partitions[position].opening = topics[index].partitions[partitions[position].number]?.opening
            if topics[index].incarnation != topic.incarnation { partitions[position].known = nil }
        }
        return PartitionMap.Topic(
            name: topic.name, state: .present(partitions), incarnation: topics[index].incarnation)
    }
}
