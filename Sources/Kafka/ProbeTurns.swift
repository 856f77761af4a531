import KafkaLogs

/// Decides what the probe client is asked next. It answers one question at a time. Questions of a metadata refresh come before
/// records that joins wait for.
///
/// So a refresh waits for at most one request for records, however many are wanted. Records are requested between two refreshes.
/// No clock, no thread.
package struct ProbeTurns {
    /// The timeout of one request for records, in milliseconds. Together with the interval of the refreshes and the time for
    /// metadata and log ends, it stays below `AnswerWatch.longestSilence`. Otherwise partitions that answer would count as
    /// silent.
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

    /// What to ask now. Nil when nothing is wanted, or an answer has not arrived yet.
    ///
    /// - Parameter wantsRecords: whether a join waits for records.
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

    /// The last question was answered. If the refresh has another question, pass it to `ask` before the next turn.
    package mutating func answered() {
        precondition(isAsking, "an answer to nothing")
        isAsking = false
    }
}
