import Archive

/// The time by which events are kept: decided without a clock. Stamps and times are since 1970, in ms; `steady` is monotonic.
///
/// A node's clock may be wrong, and a wrong one would empty the archive for good. If the store has a clock of its own, that one
/// decides. Otherwise the node's clock counts if the stamps of live records agree with it. If not, time passes as for a
/// stopwatch, from the last moment that is known.
struct KeepClock {
    /// The clock and a stamp agree if they are at most so far apart.
    static let agreementMilliseconds: Int64 = 3_600_000

    /// Nil: nothing is known yet, so everything is kept.
    private var time: Int64?
    /// Whether the node's clock has given it.
    private var isAgreed = false
    private var steady: UInt64

    init(steady: UInt64) { self.steady = steady }

    /// The store is open.
    ///
    /// - Parameter horizon: the stamp from which it keeps events; −1: it keeps everything.
    mutating func begin(horizon: Int64, keepMilliseconds: Int64, steady: UInt64) {
        pass(steady)
        guard horizon >= 0, !isAgreed else { return }
        // The time was right when the horizon was set.
        let known = horizon.addingReportingOverflow(keepMilliseconds).partialValue
        time = max(time ?? known, known)
    }

    /// A record was read. Each is noted, since a wrong stamp proves nothing about the others. It may be an old record that is
    /// read now.
    mutating func note(stamp: Int64, wall: Int64, steady: UInt64) {
        pass(steady)
        // If a stamp is ahead of the clock, it is unknown which of the two is wrong.
        guard stamp >= 0, stamp <= wall + Self.agreementMilliseconds else { return }
        if wall - stamp <= Self.agreementMilliseconds {
            time = wall
            isAgreed = true
        } else {
            // The time is at least this stamp.
            time = max(time ?? stamp, stamp)
        }
    }

    /// The stamp before which nothing is kept; nil: everything is kept.
    mutating func horizon(keepMilliseconds: Int64, steady: UInt64) -> Int64? {
        pass(steady)
        return time.map { $0 - keepMilliseconds }
    }

    private mutating func pass(_ now: UInt64) {
        if now > steady { time = time.map { $0 + Int64(now - steady) } }
        steady = max(steady, now)
    }
}
