import Glibc

/// The time of day.
enum WallClock {
    /// Since 1970, UTC. The corresponding C function is clock_gettime.
    static var milliseconds: Int64 {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
