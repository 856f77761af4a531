import LiveUpdates

/// The topics of the settings as every node orders them, and the names of their partitions.
final class PartitionNames {
    /// Sorted by their bytes, each once.
    let topics: [String]
    /// Records come in runs from one topic.
    private var last = 0

    init(topics: [String]) {
        var unique: [String] = []
        for topic in topics.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        where unique.last?.isBytewiseEqual(to: topic) != true { unique.append(topic) }
        self.topics = unique
    }

    /// - Precondition: the topic is one of ``topics``.
    func name(_ topic: String, _ partition: Int32) -> PartitionName {
        if !topics[last].isBytewiseEqual(to: topic) {
            guard let index = topics.firstIndex(where: { $0.isBytewiseEqual(to: topic) }) else {
                preconditionFailure("a record of a topic that nobody reads")
            }
            last = index
        }
        return PartitionName(topic: UInt16(last), number: partition)
    }
}

@available(*, unavailable)
extension PartitionNames: Sendable {}
