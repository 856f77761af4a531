/// What one look at the cluster found: made by the scout, adopted by the consumer.
package struct PartitionMap: Sendable, Equatable {
    package struct Partition: Sendable, Equatable {
        package var number: Int32
        /// The node that leads it, or nil while there is none.
        package var leader: Int32?
        /// Where reading begins, once that is known. Stays as it was found first, until the position is lost.
        package var opening: Opening?
        /// The end at this look (the last stable offset), or nil if its leader did not answer.
        package var end: Int64?
        /// When its leader answered in this look.
        package var heardAt: ContinuousClock.Instant?
        /// When the request was sent (ms since 1970) that proved the log to be the one that is read; nil if this look
        /// proved nothing.
        package var known: Int64?
        /// The record that had the newest time stamp and is in the log no longer: another one is to take its place.
        var witnessGone: Int64?
        /// The record before those of another node, which that one has too, or may have had.
        var handoverKept: RecordMark?
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
    /// What the cluster calls itself, once that is known.
    package var clusterID: String?
    /// Set if no broker answered; then there are no topics.
    package var failure: String?
}

/// Where reading of a partition begins, and what is known of what stands before it.
package struct Opening: Sendable, Equatable {
    /// The offset where reading begins.
    package var start: Int64
    /// The log's end when reading began: the window is loaded when it has been read so far.
    package var loadUntil: Int64
    /// Milliseconds since 1970: every record with a later time stamp is read. Nil if the log is read from its offset 0,
    /// and so everything that there ever was.
    package var began: Int64?
    /// Time stamp of the first record that the log is known to have had, never later than the moment of reading it.
    package var born: Int64
    /// When it was found: then the log was the one whose start, end and first record these are. Should another take its
    /// name before the first fetch, then that one is younger.
    package var found = Int64.min
    /// Counts up when reading begins anew because the log no longer holds the position.
    package var turn = 0
    /// The leader said that no record before `start` has this time or a later one.
    var windowStart: Int64?
    /// Whether the first record is yet to be read by the consumer itself, which then knows better about `born`, and
    /// about `began` unless that is nil.
    var isAtLogStart = false
    /// Not earlier than this, whatever the first record says: just before, the log before this one was still there.
    var bornFloor = Int64.min
}
