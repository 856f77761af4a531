import LiveUpdates
import Logging

/// Notices that the wall clock was set, by comparing it with the monotonic clock.
///
/// An event's age counts from when the node read it, and a cursor's validity depends on moments. Neither is corrected
/// afterwards. After a clock that was ahead, events are kept for longer, and cursors from that time are refused. After one that
/// was behind, events are dropped sooner, and more cursors than necessary are refused. So an operator has to know.
struct ClockWatch {
    private var last: (wall: Int64, monotonic: UInt64)?

    /// By how many ms the clock was set since the last call, forward if above 0. Nil where it was not, or by no more than
    /// clocks of nodes may differ. In ms: `wall` since 1970, `monotonic` since any start.
    mutating func shows(_ wall: Int64, monotonic: UInt64) -> Int64? {
        defer { last = (wall, monotonic) }
        guard let last else { return nil }
        let jump = wall - last.wall - Int64(monotonic - last.monotonic)
        return abs(jump) > History.maximumClockDifferenceMilliseconds ? jump : nil
    }
}

/// Logs for the operator that the clock was set under a running node.
struct ClockReport {
    let logger: Logger
    private var watch = ClockWatch()

    init(logger: Logger) { self.logger = logger }

    /// To be called every half a second or so, with times as in ``ClockWatch/shows(_:monotonic:)``. Returns by how many ms the
    /// clock was set forward.
    mutating func check(_ wall: Int64, monotonic: UInt64) -> Int64 {
        guard let jump = watch.shows(wall, monotonic: monotonic) else { return 0 }
        logger.warning(
            jump < 0
                ? "the clock was set back: what was read before is kept for so much longer"
                : "the clock was set forward: what was read before counts as so much older",
            [
                .seconds: .number(Int(jump / 1_000)),
                .advice:
                    "correct the clock, then restart this node so that it reads its window again; find out why the clock was wrong",
            ])
        return max(0, jump)
    }
}
