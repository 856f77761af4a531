/// A partition as cursors name it, the same on every node that reads the same topics.
package struct PartitionName: Hashable, Sendable, Comparable {
    /// The index of the topic in the list of topics, sorted by their bytes.
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

/// What is known of the log of one partition that is read. Offsets, and milliseconds since 1970.
///
/// A value: its receiver keeps it until the next one. `LogTracker` owns each of these facts.
package struct LogFacts: Equatable, Sendable {
    /// Records before `start` that were not read, and never will be.
    package struct Unread: Equatable, Sendable {
        /// Each of them has an older time stamp than this; nil where nothing is known of their stamps.
        package var stampedBefore: Int64?
        /// Each of them was in the log at this moment, or had been removed from it.
        package var arrivedBefore: Int64

        package init(stampedBefore: Int64?, arrivedBefore: Int64) {
            self.stampedBefore = stampedBefore
            self.arrivedBefore = arrivedBefore
        }
    }

    /// Every record that the log held from this offset on when reading began was or will be handed over. This is the log start if
    /// no record lies between the log start and the start of the window.
    package var start: Int64
    /// What may have been before `start`; nil where nothing ever was.
    package var unread: Unread?
    /// Records from this offset on count as arrived at the moment when they are read. It is the log end when reading began, or
    /// `start` where the log was found, or lost its position, while the node was running.
    package var liveFrom: Int64
    /// A time at which the log held no record yet: the stamp of the record at offset 0, or of the first one behind it whose stamp
    /// is neither below 0 nor later than the moment of reading it. It is never later than the moment at which the record at
    /// offset 0 was read. Nil where offset 0 is gone or not known.
    package var born: Int64?
    /// The time stamp of the record at offset 0 as Kafka has it, also where the clock contradicts it; nil where that record was
    /// not read. Two logs of one name have different ones.
    package var firstStamp: Int64?
    /// The moment after the last one at which another log was known to have the name, or positions in this one were wrong; nil
    /// where neither is remembered.
    package var notBefore: Int64?
    /// The moment after the later of two. At one, the log, or another of its topic, was found to be cut back (an unclean
    /// election) while the topic kept its id. At the other, positions in this log were still wrong. What a node stated before
    /// that may concern lost records. Nil where neither is remembered.
    package var wholeAfter: Int64?
    /// The last moment at which its leader proved the log to be the one that is read, and it was not new and empty.
    package var known: Int64?
    /// A hash of the topic's id, never 0; nil where broker or library know none.
    package var topicID: UInt32?
    /// The offset of the next record. Only what was handed over is before it.
    package var next: Int64
    /// The log end that its leader reported last: the last stable offset.
    package var end: Int64?
    /// When that end was requested, by the monotonic clock, in milliseconds; 0: never.
    package var endAsked: UInt64
    /// The same by the wall clock: every record that came before this moment is below ``end``; nil: never.
    package var endMoment: Int64?

    package init(
        start: Int64, unread: Unread? = nil, liveFrom: Int64, born: Int64? = nil, firstStamp: Int64? = nil,
        notBefore: Int64? = nil, wholeAfter: Int64? = nil, known: Int64? = nil, topicID: UInt32? = nil, next: Int64,
        end: Int64? = nil,
        endAsked: UInt64 = 0,
        endMoment: Int64? = nil
    ) {
        self.start = start
        self.unread = unread
        self.liveFrom = liveFrom
        self.born = born
        self.firstStamp = firstStamp
        self.notBefore = notBefore
        self.wholeAfter = wholeAfter
        self.known = known
        self.topicID = topicID
        self.next = next
        self.end = end
        self.endAsked = endAsked
        self.endMoment = endMoment
    }

    /// The latest moment up to which these facts claim something.
    package var latestClaim: Int64 { max(known ?? .min, endMoment ?? .min) }
}

/// What has changed, in the order of the changes. The receiver applies each before the record that is handed over next.
package enum LogChange: Equatable, Sendable {
    package enum Loss: Equatable, Sendable {
        /// Retention removed records before they were read.
        case retention
        /// A batch could not be read, twice.
        case unreadable
        /// They are below our position, and were never handed over.
        case passedOver
    }

    /// The facts of a log that is read are new or have changed.
    case facts(PartitionName, LogFacts)
    /// The partition exists, and is not read yet because no leader has reported where it begins.
    case found(PartitionName)
    /// A partition that was found does not exist: the broker that reported it was behind.
    case vanished(PartitionName)
    /// Each name of the topic has another log now. Positions in the old logs have no meaning. Facts of the new ones follow.
    case recreated(topic: UInt16)
    /// The id of a topic that was recreated, as a hash. It comes before any of its logs is read.
    case identified(topic: UInt16, id: UInt32)
    /// Records were lost before they were read. Reading goes on behind them; the facts follow.
    case recordsLost(PartitionName, Loss)
}

/// What brokers have reported of a topic.
package struct TopicAnswers: Equatable, Sendable {
    /// In how many refreshes they have reported which partitions it has.
    package let count: Int
    /// How many it has.
    package let partitions: Int

    package init(count: Int, partitions: Int) {
        self.count = count
        self.partitions = partitions
    }
}

/// Whether answers flow from the leader of every partition. Milliseconds since 1970.
package enum SourceState: Sendable, Equatable {
    case live(since: Int64)
    /// Some partition has had no answer since then, or does not advance although its log does.
    case stalled(since: Int64)
}

/// How far the window is loaded.
package struct LoadingProgress: Sendable, Equatable {
    /// In offsets, over all partitions: what lies behind and what lies ahead of us.
    package var offsetsRead: Int64 = 0
    package var offsetsLeft: Int64 = 0
    /// How far the partition that is furthest behind is from now, by the time stamps of its records; nil if nothing is
    /// left, or nothing was read yet.
    package var secondsLeft: Int64?

    package var isLoaded: Bool { offsetsLeft == 0 }

    package init(offsetsRead: Int64 = 0, offsetsLeft: Int64 = 0) {
        self.offsetsRead = offsetsRead
        self.offsetsLeft = offsetsLeft
    }
}

/// What keeps a node from being ready, by topic.
package struct Readiness: Sendable, Equatable {
    /// Topics that do not exist, or of which nothing is known yet.
    package var topicsMissing: [String] = []
    /// Topics that we may not describe or read.
    package var topicsForbidden: [String] = []
    /// The first partition that has never answered a fetch.
    package var partitionUnanswered: PartitionName?
    /// Offsets that are left of the window.
    package var offsetsLeft: Int64 = 0

    package var isReady: Bool {
        topicsMissing.isEmpty && topicsForbidden.isEmpty && partitionUnanswered == nil && offsetsLeft == 0
    }
}
