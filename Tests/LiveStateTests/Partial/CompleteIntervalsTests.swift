import LiveState
import Testing

struct CompleteIntervalsTests {
    static func end(_ rank: Int) -> ListEnd { .at(key: ListKey(rank: Int64(rank), text: "")) }

    static func interval(_ lower: Int, _ upper: Int) -> ListInterval {
        ListInterval(lower: end(lower), upper: end(upper))
    }

    @Test func `keys are compared by rank, then by code points, as in each language`() {
        // In this order; the last but one has a lower first UTF-16 unit than the one before it.
        let texts = ["", "a", "aa", "a\u{301}", "b", "\u{e1}", "\u{ffee}", "\u{1f600}"]
        let keys = [ListKey(rank: -1, text: "z")] + texts.map { ListKey(text: $0) } + [ListKey(rank: 1, text: "")]
        for (a, first) in keys.enumerated() {
            for (b, second) in keys.enumerated() {
                #expect((first < second) == (a < b), "\(a) \(b)")
                #expect((first == second) == (a == b), "\(a) \(b)")
            }
        }
        let ends = [.beginning] + keys.map { ListEnd.at(key: $0) } + [.end]
        #expect(ends.shuffled().sorted() == ends)
    }

    @Test func `the furthest stretch goes when there are too many, stale ones first`() {
        var intervals = CompleteIntervals(maximum: 3)
        for rank in [10, 20, 30] { intervals.insert(Self.interval(rank, rank + 1)) }
        #expect(intervals.complete.count == 3)
        intervals.insert(Self.interval(0, 1))
        #expect(intervals.complete == [Self.interval(0, 1), Self.interval(10, 11), Self.interval(20, 21)])
        intervals.insert(Self.interval(40, 41))
        #expect(intervals.complete == [Self.interval(10, 11), Self.interval(20, 21), Self.interval(40, 41)])
        intervals.markStale()
        intervals.insert(Self.interval(60, 61))
        #expect(intervals.stale == [Self.interval(20, 21), Self.interval(40, 41)])
        #expect(intervals.complete == [Self.interval(60, 61)])
        #expect(CompleteIntervals.maximumIntervals == 64)
    }

    @Test func `a stretch without extent is none`() {
        var intervals = CompleteIntervals()
        intervals.insert(Self.interval(2, 1))
        intervals.insert(ListInterval(lower: .end, upper: .end))
        intervals.insertStale(ListInterval(lower: .beginning, upper: .beginning))
        #expect(intervals == CompleteIntervals())
        intervals.insert(Self.interval(2, 2))
        #expect(intervals.knowledge(of: ListKey(rank: 2, text: "")) == .known)
        #expect(intervals.knowledge(of: ListKey(rank: 3, text: "")) == .unknown)
    }

    @Test func `what lies outside of the kept stretch is forgotten`() {
        var intervals = CompleteIntervals()
        intervals.insert(ListInterval(lower: .beginning, upper: .end))
        intervals.markStale()
        intervals.insert(Self.interval(5, 9))
        intervals.keep(Self.interval(3, 7))
        #expect(intervals.stale == [Self.interval(3, 5)])
        #expect(intervals.complete == [Self.interval(5, 7)])
    }
}
