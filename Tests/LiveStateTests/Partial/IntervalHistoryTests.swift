// Tests: CompleteIntervals.swift, ListKey.swift
import LiveState
import TestHarness
import Testing

/// Intervals against a naive model: one mark for each key, and for each gap before, between and behind the keys.
struct IntervalHistoryTests {
    static let keyCount = 8
    /// Gap, key, gap, …, key, gap.
    static let slotCount = 2 * keyCount + 1

    /// The end that stands at a slot: a key, or an open end at the first and the last gap.
    static func end(_ slot: Int) -> ListEnd {
        switch slot {
        case 0: .beginning
        case slotCount - 1: .end
        default: .at(key: ListKey(rank: Int64(slot), text: ""))
        }
    }

    /// A slot where an interval can end.
    static func randomSlot(_ random: inout SeededGenerator) -> Int {
        let number = random.below(keyCount + 2)
        return number == 0 ? 0 : number == keyCount + 1 ? slotCount - 1 : 2 * number - 1
    }

    static func interval(_ low: Int, _ high: Int) -> ListInterval { ListInterval(lower: end(low), upper: end(high)) }

    /// What the intervals say of each slot, and whether they stand in their order.
    static func marks(_ intervals: CompleteIntervals) -> (marks: [Knowledge], isSorted: Bool) {
        var isSorted = true
        for (list, areApart) in [(intervals.complete, true), (intervals.stale, false)] {
            for (a, b) in zip(list, list.dropFirst()) where areApart ? a.upper >= b.lower : a.upper > b.lower {
                isSorted = false
            }
        }
        let marks = (0..<slotCount).map { slot -> Knowledge in
            // A gap is known when the stretch between its neighbours is.
            let isGap = slot.isMultiple(of: 2)
            let stretch = interval(isGap ? max(0, slot - 1) : slot, isGap ? min(slotCount - 1, slot + 1) : slot)
            return intervals.knowledge(of: stretch)
        }
        return (marks, isSorted)
    }

    /// The number of stretches that the marks make.
    static func runs(_ marks: [Knowledge], of knowledge: Knowledge) -> Int {
        marks.indices.count { marks[$0] == knowledge && ($0 == 0 || marks[$0 - 1] != knowledge) }
    }

    @Test func `intervals are what a mark for each key and gap says, in 100,000 histories`() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        for history in 0..<100_000 {
            var intervals = CompleteIntervals()
            var marks = [Knowledge](repeating: .unknown, count: Self.slotCount)
            for step in 0..<8 {
                let place = "seed \(seed), history \(history), step \(step)"
                let (first, second) = (Self.randomSlot(&random), Self.randomSlot(&random))
                let (low, high) = (min(first, second), max(first, second))
                let hasExtent = low < high || (low > 0 && high < Self.slotCount - 1)
                switch random.below(8) {
                case 0:
                    intervals.markStale()
                    for slot in marks.indices where marks[slot] == .known { marks[slot] = .knownStale }
                case 1:
                    intervals.insertStale(Self.interval(low, high))
                    for slot in low...high where hasExtent && marks[slot] == .unknown { marks[slot] = .knownStale }
                default:
                    intervals.insert(Self.interval(low, high))
                    if hasExtent { for slot in low...high { marks[slot] = .known } }
                }
                let (found, isSorted) = Self.marks(intervals)
                guard found == marks && isSorted && intervals.complete.count == Self.runs(marks, of: .known) else {
                    Issue.record("\(place): \(intervals) is \(marks)")
                    return
                }
                let start = Self.randomSlot(&random)
                let direction: ListDirection = random.isOne(in: 2) ? .forward : .backward
                let page = intervals.nextPage(from: Self.end(start), direction, limit: 5)
                guard page == Self.nextPage(marks, start, direction) else {
                    Issue.record("\(place): \(intervals), from \(start) \(direction): \(String(describing: page))")
                    return
                }
                let known = intervals.knownEnd(from: Self.end(start), direction)
                guard known == Self.knownEnd(marks, start, direction) else {
                    Issue.record("\(place): \(intervals), from \(start) \(direction): \(String(describing: known))")
                    return
                }
                guard intervals.knowledge(of: Self.interval(low, high)) == Self.knowledge(marks[low...high]) else {
                    Issue.record("\(place): \(intervals) between \(low) and \(high)")
                    return
                }
            }
        }
    }

    static func knowledge(_ marks: ArraySlice<Knowledge>) -> Knowledge {
        if marks.allSatisfy({ $0 == .known }) { return .known }
        return marks.contains(.unknown) ? .unknown : .knownStale
    }

    /// Slot by slot, until nothing is known of one.
    static func knownEnd(_ marks: [Knowledge], _ start: Int, _ direction: ListDirection) -> ListEnd? {
        let step = direction == .forward ? 1 : -1
        var slot = start
        // An open end alone is no stretch.
        let isOpen = { [marks] (slot: Int) in marks[slot] != .unknown }
        guard isOpen(start) else { return nil }
        while marks.indices.contains(slot + step), isOpen(slot + step) { slot += step }
        return end(slot)
    }

    /// Slot by slot, until one is not known.
    static func nextPage(_ marks: [Knowledge], _ start: Int, _ direction: ListDirection) -> PageRequest? {
        let step = direction == .forward ? 1 : -1
        let last = direction == .forward ? slotCount - 1 : 0
        guard start != last else { return nil }
        guard marks[start] == .known else {
            return PageRequest(from: end(start), direction: direction, limit: 5, isInclusive: true)
        }
        var slot = start
        while slot != last, marks[slot + step] == .known { slot += step }
        return slot == last ? nil : PageRequest(from: end(slot), direction: direction, limit: 5, isInclusive: false)
    }
}
