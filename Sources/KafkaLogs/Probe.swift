/// A moment by both clocks, in milliseconds.
package struct Moment: Equatable, Sendable {
    /// Of use for differences alone.
    package var monotonic: Int64
    /// Since 1970.
    package var wall: Int64

    package init(monotonic: Int64, wall: Int64) {
        self.monotonic = monotonic
        self.wall = wall
    }
}

/// One step of a metadata refresh: what the brokers are to be asked next. Topics are named by their index.
package struct Probe: Equatable, Sendable {
    package enum Question: Equatable, Sendable {
        /// Of all topics: from this broker itself, or from any where that is nil.
        case metadata(from: Int32?)
        /// The ids of topics, each from a broker that leads a partition of it.
        case topicIDs([TopicIDQuestion])
        /// All of one time, each partition once, from the leaders.
        case offsets([PartitionName], OffsetTime)
        /// The first record at each offset or behind it. Each partition once.
        case records([RecordQuestion])
    }

    package var question: Question
    /// The time limit for the answer, in milliseconds. What has not arrived by then is silent.
    package var timeout: Int64

    package init(question: Question, timeout: Int64) {
        self.question = question
        self.timeout = timeout
    }
}

package struct TopicIDQuestion: Hashable, Sendable {
    package var topic: Int
    package var broker: Int32

    package init(topic: Int, broker: Int32) {
        self.topic = topic
        self.broker = broker
    }
}

/// How an offset is requested.
package enum OffsetTime: Equatable, Sendable {
    /// The last stable offset: no transaction that is open now has a record before it and commits later (KIP-98).
    case logEnd
    case logStart
    /// The first record of a partition's time or a later one; milliseconds since 1970, in the order of the partitions.
    case times([Int64])
}

package struct RecordQuestion: Equatable, Sendable {
    package var partition: PartitionName
    package var offset: Int64
    /// The first time stamp that is neither below 0 nor later than this is wanted too, of that record or one behind it.
    package var stampedUntil: Int64?

    package init(partition: PartitionName, offset: Int64, stampedUntil: Int64? = nil) {
        self.partition = partition
        self.offset = offset
        self.stampedUntil = stampedUntil
    }
}

/// The answer to a probe, in the order of its questions.
package enum ProbeAnswer: Equatable, Sendable {
    case metadata(MetadataAnswer)
    /// No broker reported it, or not the one that was asked; the library's reason.
    case noMetadata(String)
    case topicIDs([TopicIDAnswer])
    case offsets([OffsetAnswer])
    case records([RecordAnswer])
}

package struct MetadataAnswer: Equatable, Sendable {
    /// The broker that gave it; nil where that is not known.
    package var broker: Int32?
    /// `host:port` by broker.
    package var brokers: [Int32: String]
    /// The cluster's id; empty if it has none.
    package var clusterID: String
    package var topics: [TopicMetadata]

    package init(broker: Int32?, brokers: [Int32: String], clusterID: String, topics: [TopicMetadata]) {
        self.broker = broker
        self.brokers = brokers
        self.clusterID = clusterID
        self.topics = topics
    }
}

package enum TopicMetadata: Equatable, Sendable {
    /// The leader of each partition, by number; nil where there is none.
    case present([Int32?])
    case missing
    /// No right to describe it.
    case forbidden
    /// Neither there nor missing for certain; the library's text.
    case unclear(String)
}

package enum TopicIDAnswer: Equatable, Sendable {
    case id(TopicID)
    /// The broker knows no topic of the name.
    case unknownTopic
    /// It is there, and has no id: the broker is older than 2.8.
    case none
    /// No answer, or another error.
    case silent
}

/// Kafka's id of a topic (KIP-516).
package struct TopicID: Hashable, Sendable {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// 32 bits of it, never 0.
    package var hash: UInt32 {
        var mixed = (high ^ (low &* 0x9E37_79B9_7F4A_7C15)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 31) &* 0x94D0_49BB_1331_11EB
        let folded = UInt32(truncatingIfNeeded: mixed >> 32 ^ mixed)
        return folded == 0 ? 1 : folded
    }
}

package enum OffsetAnswer: Equatable, Sendable {
    case offset(Int64)
    /// No record has that time or a later one.
    case end
    /// The leader itself reports that there is no such topic or partition.
    case unknownPartition
    /// The leader answered with another error about the partition.
    case refused
    /// The leader did not answer.
    case silent

    package var offset: Int64? {
        if case .offset(let offset) = self { return offset }
        return nil
    }

    /// Whether it gives an offset or the end.
    var isAnswer: Bool { self == .end || offset != nil }
}

/// What is at an offset.
package enum RecordAnswer: Equatable, Sendable {
    /// The first record at the offset or behind it.
    case record(RecordMark)
    /// The same, with the first good time stamp where that was requested, or nil.
    case firstRecord(RecordMark, goodStamp: Int64?)
    /// There is none up to the end of the log.
    case end(at: Int64)
    case outOfRange
    /// The library could not make a record of what the leader sent.
    case unreadable
    /// No answer within the time.
    case silent

    /// Of the record that was found.
    var timestamp: Int64? {
        switch self {
        case .record(let mark), .firstRecord(let mark, _): mark.timestamp
        case .end, .outOfRange, .unreadable, .silent: nil
        }
    }

    /// Whether the log goes on behind the offset, without a record at it.
    func isBehind(_ offset: Int64) -> Bool {
        switch self {
        case .record(let mark), .firstRecord(let mark, _): mark.offset > offset
        case .end(let end): end > offset
        case .outOfRange, .unreadable, .silent: false
        }
    }
}

/// What the consumer is to do with a partition.
package enum Assignment: Equatable, Sendable {
    case stop(PartitionName)
    case read(PartitionName, at: Int64)
}
