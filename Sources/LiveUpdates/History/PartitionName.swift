/// A partition as cursors name it, the same on every node that reads the same topics.
package struct PartitionName: Hashable, Sendable, Comparable {
    /// The place of the topic in the list of topics, sorted by their bytes.
    package let topic: UInt16
    package let number: Int32

    package init(topic: UInt16, number: Int32) {
        self.topic = topic
        self.number = number
    }

    package static func < (left: PartitionName, right: PartitionName) -> Bool {
        (left.topic, left.number) < (right.topic, right.number)
    }
}
