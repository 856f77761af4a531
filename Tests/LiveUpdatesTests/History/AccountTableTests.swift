import TestHarness
import Testing

@testable import LiveUpdates

struct AccountTableTests {
    static func log(_ name: String, _ slot: Int) -> AccountLog {
        AccountLog(account: Account(name), slot: slot, letGoSequence: 0, newestLetGo: .min, drops: 0)
    }

    static func add(_ name: String, to table: inout AccountTable) -> AccountLog {
        table.log(name.utf8Span.span) { log(name, $0) }
    }

    @Test func `two names that only look alike are two accounts`() {
        var table = AccountTable()
        let composed = Self.add("caf\u{e9}", to: &table)
        #expect(table[Account("cafe\u{301}")] == nil)
        let apart = Self.add("cafe\u{301}", to: &table)
        #expect(composed !== apart)
        #expect(table[Account("caf\u{e9}")] === composed)
        #expect(table[Account("cafe\u{301}")] === apart)
        #expect(table[Account("")] == nil)
        #expect(table[Account("\u{0}")] == nil)
    }

    @Test func `a table through which many accounts come and go finds those that are there`() {
        var generator = SeededGenerator(seed: 3)
        var table = AccountTable()
        var expected: [String: AccountLog] = [:]
        for turn in 0..<40_000 {
            // Grows at first, shrinks then.
            let name = String(repeating: "n", count: generator.below(20)) + "\(generator.below(3_000))"
            if generator.isOne(in: turn < 20_000 ? 4 : 2), let log = expected.removeValue(forKey: name) {
                table.remove(log)
                #expect(table[slot: log.slot] == nil)
            } else {
                let log = Self.add(name, to: &table)
                #expect(expected[name] == nil || expected[name] === log)
                expected[name] = log
            }
        }
        #expect(table.count == expected.count && table.count > 1_000)
        #expect((0..<table.slots).compactMap { table[slot: $0] }.count == table.count)
        for (name, log) in expected {
            #expect(table[Account(name)] === log)
            #expect(table[slot: log.slot] === log)
        }
        let slots = Set(expected.values.map(\.slot))
        #expect(slots.count == expected.count)
        for slot in slots { if let log = table[slot: slot] { table.remove(log) } }
        #expect(table.count == 0)
        for name in expected.keys { #expect(table[Account(name)] == nil) }
    }
}
