/// A scheduled timer: the argument of ``EventLoop/cancel(_:)``. It stays harmless after the timer has fired.
package struct Timer: Hashable, Sendable {
    let index: UInt32
    let generation: UInt32
}

/// Timers by virtual time: a hierarchical wheel without a clock, driven by the `now` that it is given.
///
/// Five levels of 64 slots of 1 ms, 64 ms, 4.1 s, 4.4 min and 4.7 h; each slot is a list. A timer is in the level of the
/// highest digit (to the base 64) in which its deadline differs from the wheel's time. It moves down when time reaches its
/// slot. So the slots of one level come after all of the level below, and equal deadlines are always in one list. Timers
/// fire in the order of their deadlines, and equal ones in the order they were scheduled. Timers beyond the fifth level
/// (12 days) wait in a separate list. Scheduling and cancelling are O(1); a timer moves at most five
/// times.
package struct TimerWheel<Payload> {
    private struct Node {
        var deadline: UInt64 = 0
        var next: Int32 = -1
        var previous: Int32 = -1
        /// The list it is in; -1 for a free node.
        var list: Int16 = -1
        var generation: UInt32 = 0
        var payload: Payload?
    }

    private struct List {
        var head: Int32 = -1
        var tail: Int32 = -1
    }

    private static var levels: Int { 5 }
    private static var digitBits: UInt64 { 6 }
    private static var slots: Int { 64 }
    /// Timers that are due, in the order in which they will fire.
    private static var dueList: Int { levels * slots }
    /// Timers beyond the last level.
    private static var farList: Int { levels * slots + 1 }
    private static var spanBits: UInt64 { digitBits * UInt64(levels) }

    private var nodes: [Node] = []
    private var free: Int32 = -1
    private var lists = [List](repeating: List(), count: farList + 1)
    /// For each level, a bit for each slot that holds a timer. All of them come after the slot of the wheel's time.
    private var occupied = [UInt64](repeating: 0, count: levels)
    /// Everything due up to here has fired or is in the due list.
    private var time: UInt64
    /// How many timers are waiting.
    package private(set) var count = 0

    package init(now: UInt64 = 0) { time = now }

    /// Adds a timer; one whose deadline has passed is due at once. O(1).
    package mutating func schedule(at deadline: UInt64, _ payload: Payload) -> Timer {
        let index = allocateNode()
        nodes[index].deadline = deadline
        nodes[index].payload = payload
        append(index, to: list(for: deadline))
        count += 1
        return Timer(index: UInt32(index), generation: nodes[index].generation)
    }

    /// Removes a timer and returns its payload; nil if it has fired or was cancelled before. O(1).
    @discardableResult
    package mutating func cancel(_ timer: Timer) -> Payload? {
        let index = Int(timer.index)
        guard index < nodes.count, nodes[index].generation == timer.generation, nodes[index].list >= 0 else {
            return nil
        }
        return remove(index)
    }

    /// No timer is due before this time: the deadline of the next one, or the earlier time at which it moves down a
    /// level. Nil without timers. O(levels).
    package var nextWake: UInt64? {
        if lists[Self.dueList].head >= 0 { return time }
        for level in 0..<Self.levels where occupied[level] != 0 { return slotStart(level) }
        return lists[Self.farList].head >= 0 ? ((time >> Self.spanBits) + 1) << Self.spanBits : nil
    }

    /// Moves time forward, at most to `now`, and removes the next timer that is due. Nil when none is due.
    /// A `now` before the wheel's time moves nothing.
    package mutating func popDue(now: UInt64) -> Payload? {
        while lists[Self.dueList].head < 0 {
            guard let wake = nextWake, wake <= now else {
                time = max(time, now)
                return nil
            }
            advance(to: wake, now: now)
        }
        return remove(Int(lists[Self.dueList].head))
    }

    /// Moves the wheel's time to the start of the next slot in use, and its timers to their new lists.
    private mutating func advance(to wake: UInt64, now: UInt64) {
        if let level = occupied.firstIndex(where: { $0 != 0 }) {
            let slot = occupied[level].trailingZeroBitCount
            time = wake
            rearrange(level * Self.slots + slot)
            return
        }
        // Only far ones are left: whole turns without a due timer are skipped at once.
        var earliest = UInt64.max
        var index = lists[Self.farList].head
        while index >= 0 {
            earliest = min(earliest, nodes[Int(index)].deadline)
            index = nodes[Int(index)].next
        }
        time = max(wake, (min(earliest, now) >> Self.spanBits) << Self.spanBits)
        rearrange(Self.farList)
    }

    /// Empties a list and moves each of its timers, in order, to the list that the wheel's time now requires.
    private mutating func rearrange(_ list: Int) {
        var index = lists[list].head
        lists[list] = List()
        if list < Self.dueList { occupied[list / Self.slots] &= ~(1 << UInt64(list % Self.slots)) }
        while index >= 0 {
            let next = nodes[Int(index)].next
            append(Int(index), to: self.list(for: nodes[Int(index)].deadline))
            index = next
        }
    }

    private func list(for deadline: UInt64) -> Int {
        guard deadline > time else { return Self.dueList }
        let highestBit = 63 - UInt64((deadline ^ time).leadingZeroBitCount)
        guard highestBit < Self.spanBits else { return Self.farList }
        let level = highestBit / Self.digitBits
        let digit = (deadline >> (level * Self.digitBits)) & UInt64(Self.slots - 1)
        return Int(level) * Self.slots + Int(digit)
    }

    private func slotStart(_ level: Int) -> UInt64 {
        let below = UInt64(level) * Self.digitBits
        let turn = (time >> (below + Self.digitBits)) << (below + Self.digitBits)
        return turn | UInt64(occupied[level].trailingZeroBitCount) << below
    }

    // MARK: Lists

    private mutating func append(_ index: Int, to list: Int) {
        let tail = lists[list].tail
        nodes[index].list = Int16(list)
        nodes[index].previous = tail
        nodes[index].next = -1
        if tail >= 0 { nodes[Int(tail)].next = Int32(index) } else { lists[list].head = Int32(index) }
        lists[list].tail = Int32(index)
        if list < Self.dueList { occupied[list / Self.slots] |= 1 << UInt64(list % Self.slots) }
    }

    private mutating func remove(_ index: Int) -> Payload? {
        let list = Int(nodes[index].list)
        let (previous, next) = (nodes[index].previous, nodes[index].next)
        if previous >= 0 { nodes[Int(previous)].next = next } else { lists[list].head = next }
        if next >= 0 { nodes[Int(next)].previous = previous } else { lists[list].tail = previous }
        if lists[list].head < 0, list < Self.dueList {
            occupied[list / Self.slots] &= ~(1 << UInt64(list % Self.slots))
        }
        count -= 1
        let payload = nodes[index].payload
        nodes[index].payload = nil
        nodes[index].list = -1
        nodes[index].generation &+= 1
        nodes[index].next = free
        free = Int32(index)
        return payload
    }

    private mutating func allocateNode() -> Int {
        guard free >= 0 else {
            precondition(nodes.count < Int(Int32.max), "more than 2^31 timers")
            nodes.append(Node())
            return nodes.count - 1
        }
        let index = Int(free)
        free = nodes[index].next
        return index
    }
}

/// The object that a timer calls. Confined to the loop of its timers.
package protocol TimerTarget: AnyObject {
    /// - Parameter kind: the number with which the timer was scheduled. It identifies one of the target's timers.
    func timerFired(_ kind: UInt8)
}

/// What the wheel stores for a timer.
struct TimerCall {
    let target: any TimerTarget
    let kind: UInt8
}

/// A timer that calls a closure.
final class TimerAction: TimerTarget {
    private let action: () -> Void

    init(_ action: @escaping () -> Void) { self.action = action }

    func timerFired(_ kind: UInt8) { action() }
}
