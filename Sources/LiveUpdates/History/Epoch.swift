/// What a cursor's positions refer to: another epoch, other positions. The same on every node with the same settings.
package struct Epoch: Hashable, Sendable {
    package let number: UInt32

    package init(number: UInt32) { self.number = number }

    /// Derives it from the cluster's id, the names of the topics in any order, and the number that an operator may
    /// count up.
    package init(cluster: String, topics: [String], setting: Int) {
        var hash = StableHash()
        hash.combine(cluster)
        for topic in topics.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) { hash.combine(topic) }
        hash.combine(UInt64(bitPattern: Int64(setting)))
        number = hash.folded
    }
}
