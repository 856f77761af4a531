import LiveState

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Milliseconds since 1970 that stay comparable between runs and never go back within one run. The value is the time of day at
/// the start plus the time that has passed since then.
struct AppClock: Sendable {
    private let start = ContinuousClock.now
    private let epoch = Self.timeOfDay

    var now: Milliseconds { epoch + Milliseconds((ContinuousClock.now - start) / .milliseconds(1)) }

    /// What the system's clock shows now, in milliseconds since 1970.
    static var timeOfDay: Milliseconds {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Milliseconds(time.tv_sec) * 1_000 + Milliseconds(time.tv_nsec) / 1_000_000
    }
}
