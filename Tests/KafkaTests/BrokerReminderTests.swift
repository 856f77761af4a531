import Testing

@testable import Kafka

/// When a client that nobody answers is given its brokers again.
struct BrokerReminderTests {
    private struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// Moments in milliseconds, and whether somebody answered then.
        let notes: [(at: Int64, isAnswered: Bool)]
        /// The moments at which a reminder is due.
        let reminders: [Int64]
    }

    private static func silent(_ moments: Int64...) -> [(at: Int64, isAnswered: Bool)] { moments.map { ($0, false) } }

    private static let rows = [
        Row(testDescription: "who is answered needs none", notes: [(0, true), (9_000, true)], reminders: []),
        Row(testDescription: "not before the patience is over", notes: silent(0, 4_999), reminders: []),
        Row(testDescription: "when it is over", notes: silent(0, 5_000), reminders: [5_000]),
        Row(
            testDescription: "the silence begins with the first that is not answered, whenever that is",
            notes: silent(60_000, 62_000, 65_000), reminders: [65_000]),
        Row(
            testDescription: "an answer ends the silence",
            notes: silent(0, 4_000) + [(4_500, true)] + silent(5_000, 9_999), reminders: []),
        Row(
            testDescription: "and the next silence has its own reminders",
            notes: silent(0, 5_000) + [(6_000, true)] + silent(7_000, 11_999, 12_000), reminders: [5_000, 12_000]),
        Row(
            testDescription: "again and again while the silence is short",
            notes: silent(0, 5_000, 9_999, 10_000, 14_999, 15_000), reminders: [5_000, 10_000, 15_000]),
        Row(
            testDescription: "less and less often while it is long",
            notes: silent(0, 100_000, 111_110, 111_111, 123_455, 123_456), reminders: [100_000, 111_111, 123_456]),
    ]

    @Test("a client that nobody answers is given its brokers again", arguments: rows)
    private func row(_ row: Row) {
        var reminder = BrokerReminder()
        #expect(row.notes.filter { reminder.note(isAnswered: $0.isAnswered, at: $0.at) }.map(\.at) == row.reminders)
    }

    @Test func `a producer is answered while nothing waits, or something is acknowledged`() {
        var reminder = ProducerReminder()
        // Idle, however long.
        var reminded = [Int64(0), 90_000].filter { reminder.note(waiting: 0, delivered: 0, at: $0) }
        // Much waits, and goes out slowly.
        reminded += (Int64(91)...100).filter { reminder.note(waiting: 100, delivered: Int($0), at: $0 * 1_000) }
        #expect(reminded == [])
        reminded = (Int64(101)...120).filter { reminder.note(waiting: 100, delivered: 100, at: $0 * 1_000) }
        #expect(reminded == [106, 111, 116])
        reminded = [Int64(121_000), 125_999].filter { reminder.note(waiting: 99, delivered: 101, at: $0) }
        #expect(reminded == [])
    }

    @Test func `an outage of a week has about two thousand reminders, and each comes in time`() {
        var (reminder, last, latest, longest) = (BrokerReminder(), Int64(0), 0.0, Int64(0))
        for moment in stride(from: Int64(0), through: 7 * 86_400_000, by: 2_000)
        where reminder.note(isAnswered: false, at: moment) {
            // In parts of the silence, where it has lasted for longer than the patience is.
            if last > 100_000 { latest = max(latest, Double(moment - last) / Double(moment)) }
            longest = max(longest, moment - last)
            last = moment
        }
        #expect((1_900...2_200).contains(reminder.count))
        #expect(latest < 0.13 && longest == BrokerReminder.longestPause)
    }

    @Test func `when another client is answered again, this one is reminded after the patience`() {
        var reminder = BrokerReminder()
        reminder.begin(at: 0)
        #expect(!reminder.isSilent)
        var moments = stride(from: Int64(0), through: 8 * 3_600_000, by: 1_000).makeIterator()
        while let moment = moments.next() { _ = reminder.note(isAnswered: false, at: moment) }
        let back: Int64 = 8 * 3_600_000 + 500
        reminder.begin(at: back)
        let isDue = [4_999, 5_000].map { reminder.note(isAnswered: false, at: back + $0) }
        #expect(isDue == [false, true])
    }

    @Test func `the library keeps what it is given, so after many they are rare`() {
        var reminder = BrokerReminder()
        var moment: Int64 = 0
        func remindOnce() -> Bool {
            moment += 10_000
            _ = reminder.note(isAnswered: true, at: moment)
            _ = reminder.note(isAnswered: false, at: moment)
            return reminder.note(isAnswered: false, at: moment + 5_000)
        }
        for _ in 1..<BrokerReminder.sparingCount where !remindOnce() { Issue.record("none at \(moment)") }
        #expect(remindOnce())
        #expect(!remindOnce())
        let isDue = [-1, 0].map { reminder.note(isAnswered: false, at: moment + BrokerReminder.sparingPause + $0) }
        #expect(isDue == [false, true])
        #expect(reminder.count == BrokerReminder.sparingCount + 1)
    }
}
