import KafkaLogs
import Testing

@testable import Kafka
@testable import KafkaLogs

/// Who is asked for what next, while a refresh and joins want something.
struct ProbeTurnsTests {
    private enum Step {
        case ask(Int64)
        case wantsRecords, hasRecords
        case answered
        /// What is asked then: a question of the refresh, by its number.
        case refresh(Int64)
        case records
        case nothing
    }

    private struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [Step]
    }

    private static let rows = [
        Row(testDescription: "nothing is wanted", steps: [.nothing]),
        Row(
            testDescription: "a refresh alone",
            steps: [.ask(1), .refresh(1), .nothing, .answered, .ask(2), .refresh(2)]),
        Row(testDescription: "records alone", steps: [.wantsRecords, .records, .nothing, .answered, .records]),
        Row(
            testDescription: "a question of a refresh waits for one request for records, not for what is wanted next",
            steps: [.wantsRecords, .records, .ask(1), .nothing, .answered, .refresh(1), .nothing]),
        Row(
            testDescription: "no records between two questions of a refresh, and after the last one at once",
            steps: [
                .wantsRecords, .ask(1), .refresh(1), .nothing, .answered, .ask(2), .refresh(2), .nothing, .answered,
                .records,
            ]),
        Row(
            testDescription: "what nobody wants any more is not asked",
            steps: [.wantsRecords, .ask(1), .refresh(1), .hasRecords, .answered, .nothing]),
    ]

    @Test(arguments: rows) private func `a refresh comes first`(_ row: Row) {
        var turns = ProbeTurns()
        var wantsRecords = false
        func probe(_ number: Int64) -> Probe { Probe(question: .metadata(from: nil), timeout: number) }
        for step in row.steps {
            switch step {
            case .ask(let number): turns.ask(probe(number))
            case .wantsRecords: wantsRecords = true
            case .hasRecords: wantsRecords = false
            case .answered: turns.answered()
            case .refresh(let number): #expect(turns.next(wantsRecords: wantsRecords) == .refresh(probe(number)))
            case .records: #expect(turns.next(wantsRecords: wantsRecords) == .records)
            case .nothing: #expect(turns.next(wantsRecords: wantsRecords) == nil)
            }
        }
    }

    @Test func `a request for records makes no partition silent that answers`() {
        // Between two refreshes lie 2 s, and the next one waits for such a request.
        let longest = 2_000 + LogTracker.metadataPatience + ProbeTurns.recordTimeoutMilliseconds
        #expect(longest < AnswerWatch.longestSilence)
    }
}
