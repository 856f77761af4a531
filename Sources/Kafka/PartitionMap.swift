/// What one look at the cluster found: made by the scout, adopted by the consumer.
package struct PartitionMap: Sendable, Equatable {
    package struct Partition: Sendable, Equatable {
        package var number: Int32
        /// The node that leads it, or nil while there is none.
        package var leader: Int32?
        /// Where reading begins, once that is known. Stays as it was found first.
        package var start: Int64?
        /// The end at this look (the last stable offset), or nil if its leader did not answer.
        package var end: Int64?
    }

    package struct Topic: Sendable, Equatable {
        package enum State: Sendable, Equatable {
            case present([Partition])
            case missing
            /// No right to describe it.
            case forbidden
            /// Neither there nor missing for certain; librdkafka's text.
            case unclear(String)
        }

        package var name: String
        package var state: State
        /// Counts up when the topic was made anew, so that what was read of the old one is not gone on with.
        package var incarnation: Int
    }

    package var topics: [Topic]
    /// `host:port` by node.
    package var brokers: [Int32: String]
    /// Set if no broker answered; then there are no topics.
    package var failure: String?
}
