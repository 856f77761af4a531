/// What the scout remembers between two looks, and the rule where reading begins.
///
/// A partition that was there when its topic was first seen is read from its end; whatever is seen later, from its
/// beginning, because it was made while we were watching. No I/O.
struct PartitionHistory {
    /// Where reading of a partition begins. Resolved to an offset by its leader, once.
    enum Anchor: Sendable, Equatable {
        case beginning, end
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
        var anchor: Anchor
        var start: Int64?
    }

    private struct Topic {
        var name: String
        var seen = false
        var incarnation = 0
        var partitions: [Int32: Known] = [:]
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
            if !topics[index].partitions.isEmpty { topics[index].incarnation += 1 }
            topics[index].partitions = [:]
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
            topics[index].incarnation += 1
            topics[index].partitions = [:]
        }
        let anchor: Anchor = topics[index].seen ? .beginning : .end
        topics[index].seen = true
        return partitions.map { number, leader in
            let known = topics[index].partitions[number] ?? Known(anchor: anchor)
            topics[index].partitions[number] = known
            return PartitionMap.Partition(number: number, leader: leader, start: known.start)
        }
    }

    /// From where the partition is to be read, if that is not resolved yet.
    func openAnchor(topic index: Int, partition: Int32) -> Anchor? {
        guard let known = topics[index].partitions[partition], known.start == nil else { return nil }
        return known.anchor
    }

    mutating func resolve(topic index: Int, partition: Int32, start: Int64) {
        topics[index].partitions[partition]?.start = start
    }
}
