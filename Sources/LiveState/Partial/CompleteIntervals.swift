/// How far something that the server has can be trusted.
public enum Knowledge: String, Codable, Sendable {
    /// Nothing is known: ask for it before it is shown.
    case unknown
    /// As the server has it, as long as the machine is live.
    case known
    /// As the server had it: it may be shown as old, and is asked for when a screen shows it.
    case knownStale
}

/// The stretches of a list in which nothing is missing: Zulip's intervals of completeness.
///
/// There are several, sorted, and merged when they touch or overlap. One may be open at the very beginning or the very end. Then
/// it contains whatever the server adds there. Only a resync ends completeness: it makes all of them stale. What is loaded again
/// after it is complete, and the rest around it stays stale. Each operation costs time proportional to the number of intervals.
public struct CompleteIntervals: Codable, Equatable, Sendable {
    /// How many stretches are remembered, complete and stale ones together. Each comes from a jump into the middle of a list.
    public static let maximumIntervals = 64

    /// Nothing is missing in these. Sorted; no two touch.
    public private(set) var complete: [ListInterval] = []
    /// Nothing was missing in these. Sorted; none overlaps another or a complete one, except at a shared end.
    public private(set) var stale: [ListInterval] = []
    private let maximum: Int

    /// - Parameter maximum: how many stretches are remembered, 1 or more. Beyond it the one furthest from the newest goes,
    ///   stale ones first.
    public init(maximum: Int = maximumIntervals) { self.maximum = max(1, maximum) }

    /// Notes that a stretch is complete. One without extent changes nothing.
    public mutating func insert(_ interval: ListInterval) {
        guard interval.hasExtent else { return }
        Self.merge(interval, into: &complete)
        stale = stale.flatMap { $0.subtracting(interval) }
        forgetFurthest(from: interval)
    }

    /// Notes that a stretch was complete when it was asked for, and that no events were followed since.
    public mutating func insertStale(_ interval: ListInterval) {
        guard interval.hasExtent else { return }
        Self.merge(interval, into: &stale)
        for newer in complete { stale = stale.flatMap { $0.subtracting(newer) } }
        forgetFurthest(from: interval)
    }

    /// Makes every complete stretch stale.
    public mutating func markStale() {
        for interval in complete { Self.merge(interval, into: &stale) }
        complete = []
    }

    /// Forgets what lies outside of a stretch.
    public mutating func keep(_ bounds: ListInterval) {
        func clipped(_ interval: ListInterval) -> ListInterval? {
            let part = ListInterval(
                lower: max(interval.lower, bounds.lower), upper: min(interval.upper, bounds.upper))
            return part.hasExtent ? part : nil
        }
        complete = complete.compactMap(clipped)
        stale = stale.compactMap(clipped)
    }

    /// Whether all items between two ends may be shown as complete, may be shown as old, or must be asked for first.
    public func knowledge(of interval: ListInterval) -> Knowledge {
        if complete.contains(where: { $0.contains(interval) }) { return .known }
        var all = stale
        for interval in complete { Self.merge(interval, into: &all) }
        return all.contains { $0.contains(interval) } ? .knownStale : .unknown
    }

    /// Whether it is known if there is an item at this key. A new item is added in known stretches only. Elsewhere it is ignored
    /// until that part is loaded.
    public func knowledge(of key: ListKey) -> Knowledge {
        knowledge(of: ListInterval(lower: .at(key: key), upper: .at(key: key)))
    }

    /// The end up to which nothing is missing from here on. Nil: not even this end is known.
    public func completeEnd(from start: ListEnd, _ direction: ListDirection) -> ListEnd? {
        guard let interval = complete.first(where: { $0.contains(start) }) else { return nil }
        return direction == .forward ? interval.upper : interval.lower
    }

    /// The end up to which something is known from here on, current or stale. Nil: not even this end is known.
    public func knownEnd(from start: ListEnd, _ direction: ListDirection) -> ListEnd? {
        var all = CompleteIntervals(maximum: .max)
        for interval in stale + complete { all.insert(interval) }
        return all.completeEnd(from: start, direction)
    }

    /// The page to load next so that more is complete from here on. Nil: all of it is complete.
    public func nextPage(from start: ListEnd, _ direction: ListDirection, limit: Int) -> PageRequest? {
        let last: ListEnd = direction == .forward ? .end : .beginning
        guard start != last else { return nil }
        guard let reached = completeEnd(from: start, direction) else {
            return PageRequest(from: start, direction: direction, limit: limit, isInclusive: true)
        }
        guard reached != last else { return nil }
        return PageRequest(from: reached, direction: direction, limit: limit, isInclusive: false)
    }

    /// Adds to a sorted list, merged with every interval that it touches.
    private static func merge(_ interval: ListInterval, into list: inout [ListInterval]) {
        var merged = interval
        list.removeAll { other in
            guard other.touches(interval) else { return false }
            merged.lower = min(merged.lower, other.lower)
            merged.upper = max(merged.upper, other.upper)
            return true
        }
        list.insert(merged, at: list.firstIndex { merged.upper <= $0.lower } ?? list.count)
    }

    private mutating func forgetFurthest(from newest: ListInterval) {
        while complete.count + stale.count > maximum {
            let ofStale = stale.contains { !$0.touches(newest) } || complete.count <= 1
            let list = ofStale ? stale : complete
            let before = list.count { $0.upper < newest.lower }
            let behind = list.count { newest.upper < $0.lower }
            let index = before > behind ? 0 : list.count - 1
            if ofStale { stale.remove(at: index) } else { complete.remove(at: index) }
        }
    }
}
