/// When each connection of a node is closed that goes out of service: N connections get N slots, spread evenly over the
/// window, in random order over all loops together.
///
/// No I/O and no clock: times are monotonic, in milliseconds, the same on all loops. A slot whose connection has ended
/// by itself passes without a close.
struct DrainSchedule: Equatable, Sendable {
    /// When the window begins.
    let begin: UInt64
    let windowMilliseconds: UInt64
    /// The connections of the node, so the slots of all loops.
    let count: Int
    /// The longest that a client is asked to stay away.
    let retryMilliseconds: UInt64
    /// Shifts the times of all clients by the same random part of the range, so that each time alone is equally likely.
    let retryShift: UInt32

    init(
        begin: UInt64, windowMilliseconds: UInt64, count: Int, retryMilliseconds: UInt64,
        using generator: inout some RandomNumberGenerator
    ) {
        self.begin = begin
        self.windowMilliseconds = windowMilliseconds
        self.count = count
        self.retryMilliseconds = retryMilliseconds
        retryShift = UInt32.random(in: .min ... .max, using: &generator)
    }

    /// What is left of a window when its connections are known, so that the end of the window stays where it was. At least
    /// four fifths: squeezed into less, a second would hold more than 1.3 times the mean of the whole. The end moves then.
    static func rest(ofWindow milliseconds: UInt64, after passed: UInt64) -> UInt64 {
        max(milliseconds - min(milliseconds, passed), milliseconds / 5 * 4)
    }

    /// The slots of each loop, in ascending order, where these are the loops' connections: a loop has any slot with the
    /// likelihood that it has any of the connections. O(connections × loops).
    static func deal(_ connections: [Int], using generator: inout some RandomNumberGenerator) -> [[UInt32]] {
        var left = connections
        var slots = connections.map { count in
            var slots: [UInt32] = []
            slots.reserveCapacity(count)
            return slots
        }
        let count = connections.reduce(0, +)
        for slot in 0..<count {
            var number = Int.random(in: 0..<(count - slot), using: &generator)
            for loop in left.indices {
                guard number >= left[loop] else {
                    left[loop] -= 1
                    slots[loop].append(UInt32(slot))
                    break
                }
                number -= left[loop]
            }
        }
        return slots
    }

    /// The moment of a slot: the middle of its part of the window, so that at any time the part that is closed differs
    /// from the part that has passed by half a connection at most.
    func moment(ofSlot slot: UInt32) -> UInt64 {
        begin + UInt64((Double(slot) + 0.5) * Double(windowMilliseconds) / Double(max(1, count)))
    }

    /// How long the client of a slot is asked to stay away, from 0 to the whole of ``retryMilliseconds``.
    ///
    /// Fibonacci hashing: the times of slots that follow each other lie as far apart as they can, where random ones would
    /// now and then bring half as many clients more in one second as in another.
    func retryMilliseconds(ofSlot slot: UInt32) -> Int {
        let part = retryShift &+ slot &* 2_654_435_769
        return Int((UInt64(part) * (min(retryMilliseconds, UInt64(UInt32.max) - 1) + 1)) >> 32)
    }
}
