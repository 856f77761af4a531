// Tests: History+Erasing.swift

import TestHarness
import Testing

@testable import LiveUpdates

/// Nothing of an erased account is served that is from before; nothing else is lost by it.
struct ErasingTests {
    private static let other = Account("A2")
    private static let quiet = Account("A3")

    private func erase(_ node: TestHistory, _ account: Account = TestHistory.account, until moment: Int64) -> Int? {
        node.history.erase(account, until: moment, rememberedUntil: moment + TestHistory.day, now: node.now)
    }

    private func holds(_ node: TestHistory, _ account: Account = TestHistory.account) -> Int {
        node.history.logs[account]?.count ?? 0
    }

    @Test func `what was held goes, and a cursor from before it is refused`() {
        let node = TestHistory()
        node.openWhole()
        node.take(0)
        let before = node.fresh()
        for offset in 1...3 { node.take(Int64(offset)) }
        node.take(4, account: Self.other)
        let bytes = node.history.size.bytes
        #expect(erase(node, until: node.now + 1) == 4)
        #expect(holds(node) == 0 && node.history.size.events == 1 && node.history.size.bytes < bytes)
        #expect(node.refusal(before) == .expired)
        #expect(node.offsets(node.fresh()) == [])
    }

    @Test func `other accounts lose nothing, those with events and those without`() {
        let node = TestHistory()
        node.openWhole()
        let quiet = node.fresh(Self.quiet)
        let other = node.fresh(Self.other)
        node.take(0)
        node.take(1, account: Self.other)
        node.now += 1_000
        _ = erase(node, until: node.now)
        #expect(node.offsets(other, account: Self.other) == [1])
        // Were the log forgotten, whoever is quiet would inherit what it has let go.
        #expect(node.offsets(quiet, account: Self.quiet) == [])
        node.history.retain(TestHistory.account)
        node.history.release(TestHistory.account)
        #expect(node.offsets(quiet, account: Self.quiet) == [])
    }

    @Test(arguments: [(-1, 3), (0, 3), (1, 4), (1_000, 4)])
    func `what is from the moment on stays`(later: Int64, gone: Int) {
        let node = TestHistory()
        node.openWhole()
        let cursor = node.fresh()
        for offset in 0..<3 { node.take(Int64(offset)) }
        let moment = node.now + 1_000
        node.now = moment
        node.take(3)
        node.now += 1_000
        node.take(4, at: node.now)
        #expect(erase(node, until: moment + later) == gone)
        #expect(holds(node) == 5 - gone)
        #expect(node.refusal(cursor) == .expired)
    }

    @Test func `what has an old stamp goes though it came late, and with it what stands before it`() {
        let node = TestHistory()
        node.openWhole()
        let moment = node.now
        node.now += 10_000
        node.take(0)
        node.take(1, at: moment - 1)
        node.take(2)
        #expect(erase(node, until: moment) == 2)
        #expect(holds(node) == 1)
    }

    /// As Kafka gives it to a node that starts: the record that erases may have been read first.
    @Test func `what comes later from before it is numbered and not kept`() throws {
        let node = TestHistory()
        node.openWhole()
        node.take(0)
        let moment = node.now + 5
        #expect(erase(node, until: moment) == 1)
        let cursor = node.fresh()
        node.now += 10_000
        let number = node.history.retain(TestHistory.account)
        let appended = node.history.append(
            RecordedEvent(TestHistory.account, TestHistory.event("late")), partition: TestHistory.first, offset: 1,
            timestamp: moment - 1, now: node.now)
        // Who is connected gets it.
        #expect(appended.sequence == 2 && appended.followed == number)
        #expect(holds(node) == 0 && node.refusal(cursor) == .expired)
        let later = node.fresh()
        node.take(2)
        #expect(holds(node) == 1 && node.offsets(later) == [2])
        node.take(3, account: Self.other, at: moment - 1)
        #expect(holds(node, Self.other) == 1)
    }

    @Test func `to erase once more, or less, changes nothing`() {
        let node = TestHistory()
        node.openWhole()
        node.take(0)
        #expect(erase(node, until: node.now + 1) == 1)
        #expect(erase(node, until: node.now + 1) == nil)
        #expect(erase(node, until: node.now) == nil)
        node.now += 10
        node.take(1)
        #expect(erase(node, until: node.now) == 0)
        #expect(erase(node, until: node.now + 1) == 1)
        #expect(erase(node, Account("nobody"), until: node.now) == 0)
    }

    @Test func `it is forgotten when it has ended, and its empty log with it`() {
        let node = TestHistory()
        node.openWhole()
        let start = node.now
        node.take(0)
        _ = erase(node, until: start + 1)
        node.history.sweep(now: start + TestHistory.day)
        #expect(node.history.erasedAccounts.count == 1 && node.history.size.accounts == 1)
        node.history.sweep(now: start + TestHistory.day + 1)
        #expect(node.history.erasedAccounts.count == 0 && node.history.size == HistorySize())
    }

    @Test func `a bounded number is remembered, and those that end first give way`() {
        var erasures = Erasures()
        for number in 0...Erasures.maximum {
            let entry = Erasures.Entry(moment: 1, end: Int64(number))
            let isNew = erasures.add(Account("\(number)"), entry)
            #expect(isNew)
        }
        #expect(erasures.count == Erasures.maximum)
        #expect(erasures.moment(of: Account("0")) == nil && erasures.moment(of: Account("1")) == 1)
        let (first, rest) = (erasures.removeEnded(now: 2), erasures.removeEnded(now: .max))
        #expect(first.count == 2 && rest.count == Erasures.maximum - 2 && erasures.isEmpty)
    }

    /// Sizes stay those of what is held, and what is left is exactly what is not from before.
    @Test(arguments: 1...20) func `of any history just that is left`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let node = TestHistory { $0.maximumEventsPerAccount = 20 }
        node.openWhole()
        node.openWhole(TestHistory.second)
        let accounts = (0..<4).map { Account("A\($0)") }
        var moments: [Account: Int64] = [:]
        var offsets: [Int64] = [0, 0]
        for _ in 0..<400 {
            node.now += Int64(random.below(50))
            let account = accounts[random.below(accounts.count)]
            switch random.below(20) {
            case 0:
                let moment = node.now - Int64(random.below(200))
                _ = erase(node, account, until: moment)
                moments[account] = max(moments[account] ?? .min, moment)
            case 1: node.history.retain(account)
            case 2: if node.history.number(of: account) != nil { node.history.release(account) }
            default:
                let part = random.below(2)
                node.take(
                    offsets[part], in: part == 0 ? TestHistory.first : TestHistory.second, account: account,
                    at: node.now - Int64(random.below(100)))
                offsets[part] += 1
            }
            for account in accounts {
                guard let log = node.history.logs[account], let moment = moments[account] else { continue }
                #expect(log.parts.allSatisfy { $0.count(upToLastBefore: moment) == 0 }, "seed \(seed)")
            }
            let held = accounts.compactMap { node.history.logs[$0] }
            #expect(node.history.size.events == held.reduce(0) { $0 + $1.count }, "seed \(seed)")
            #expect(node.history.size.bytes == held.reduce(0) { $0 + $1.bytes }, "seed \(seed)")
        }
    }
}
