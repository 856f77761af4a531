import Testing

@testable import LiveUpdates

/// Reads that wait until this node has read as far as another one, and how far that is.
struct ReadsBehindTests {
    private let node = TestHistory()
    private var reads = ReadsBehind<Int, String>()

    init() {
        node.openWhole()
        node.openWhole(TestHistory.second)
        node.take(0)
    }

    private func floors(_ text: [UInt8], account: Account = TestHistory.account) -> [PartitionFloor]? {
        node.history.unread(upTo: text, account: account)
    }

    private static func floor(_ offset: Int64, _ partition: PartitionName = TestHistory.first) -> PartitionFloor {
        PartitionFloor(partition: partition, offset: offset)
    }

    private mutating func add(_ reader: Int, _ request: String, until floors: [PartitionFloor]) -> Bool {
        reads.add(reader, request, until: floors)
    }

    private mutating func takeBack(_ reader: Int) -> String? { reads.remove(reader) }

    private mutating func reachedRequests() -> [String] { reads.takeReached(node.history).map(\.request) }

    private mutating func reached() -> [Int] { reads.takeReached(node.history).map(\.reader).sorted() }

    // MARK: - How far

    @Test func `a node has read as far as its own cursor, and not as far as that of one that has read more`() throws {
        #expect(floors(node.fresh()) == [])
        let other = TestHistory()
        other.openWhole()
        other.openWhole(TestHistory.second)
        for offset in 0..<3 as Range<Int64> { other.take(offset) }
        #expect(floors(other.fresh()) == [Self.floor(3)])
        other.take(0, in: TestHistory.second)
        let far = other.fresh()
        #expect(floors(far) == [Self.floor(3), Self.floor(1, TestHistory.second)])
        node.take(1)
        node.take(2)
        #expect(floors(far) == [Self.floor(1, TestHistory.second)])
        node.take(0, in: TestHistory.second, account: Account("somebody else"))
        #expect(floors(far) == [])
    }

    @Test func `records that yield no event, and offsets without a record, are read too`() {
        let other = TestHistory()
        other.openWhole()
        for offset in 0..<3 as Range<Int64> { other.take(offset) }
        let far = other.fresh()
        node.history.skip(TestHistory.first, offset: 1, timestamp: node.now, now: node.now)
        #expect(floors(far) == [Self.floor(3)])
        node.change { $0.next = 3 }
        #expect(floors(far) == [])
    }

    @Test func `a partition that this node has not opened was not read`() {
        let third = PartitionName(topic: 0, number: 2)
        let other = TestHistory()
        other.openWhole(third)
        other.take(0, in: third)
        #expect(floors(other.fresh()) == [Self.floor(1, third)])
    }

    @Test func `a cursor that is another's, of another epoch or none says nothing`() {
        for epoch in [7, 8] as [UInt32] {
            let other = TestHistory(epoch: epoch)
            other.openWhole()
            for offset in 0..<3 as Range<Int64> { other.take(offset) }
            #expect((floors(other.fresh()) == nil) == (epoch == 8))
            #expect(floors(other.fresh(Account("A2"))) == nil)
        }
        for text in ["", "nonsense", String(decoding: node.fresh().dropLast(), as: UTF8.self)] {
            #expect(floors(Array(text.utf8)) == nil, "\(text)")
        }
    }

    @Test(arguments: [(3, 3, true), (3, 4, false), (nil, 4, true), (3, nil, true)] as [(UInt32?, UInt32?, Bool)])
    func `nor does one of another topic under the same name`(_ mine: UInt32?, _ its: UInt32?, _ counts: Bool) {
        let (node, other) = (TestHistory(), TestHistory())
        for (history, id) in [(node, mine), (other, its)] { history.open(LogFacts(known: history.now, topicID: id)) }
        other.take(0)
        #expect(
            node.history.unread(upTo: other.fresh(), account: TestHistory.account) == (counts ? [Self.floor(1)] : nil))
    }

    // MARK: - Waiting

    @Test mutating func `a read waits for the last of its positions, and costs nothing meanwhile`() {
        #expect(add(1, "one", until: [Self.floor(2), Self.floor(1, TestHistory.second)]))
        #expect(add(2, "two", until: [Self.floor(3)]))
        for _ in 0..<100 { #expect(reached() == []) }
        node.take(1)
        #expect(reached() == [])
        #expect(reads.comparisons == 0)
        node.take(0, in: TestHistory.second)
        #expect(reachedRequests() == ["one"])
        #expect(reads.comparisons == 1 && !reads.isEmpty)
        node.take(2)
        #expect(reached() == [2])
        #expect(reads.isEmpty && reached() == [])
    }

    @Test mutating func `positions that were reached meanwhile are not waited for again`() {
        #expect(add(1, "one", until: [Self.floor(2), Self.floor(2, TestHistory.second)]))
        node.take(1)
        node.take(0, in: TestHistory.second)
        node.take(1, in: TestHistory.second)
        #expect(reached() == [1])
    }

    @Test mutating func `whoever takes his read back gets it, once, and is not answered`() {
        #expect(add(1, "one", until: [Self.floor(2)]) && add(2, "two", until: [Self.floor(2)]))
        #expect(takeBack(1) == "one" && takeBack(1) == nil && takeBack(3) == nil)
        node.take(1)
        #expect(reached() == [2])
    }

    @Test mutating func `who comes and goes leaves nothing behind`() {
        #expect(add(0, "stays", until: [Self.floor(9)]))
        for reader in 1...1_000 {
            #expect(add(reader, "goes", until: [Self.floor(2)]))
            #expect(takeBack(reader) == "goes")
        }
        node.take(1)
        #expect(reached() == [])
        #expect(reads.comparisons <= 1)
    }

    @Test mutating func `only so many wait`() {
        for reader in 0..<ReadsBehind<Int, String>.maximumReads {
            #expect(add(reader, "waits", until: [Self.floor(2)]))
        }
        #expect(!add(-1, "one too many", until: [Self.floor(2)]))
        #expect(takeBack(7) == "waits" && add(-1, "has room", until: [Self.floor(2)]))
        node.take(1)
        #expect(reached().count == ReadsBehind<Int, String>.maximumReads)
    }
}
