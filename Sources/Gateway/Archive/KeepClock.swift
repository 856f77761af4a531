import Archive

/// What time it is for what is kept: decided without a clock. Stamps and times are since 1970, in ms; `steady` is monotonic.
///
/// A node's clock may be wrong, and a wrong one would empty the archive for good. A store with a clock of its own has the word.
/// Without one the node's counts where the stamps of records as they come agree with it; else time passes as it does for a
/// stopwatch, from the last moment that is known.
struct KeepClock {
    /// The clock and a stamp that lie so far apart agree.
    static let agreementMilliseconds: Int64 = 3_600_000

    /// Nil: nothing is known yet, so nothing is let go.
    private var time: Int64?
    private var steady: UInt64

    /// - Parameter horizon: what the store has let go of; −1: nothing.
    init(horizon: Int64, keepMilliseconds: Int64, steady: UInt64) {
        // It was right when it let go of that.
        time = horizon >= 0 ? horizon.addingReportingOverflow(keepMilliseconds).partialValue : nil
        self.steady = steady
    }

    /// A record has come, with the newest stamp of a batch.
    mutating func note(stamp: Int64, wall: Int64, steady: UInt64) {
        pass(steady)
        // Of one that is ahead of the clock nobody knows which of the two is wrong.
        guard stamp >= 0, stamp <= wall + Self.agreementMilliseconds else { return }
        if wall - stamp <= Self.agreementMilliseconds {
            time = wall
        } else {
            // At least so late it is.
            time = max(time ?? stamp, stamp)
        }
    }

    /// Before which stamp nothing is kept; nil: nothing is let go.
    mutating func horizon(keepMilliseconds: Int64, steady: UInt64) -> Int64? {
        pass(steady)
        return time.map { $0 - keepMilliseconds }
    }

    private mutating func pass(_ now: UInt64) {
        if now > steady { time = time.map { $0 + Int64(now - steady) } }
        steady = max(steady, now)
    }
}
