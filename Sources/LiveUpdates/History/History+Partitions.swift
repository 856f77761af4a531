// What is known of the partitions' logs.
extension History {
    /// Opens a partition, or replaces what was known of its log. Before the record that changed it. Constant time.
    ///
    /// What is read stays as it is, but that reading may move forward. Another topic id comes after ``reset(topic:)``.
    package func apply(_ partition: PartitionName, _ facts: LogFacts) { partitions.apply(partition, facts) }

    /// Whether the log is known to reach to an offset, or its end was asked for at `moment` (monotonic, in ms) or later.
    package func isDecided(_ floor: PartitionFloor, since moment: UInt64) -> Bool {
        guard let slot = partitions.slot(of: floor.partition) else { return false }
        let facts = partitions.facts[slot]
        return floor.offset <= max(partitions[slot].next, facts.end ?? 0) || facts.endAsked >= moment
    }

    /// When the partition's end was asked for last; monotonic, in ms; 0 for never.
    package func endAsked(_ partition: PartitionName) -> UInt64 {
        partitions.slot(of: partition).map { partitions.facts[$0].endAsked } ?? 0
    }
}
