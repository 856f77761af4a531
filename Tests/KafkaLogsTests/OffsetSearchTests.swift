import Testing

@testable import KafkaLogs

@Suite struct OffsetSearchTests {
    private let mark = RecordMark(offset: 0, timestamp: 0, check: 0)

    /// Searches a log in which the offsets in `unreadable` cannot be read; returns what was asked, and what was found.
    private func search(
        _ position: Int64, isUnreadable: Bool = true, end: Int64, unreadable: (Int64) -> Bool
    ) -> (asked: [Int64], found: Int64?) {
        var search = OffsetSearch(position: position, isUnreadable: isUnreadable)
        var asked: [Int64] = []
        while let offset = search.question(end: end) {
            asked.append(offset)
            search.add(unreadable(offset) ? .unreadable : .record(mark), at: offset)
        }
        return (asked, search.readable)
    }

    @Test(arguments: [1, 2, 3, 4, 5, 7, 8, 9, 100, 1_000, 65_537, 1 << 23] as [Int64])
    func `finds the end of a batch of any length, in steps that grow with its digits`(_ count: Int64) {
        let (asked, found) = search(10, end: 1 << 30) { $0 < 10 + count }
        #expect(found == 10 + count)
        #expect(asked.count <= 2 * (64 - count.leadingZeroBitCount) + 1, "\(asked)")
    }

    @Test(arguments: 11...40 as ClosedRange<Int64>)
    func `finds nothing where nothing can be read up to the end`(_ end: Int64) {
        let (asked, found) = search(10, end: end) { _ in true }
        #expect(found == nil && asked.allSatisfy { $0 > 10 && $0 < end })
        #expect(asked.last == (end == 11 ? nil : end - 1))
    }

    @Test(arguments: 12...40 as ClosedRange<Int64>)
    func `finds the last record of the log`(_ end: Int64) {
        #expect(search(10, end: end) { $0 < end - 1 }.found == end - 1)
    }

    @Test func `behind several unreadable batches it finds the beginning of a readable one`() {
        let (_, found) = search(10, end: 100) { (10..<20).contains($0) || (30..<60).contains($0) }
        #expect(found == 20 || found == 60)
    }

    @Test func `asks for the position itself where nothing is known of it, first and last`() {
        #expect(search(10, isUnreadable: false, end: 100) { _ in false } == ([10], 10))
        #expect(search(0, isUnreadable: false, end: 1) { _ in true } == ([0], nil))
        #expect(search(10, isUnreadable: false, end: 100) { $0 < 12 } == ([10, 12, 11, 10], 12))
    }

    @Test func `an answer that is late once makes nothing unreadable`() {
        var search = OffsetSearch(position: 10, isUnreadable: false)
        search.add(.silent, at: 10)
        #expect(search.question(end: 100) == 10)
        search.add(.record(mark), at: 10)
        #expect(search.question(end: 100) == nil && search.readable == 10)
    }

    @Test func `nothing is lost where the position can be read in the end`() {
        var search = OffsetSearch(position: 10, isUnreadable: false)
        for _ in 0..<2 { search.add(.silent, at: 10) }
        search.add(.record(mark), at: 12)
        search.add(.record(mark), at: 11)
        #expect(search.question(end: 100) == 10 && !search.isDecided)
        var other = search
        search.add(.record(mark), at: 10)
        #expect(search.question(end: 100) == nil && search.readable == search.position)
        for _ in 0..<2 { other.add(.silent, at: 10) }
        #expect(other.question(end: 100) == nil && other.readable == 11 && other.isDecided)
    }

    @Test func `ends after so many steps whatever is answered`() {
        let (asked, _) = search(0, end: .max) { $0 < .max / 2 }
        #expect(asked.count == OffsetSearch.maximumSteps)
    }

    @Test func `an answer about another offset changes nothing`() {
        var search = OffsetSearch(position: 10, isUnreadable: true)
        search.add(.unreadable, at: 10)
        search.add(.record(mark), at: 20)
        let before = search
        search.add(.unreadable, at: 20)
        search.add(.record(mark), at: 21)
        #expect(search == before && search.readable == 20)
    }
}
