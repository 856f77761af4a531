import Testing

@testable import Gateway

struct RecentSlicesTests {
    private func kept(after sequence: UInt64 = 10) -> RecentSlices {
        var recent = RecentSlices()
        recent.keep(after: sequence, now: 0)
        return recent
    }

    @Test func `nothing is kept while nobody is behind`() {
        var recent = RecentSlices()
        recent.append([1], first: 11, sequence: 11, now: 0)
        #expect(recent.bytes == 0)
        #expect(recent.next(after: 10, limit: 100) == nil)
    }

    @Test func `whoever fell behind is given exactly what came since, in order and in parts`() {
        var recent = kept()
        for sequence: UInt64 in [11, 15, 16] {
            recent.append([UInt8(sequence), 0], first: sequence == 15 ? 14 : sequence, sequence: sequence, now: 1)
        }
        let first = recent.next(after: 10, limit: 3)
        #expect(first?.slices.map(\.bytes) == [[11, 0], [15, 0]])
        #expect(first?.sequence == 15)
        let second = recent.next(after: 15, limit: 3)
        #expect(second?.slices.map(\.bytes) == [[16, 0]])
        #expect(recent.next(after: 16, limit: 3)?.slices.map(\.bytes) == [])
        // Between two slices nothing came for this form.
        #expect(recent.next(after: 13, limit: 1)?.slices.map(\.bytes) == [[15, 0]])
    }

    @Test func `a page of the log that ends inside a slice is followed by the log`() {
        var recent = kept()
        recent.append([1], first: 11, sequence: 15, now: 1)
        recent.append([2], first: 17, sequence: 20, now: 1)
        #expect(recent.next(after: 10, limit: 1)?.slices.map(\.bytes) == [[1]])
        for inside: UInt64 in [11, 14, 17, 19] { #expect(recent.next(after: inside, limit: 1) == nil) }
        for between: UInt64 in [15, 16] { #expect(recent.next(after: between, limit: 1)?.slices.map(\.bytes) == [[2]]) }
        #expect(recent.next(after: 20, limit: 1)?.slices.map(\.bytes) == [])
    }

    @Test func `what lies before the first slice is the log's business`() {
        #expect(kept().next(after: 9, limit: 100) == nil)
        #expect(kept().next(after: 10, limit: 100)?.slices.map(\.bytes) == [])
    }

    @Test func `slices go when their time is over, and with them the right to be asked for what stood before`() {
        var recent = kept()
        let limit = RecentSlices.keptMilliseconds
        recent.append([1], first: 11, sequence: 11, now: 0)
        recent.keep(after: 11, now: limit)
        recent.append([2], first: 12, sequence: 12, now: limit)
        #expect(recent.next(after: 10, limit: 100)?.slices.map(\.bytes) == [[1], [2]])
        recent.append([3], first: 13, sequence: 13, now: limit + 1)
        #expect(recent.next(after: 10, limit: 100) == nil)
        #expect(recent.next(after: 11, limit: 100)?.slices.map(\.bytes) == [[2], [3]])
        #expect(recent.bytes == 2)
    }

    @Test func `when nobody has fallen behind for long all of it goes`() {
        var recent = kept()
        recent.append([1], first: 11, sequence: 11, now: 0)
        recent.append([2], first: 12, sequence: 12, now: RecentSlices.keptMilliseconds + 1)
        #expect(!recent.isKept)
        #expect(recent.bytes == 0)
    }
}
