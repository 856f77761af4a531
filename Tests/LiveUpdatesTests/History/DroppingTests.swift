// Tests: History+Dropping.swift

import TestHarness
import Testing

@testable import LiveUpdates

/// What was dropped is gone for everybody at once, and its memory is freed in slices.
struct DroppingTests {
    private static let topics = [UInt16(0), 1, 2]

    private func account(_ number: Int) -> Account { Account("A\(number)") }

    private func node(_ change: (inout HistoryLimits) -> Void = { _ in }) -> TestHistory {
        let node = TestHistory(topics: Self.topics.count, change)
        for topic in Self.topics { node.openWhole(PartitionName(topic: topic, number: 0)) }
        return node
    }

    /// The events behind a sequence, each with its cursor; nil where they are lost.
    private func events(_ node: TestHistory, _ account: Account, after sequence: UInt64) -> [String]? {
        guard
            case .page(let events, _, _) = node.history.read(
                account: account, from: StreamPosition(sequence: sequence), limit: 100, entities: nil, now: node.now,
                withCursors: true)
        else { return nil }
        return events.map { "\($0.partition.topic):\($0.offset) \(String(decoding: $0.at, as: UTF8.self))" }
    }

    @Test func `a drop costs a slice of accounts, whoever asks for another one waits for none of them`() {
        let node = node()
        let accounts = 4 * History.accountsPerSlice
        for number in 0..<accounts {
            node.take(Int64(number), account: account(number))
            if number % 2 == 0 { node.history.retain(account(number)) }
        }
        node.history.reset(topic: 0, now: node.now)
        #expect(node.history.size.events == 3 * History.accountsPerSlice)
        #expect(node.history.size.accounts == accounts - History.accountsPerSlice / 2)
        // One whose memory is not freed yet: nothing of it is seen.
        let last = account(accounts - 2)
        let sequence = node.history.lastSequence
        #expect(events(node, last, after: 0) == nil)
        #expect(events(node, last, after: sequence) == [])
        #expect(node.history.size.events == 3 * History.accountsPerSlice - 1)
        for _ in 0..<2 {
            node.history.freeDropped()
            #expect(node.history.owesFreeing)
        }
        node.history.freeDropped()
        #expect(!node.history.owesFreeing)
        #expect(node.history.size.events == 0)
        #expect(node.history.size.accounts == accounts / 2)
    }

    /// Two nodes with the same records and questions, one of which frees everything at each drop.
    @Test(arguments: 1...20) func `nobody sees whether memory was freed already`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let (lazy, eager) = (node(), node())
        let count = 700
        var retained = Set<Int>()
        var next = [Int64](repeating: 0, count: Self.topics.count)
        for _ in 0..<4_000 {
            let number = random.below(count)
            let topic = random.below(Self.topics.count)
            let partition = PartitionName(topic: UInt16(topic), number: 0)
            switch random.below(100) {
            case 0:
                if random.isOne(in: 3) { next[topic] = 0 }
                for node in [lazy, eager] {
                    if next[topic] == 0 {
                        node.history.reset(topic: UInt16(topic), now: node.now)
                    } else {
                        node.history.lose([partition])
                    }
                    node.openWhole(partition)
                }
                eager.history.freeDropped(limit: .max)
            case 1..<4: lazy.history.freeDropped(limit: random.below(300))
            case 4..<20:
                if retained.insert(number).inserted {
                    #expect(lazy.history.retain(account(number)) >= 0)
                    eager.history.retain(account(number))
                } else {
                    retained.remove(number)
                    lazy.history.release(account(number))
                    eager.history.release(account(number))
                }
            case 20..<40:
                let sequence = random.isOne(in: 2) ? lazy.history.lastSequence : UInt64(random.below(4_000))
                #expect(
                    events(lazy, account(number), after: sequence) == events(eager, account(number), after: sequence))
            case 40..<55:
                #expect(lazy.fresh(account(number)) == eager.fresh(account(number)))
            case 55..<65:
                let cursor = eager.fresh(account(number))
                #expect(
                    "\(lazy.history.resume(cursor, account: account(number), now: lazy.now))"
                        == "\(eager.history.resume(cursor, account: account(number), now: eager.now))")
            default:
                for node in [lazy, eager] { node.take(next[topic], in: partition, account: account(number)) }
                next[topic] += 1
            }
            #expect(lazy.history.lastSequence == eager.history.lastSequence)
        }
        lazy.history.freeDropped(limit: .max)
        #expect(!lazy.history.owesFreeing)
        #expect(lazy.history.size.accounts == eager.history.size.accounts)
        #expect(lazy.history.size.events == eager.history.size.events)
    }

    @Test func `where memory is scarce what was dropped goes first`() {
        let crowd = 2 * History.accountsPerSlice
        let probe = node()
        for number in 0..<crowd { probe.take(Int64(number), account: account(number)) }
        // The allocator gives an array now and then 16 bytes more than it was asked for.
        let node = node { $0.maximumLogBytes = probe.history.size.bytes + 64 * crowd }
        let kept = Account("kept")
        node.take(0, in: PartitionName(topic: 1, number: 0), account: kept)
        for number in 0..<(crowd - 4) { node.take(Int64(number), account: account(number)) }
        node.history.reset(topic: 0, now: node.now)
        node.openWhole()
        #expect(node.history.owesFreeing)
        let more = crowd - History.accountsPerSlice / 4
        for offset in 0..<more { node.take(Int64(offset), account: account(offset + crowd)) }
        // The account that has been idle for longest has something that was not dropped.
        #expect(node.history.log(of: kept)?.count == 1)
        #expect(node.history.size.bytes <= node.history.limits.maximumLogBytes)
    }

    @Test func `many drops before the memory of one is freed are as one`() {
        let node = node()
        node.openWhole(PartitionName(topic: 2, number: 1))
        for number in 0..<(2 * History.accountsPerSlice) {
            node.take(Int64(number), account: account(number))
            node.take(Int64(number), in: PartitionName(topic: 2, number: 1), account: account(number))
        }
        for round in 0..<200 {
            node.history.lose([PartitionName(topic: UInt16(round % 2), number: 0)])
            node.openWhole(PartitionName(topic: UInt16(round % 2), number: 0))
        }
        let last = account(2 * History.accountsPerSlice - 1)
        node.take(9_000, in: PartitionName(topic: 2, number: 1), account: last)
        #expect(events(node, last, after: node.history.lastSequence - 1)?.count == 1)
        node.history.freeDropped(limit: .max)
        // What stands in the other topic was kept all the time.
        #expect(node.history.size.events == 2 * History.accountsPerSlice + 1)
    }
}
