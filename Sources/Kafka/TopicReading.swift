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
        /// The offset of the next record, or nil until the first answer.
        var next: Int64?
        /// When its position was given up last: it is not given up twice in a second.
        var resetAt: ContinuousClock.Instant?
        /// The position that the broker refused, until the scout has found out why.
        var refused: Int64?
        /// Where reading of it began; nil until it is assigned.
        var opening: Opening?
        /// What was read of it; `next` in it is where reading began until something was answered.
        var anchor = LogAnchor(next: 0)
        /// The last moment at which its log was known to be this one.
        var known = Int64.min
        var end: Int64?
        /// The look that found it.
        var endLook = 0
        var watch = SourceWatch.Partition(heardAt: .now)

        /// Nothing of it was read yet. That the partition answers was known before, if it was.
        mutating func begin(at opening: Opening) {
            self = Self(
                isAssigned: true, hasAnswered: hasAnswered, next: opening.start, opening: opening, end: end,
                endLook: endLook)
            anchor.next = opening.start
        }
    }

    let name: String
    let pointer: OpaquePointer
    var situation = Situation.unknown
    var incarnation = 0
    /// Whether it is yet to be told that another topic has this name: it is once that one is there.
    var owesMadeAnew = false
    /// Looks since the situation was told; it is told again now and then while it lasts.
    var looksSinceTold = 0
    /// Whether fetches are refused for want of the Read right.
    var isUnreadable = false
    /// By partition number.
    var partitions: [Partition] = []

    /// Notes an answer of the partition and where it goes on.
    mutating func advance(_ number: Int32, to next: Int64, at now: ContinuousClock.Instant) {
        let index = Int(number)
        guard partitions.indices.contains(index) else { return }
        partitions[index].next = next
        partitions[index].anchor.next = next
        partitions[index].hasAnswered = true
        partitions[index].watch.hear(at: now)
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
    /// Offsets that are left of the window; see `Consumer.loading`.
    package var offsetsLeft: Int64 = 0

    package var isReady: Bool {
        topicsMissing.isEmpty && topicsForbidden.isEmpty && partitionsUnanswered.isEmpty && offsetsLeft == 0
    }

    package static func == (a: Readiness, b: Readiness) -> Bool {
        a.topicsMissing == b.topicsMissing && a.topicsForbidden == b.topicsForbidden
            && a.offsetsLeft == b.offsetsLeft && a.partitionsUnanswered.elementsEqual(b.partitionsUnanswered, by: ==)
    }
}
