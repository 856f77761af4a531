import CLinux
import HTTP

/// The wall clock as a loop sees it: read at most once a tick, and the text of `Date` made at most once a second.
struct WallClock {
    /// Now, in milliseconds since 1970.
    static var milliseconds: Int64 { linux_wall_clock_milliseconds() }

    private var tick: UInt64?
    private var now: Int64 = 0
    private var dateOf: Int64 = .min
    private var date = ""

    /// Whole seconds since 1970.
    mutating func seconds(_ tick: UInt64) -> Int64 {
        if self.tick != tick {
            self.tick = tick
            // time(2) may lag behind by a tick of the kernel: a token would be good for that long after its end.
            now = Self.milliseconds / 1000
        }
        return now
    }

    /// RFC 9110 §5.6.7.
    mutating func httpDate(_ tick: UInt64) -> String {
        let seconds = seconds(tick)
        if dateOf != seconds {
            dateOf = seconds
            date = HTTPDate.text(secondsSince1970: Int(seconds))
        }
        return date
    }
}
