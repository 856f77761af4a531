import CRdKafka

/// What the consumer knows of one topic: plain state, changed by what comes and by what is adopted.
@safe
struct TopicReading {
    /// What the operator was told about the topic last.
    enum Situation: Equatable { case unknown, present, missing, gone, forbidden, unclear }

    struct Partition {
        /// Whether librdkafka reads it.
        var isAssigned = false
        /// Whether a fetch was ever answered, with records or with the end.
        var hasAnswered = false
        /// The offset of the next record, or nil until the first answer after an assignment without a number.
        var next: Int64?
        /// When its position was given up last: it is not given up twice in a second.
        var resetAt: ContinuousClock.Instant?
        /// Waits to be assigned from the log's start.
        var awaitsReset = false
    }

    let name: String
    let pointer: OpaquePointer
    var situation = Situation.unknown
    var incarnation = 0
    /// Looks since the situation was told; it is told again now and then while it lasts.
    var looksSinceTold = 0
    /// Whether fetches are refused for want of the Read right.
    var isUnreadable = false
    /// By partition number.
    var partitions: [Partition] = []

    /// Notes an answer of the partition and where it goes on.
    mutating func advance(_ number: Int32, to next: Int64) {
        let index = Int(number)
        guard partitions.indices.contains(index) else { return }
        partitions[index].next = next
        partitions[index].hasAnswered = true
        isUnreadable = false
    }
}

/// What keeps a node from being ready, by topic.
package struct Readiness: Sendable, Equatable {
    /// Topics that do not exist, or of which nothing is known yet.
    package var topicsMissing: [String] = []
    /// Topics that we may not describe or read.
    package var topicsForbidden: [String] = []
    /// Partitions that have never answered a fetch.
    package var partitionsUnanswered: [(topic: String, partition: Int32)] = []

    package var isReady: Bool { topicsMissing.isEmpty && topicsForbidden.isEmpty && partitionsUnanswered.isEmpty }

    package static func == (a: Readiness, b: Readiness) -> Bool {
        a.topicsMissing == b.topicsMissing && a.topicsForbidden == b.topicsForbidden
            && a.partitionsUnanswered.elementsEqual(b.partitionsUnanswered, by: ==)
    }
}
