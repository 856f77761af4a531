import KafkaLogs

/// Which records of one request are still to be read, and where reading continues.
///
/// The questions of a partition are answered in ascending order of their offsets. So a late message from an abandoned position
/// lies before every open question. No I/O.
struct RecordWalk {
    /// A question at most this many offsets ahead is reached by reading on, which is less work than another fetch.
    static let maximumPassed: Int64 = 100
    /// After the first record, at most this many records are read to find a good time stamp.
    static let maximumStamps = 1_000

    /// What to do with a partition after one of its messages.
    enum Step: Equatable {
        case readOn
        case read(at: Int64)
        /// It has no question left.
        case release
    }

    private struct Part {
        /// Indices of unanswered questions, the lowest offset first.
        var open: ArraySlice<Int>
        /// Where reading began last.
        var began: Int64
        /// Records that were read for the first open question.
        var stamps = 0
        /// Whether the first open question was asked for a second time.
        var isRepeated = false
    }

    let questions: [RecordQuestion]
    /// In the order of the questions. Silent until a message has arrived.
    private(set) var answers: [RecordAnswer]
    private var parts: [PartitionName: Part] = [:]

    init(_ questions: [RecordQuestion]) {
        self.questions = questions
        answers = Array(repeating: .silent, count: questions.count)
        for (name, indices) in Dictionary(grouping: questions.indices, by: { questions[$0].partition }) {
            let open = indices.sorted { questions[$0].offset < questions[$1].offset }
            parts[name] = Part(open: open[...], began: questions[open[0]].offset)
        }
    }

    var isOver: Bool { parts.isEmpty }

    /// Where reading begins, of each partition once.
    var starts: [RecordQuestion] { parts.values.map { questions[$0.open.first!] } }

    /// The open questions for exactly this offset.
    func indices(of name: PartitionName, at offset: Int64) -> [Int] {
        parts[name]?.open.filter { questions[$0].offset == offset } ?? []
    }

    /// Handles a message of a partition. `offset` is the offset of the message.
    mutating func take(_ answer: RecordAnswer, of name: PartitionName, at offset: Int64) -> Step {
        guard var part = parts[name] else { return .readOn }
        let step = take(answer, at: offset, &part)
        parts[name] = step == .release ? nil : part
        return step
    }

    private mutating func take(_ answer: RecordAnswer, at offset: Int64, _ part: inout Part) -> Step {
        let first = questions[part.open.first!]
        var reached = first.offset
        switch answer {
        case .record, .firstRecord:
            // Read before the question was reached, or sent before the position was abandoned.
            guard offset >= first.offset else { return .readOn }
            reached = offset
        case .end(let end):
            guard end >= part.began else { return .readOn }
            // Only the broker can decide that a question lies beyond the end.
            guard end >= first.offset else { return read(at: first.offset, &part) }
            reached = end
        case .outOfRange, .unreadable:
            // A failure before the question's offset proves nothing about the question.
            guard part.began == first.offset else { return read(at: first.offset, &part) }
            if answer == .outOfRange, !part.isRepeated, offset != first.offset {
                // This is an effect of an unreadable batch that was requested before. librdkafka searched inside the batch for
                // the next one, used data there as an offset, and now reads nothing more.
                part.isRepeated = true
                return .read(at: first.offset)
            }
        case .silent: return .readOn
        }
        while let index = part.open.first, questions[index].offset <= reached {
            part.stamps += 1
            guard answers[index].add(answer, questions[index], isLast: part.stamps >= Self.maximumStamps) else {
                return .readOn
            }
            part.open.removeFirst()
            (part.stamps, part.isRepeated) = (0, false)
        }
        guard let next = part.open.first.map({ questions[$0].offset }) else { return .release }
        if case .record = answer, next - reached <= Self.maximumPassed { return .readOn }
        return read(at: next, &part)
    }

    private func read(at offset: Int64, _ part: inout Part) -> Step {
        part.began = offset
        return .read(at: offset)
    }
}

extension RecordAnswer {
    /// Adds the next message of the partition. Returns true when the question is answered.
    fileprivate mutating func add(_ next: RecordAnswer, _ question: RecordQuestion, isLast: Bool) -> Bool {
        guard let limit = question.stampedUntil else {
            self = next
            return true
        }
        switch (self, next) {
        case (.firstRecord(let first, _), .record(let mark)):
            guard (0...max(0, limit)).contains(mark.timestamp) else { return isLast }
            self = .firstRecord(first, goodStamp: mark.timestamp)
        case (.firstRecord, _): break
        case (_, .record(let mark)):
            let isGood = (0...max(0, limit)).contains(mark.timestamp)
            self = .firstRecord(mark, goodStamp: isGood ? mark.timestamp : nil)
            return isGood || isLast
        default: self = next
        }
        return true
    }
}
