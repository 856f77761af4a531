import KafkaLogs

/// What the probe client is asked next. It answers one question at a time: those of a metadata refresh come before records
/// that joins wait for.
///
/// So a refresh waits for one request for records at most, however many are wanted. Those are asked for between two
/// refreshes. No clock, no thread.
package struct ProbeTurns {
    /// How long one request for records may take, in milliseconds. Together with the interval of the refreshes, and what
    /// metadata and log ends may take, it stays below `AnswerWatch.longestSilence`: else partitions that answer would count
    /// as silent.
    package static let recordTimeoutMilliseconds: Int64 = 400

    package enum Turn: Equatable {
        case refresh(Probe)
        case records
    }

    /// A question of a refresh that waits for its turn.
    private var waiting: Probe?
    private var isAsking = false

    package init() {}

    /// The next question of the refresh; there is one at a time.
    package mutating func ask(_ probe: Probe) {
        precondition(waiting == nil, "a refresh asks one question at a time")
        waiting = probe
    }

    /// What to ask now; nil where nothing is wanted, or an answer has not come yet.
    ///
    /// - Parameter wantsRecords: whether somebody waits for records.
    package mutating func next(wantsRecords: Bool) -> Turn? {
        guard !isAsking else { return nil }
        if let probe = waiting.take() {
            isAsking = true
            return .refresh(probe)
        }
        guard wantsRecords else { return nil }
        isAsking = true
        return .records
    }

    /// The answer to what was asked last has come. What a refresh asks after it is to be told before the next turn.
    package mutating func answered() {
        precondition(isAsking, "an answer to nothing")
        isAsking = false
    }
}
