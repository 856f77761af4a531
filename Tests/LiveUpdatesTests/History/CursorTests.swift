// Tests: History+Cursors.swift, StableHash.swift, URLText.swift, Varint.swift

import TestHarness
import Testing

@testable import LiveUpdates

struct CursorTests {
    static let cursor = Cursor(
        epoch: Epoch(number: 0x1234_5678), accountCheck: 0x9ABC_DEF0, issue: 1_795_240_000_000,
        topicsKnown: 1_795_240_000_000 - 1_500,
        positions: [
            Cursor.Position(
                partition: PartitionName(topic: 1, number: 42), offset: 9_876_543_210, known: 1_795_239_998_500)
        ],
        fingerprint: Cursor.Fingerprint(
            partition: PartitionName(topic: 1, number: 42), offset: 9_876_543_200, timestamp: 1_795_239_000_000))

    @Test func `a cursor of one partition has at most 64 characters and is read as it was written`() {
        let text = Self.cursor.text
        #expect(text.bytes.count <= 64)
        #expect(Cursor(text.bytes) == Self.cursor)
    }

    @Test func `the text of a cursor stays as it is`() {
        #expect(
            String(decoding: Self.cursor.text.bytes, as: UTF8.self)
                == "ARI0VniavN7wAaH8pHoABdwBASrqrcDlJAXcAQmnZodT0kDA")
    }

    @Test func `what was read of all partitions costs three characters, and is no part of a cursor of before`() {
        var cursor = Self.cursor
        cursor.topicIDs = .max
        cursor.readUntil = cursor.issue - 1_500
        let text = cursor.text
        #expect(text.bytes.count <= 64)
        #expect(Cursor(text.bytes) == cursor)
        cursor.readUntil = .min
        #expect(Cursor(cursor.text.bytes) == cursor)
        #expect(Cursor(Self.cursor.text.bytes)?.readUntil == nil)
    }

    @Test func `a first record that is stamped ahead costs eight characters, in a form that older nodes refuse`() {
        var cursor = Self.cursor
        cursor.readUntil = cursor.issue - 1_500
        cursor.firstRecords = [
            Cursor.Fingerprint(partition: PartitionName(topic: 1, number: 42), offset: 0, timestamp: .max)
        ]
        #expect(cursor.text.bytes.count <= 64 && Cursor(cursor.text.bytes) == cursor)
        #expect(URLText.decode(cursor.text.bytes)?.prefix(2) == [2, 12])
        cursor.positions = []
        cursor.fingerprint = nil
        let record = cursor.firstRecords[0]
        let next = Cursor.Fingerprint(partition: PartitionName(topic: 2, number: 0), offset: 0, check: 0xFF_FFFF)
        for records in [[record, next], [record]] {
            cursor.firstRecords = records
            #expect(Cursor(cursor.text.bytes) == cursor)
        }
        for records in [[next, record], [record, record]] {
            cursor.firstRecords = records
            #expect(Cursor(cursor.text.bytes) == nil)
        }
    }

    @Test func `a change of any character makes it unreadable`() {
        let text = Self.cursor.text.bytes
        for index in text.indices {
            for byte in UInt8.min ... .max where byte != text[index] {
                var changed = text
                changed[index] = byte
                #expect(Cursor(changed) == nil)
            }
        }
    }

    @Test func `cut, doubled, swapped and lengthened cursors are unreadable`() {
        let text = Self.cursor.text.bytes
        for index in text.indices {
            #expect(Cursor(Array(text[..<index])) == nil)
            #expect(Cursor(Array(text[index...].dropFirst())) == nil)
            var without = text
            without.remove(at: index)
            #expect(Cursor(without) == nil)
            for byte in Array("AQz09-_=%. ".utf8) + [0, 0xFF] {
                var longer = text
                longer.insert(byte, at: index)
                #expect(Cursor(longer) == nil)
                #expect(Cursor(text + [byte]) == nil)
            }
            var doubled = text
            doubled.insert(text[index], at: index)
            #expect(Cursor(doubled) == nil)
            if index > 0, text[index] != text[index - 1] {
                var swapped = text
                swapped.swapAt(index, index - 1)
                #expect(Cursor(swapped) == nil)
            }
        }
        #expect(Cursor(text + text) == nil)
        #expect(Cursor(Array(repeating: UInt8(ascii: "A"), count: 1 << 20)) == nil)
    }

    @Test func `random bytes are unreadable, with a fitting checksum too as long as they say no cursor`() {
        var numbers = SeededGenerator(seed: 5)
        for _ in 0..<20_000 {
            let bytes = (0..<numbers.below(60)).map { _ in UInt8.random(in: .min ... .max, using: &numbers) }
            #expect(Cursor(bytes) == nil)
            if let cursor = Cursor(CursorText(sealing: [1] + bytes).bytes) {
                #expect(cursor.text == CursorText(sealing: [1] + bytes))
            }
        }
    }

    @Test func `whatever a cursor says is read back`() {
        var numbers = SeededGenerator(seed: 6)
        for _ in 0..<2_000 {
            let issue = Int64.random(in: 0...Cursor.latestIssue, using: &numbers)
            let indexs: Set<Int> = Set((0..<numbers.below(6)).map { _ in numbers.below(40) })
            var positions: [Cursor.Position] = []
            for index in indexs.sorted() {
                let partition = PartitionName(topic: UInt16(index / 8 * 9_000), number: Int32(index % 8 * 300_000_000))
                let known: Int64? = numbers.below(3) == 0 ? nil : issue - 77
                positions.append(
                    Cursor.Position(
                        partition: partition, offset: .random(in: 0 ... .max, using: &numbers), known: known))
            }
            let marked = positions.randomElement(using: &numbers)
            let cursor = Cursor(
                epoch: Epoch(number: .random(in: 0 ... .max, using: &numbers)), accountCheck: 5, issue: issue,
                topicsKnown: numbers.below(2) == 0 ? nil : issue, positions: positions,
                fingerprint: nil)
            var marking = cursor
            marking.topicIDs = numbers.below(2) == 0 ? nil : 77
            marking.readUntil = [nil, .min, issue, issue - 9].randomElement(using: &numbers) ?? nil
            if let marked, marked.offset > 0 {
                marking.fingerprint = Cursor.Fingerprint(
                    partition: marked.partition, offset: marked.offset / 2, check: 0xFF_FFFF)
            }
            #expect(Cursor(marking.text.bytes) == marking)
            #expect(Cursor(cursor.text.bytes) == cursor)
        }
    }

    @Test func `a cursor names as many partitions as may be and no more`() {
        func cursor(_ count: Int) -> Cursor {
            Cursor(
                epoch: Epoch(number: .max), accountCheck: .max, issue: Cursor.latestIssue, topicsKnown: nil,
                positions: (0..<count).map {
                    Cursor.Position(
                        partition: PartitionName(topic: .max, number: .max - Int32(count - $0)), offset: .max,
                        known: nil)
                },
                fingerprint: nil)
        }
        let full = cursor(Cursor.maximumPositions).text.bytes
        #expect(full.count <= CursorText.maximumBytes)
        #expect(Cursor(full)?.positions.count == Cursor.maximumPositions)
        #expect(Cursor(cursor(Cursor.maximumPositions + 1).text.bytes) == nil)
    }

    @Test func `an account in too many partitions is served all the same`() {
        let node = TestHistory()
        for number in 0..<300 { node.openWhole(PartitionName(topic: 0, number: Int32(number))) }
        let empty = node.fresh()
        for number in 0..<300 { node.take(0, in: PartitionName(topic: 0, number: Int32(number))) }
        #expect(Cursor(node.fresh())?.positions.count == Cursor.maximumPositions)
        for number in 0..<300 { node.take(1, in: PartitionName(topic: 0, number: Int32(number))) }
        #expect(node.replay(empty)?.count == 600)
        // Whatever the last of its pages' cursors leaves out is not taken for read.
        let half = node.replay(empty)?[299].at ?? []
        #expect((node.replay(half)?.filter { $0.offset == 1 }.count ?? 300) == 300)
    }

    @Test(arguments: [0, 1, 8_191, 8_192, 8_193, 100_000, 36 * 3_600_000] as [Int64])
    func `what is known seems never later than it was, and hardly earlier`(age: Int64) throws {
        let issue: Int64 = 1_795_240_000_000
        let code = KnowledgeAge.code(known: issue - age, issue: issue)
        let known = try #require(KnowledgeAge.known(code: code, issue: issue))
        #expect(known <= issue - age)
        #expect(known >= issue - age - age / 4_000 - (age < 8_192 ? 0 : 2))
    }

    @Test func `knowledge that is too old is none, and none from the future`() {
        #expect(KnowledgeAge.code(known: nil, issue: 5) == KnowledgeAge.never)
        #expect(KnowledgeAge.code(known: .min, issue: 5) == KnowledgeAge.never)
        #expect(KnowledgeAge.code(known: -1 << 40, issue: 5) == KnowledgeAge.never)
        #expect(KnowledgeAge.code(known: 9, issue: 5) == 0)
        var last: Int64 = .max
        for code in UInt16.min..<KnowledgeAge.never {
            let known = KnowledgeAge.known(code: code, issue: 0) ?? 0
            #expect(known < last)
            #expect(KnowledgeAge.code(known: known, issue: 0) == code)
            last = known
        }
    }

    @Test func `an epoch depends on cluster, topics in any order, and the setting`() {
        let epoch = Epoch(cluster: "c", topics: ["b", "a"], setting: 1)
        #expect(epoch == Epoch(cluster: "c", topics: ["a", "b"], setting: 1))
        #expect(epoch != Epoch(cluster: "d", topics: ["a", "b"], setting: 1))
        #expect(epoch != Epoch(cluster: "c", topics: ["ab"], setting: 1))
        #expect(epoch != Epoch(cluster: "c", topics: ["a", "b"], setting: 2))
    }
}
