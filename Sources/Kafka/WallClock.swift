import Glibc
import KafkaLogs

/// What time it is, for comparison with the time stamps of records.
enum WallClock {
    /// Milliseconds since 1970.
    static var now: Int64 {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}

extension Moment {
    static var now: Moment {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        let monotonic = Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
        return Moment(monotonic: monotonic, wall: WallClock.now)
    }
}

extension Duration {
    /// Whole milliseconds, rounded down.
    var milliseconds: Int64 { components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000 }
}
