/// Pings of ours and the time until their pongs. Knows no timer: its owner calls ``next(now:)`` when one is due.
struct Heartbeat {
    private var sequence: UInt64 = 0
    private var outstanding: (payload: [UInt8], sentAt: ContinuousClock.Instant)?

    /// Whether a ping waits for its pong.
    var isWaiting: Bool { outstanding != nil }

    /// The payload of the next ping; nil while the one before has no pong yet.
    mutating func next(now: ContinuousClock.Instant) -> [UInt8]? {
        guard outstanding == nil else { return nil }
        sequence += 1
        let payload = Array(String(sequence).utf8)
        outstanding = (payload, now)
        return payload
    }

    /// The time since the ping that this pong answers; nil when it answers none (RFC 6455 §5.5.3 allows that).
    mutating func roundTrip(of pong: [UInt8], now: ContinuousClock.Instant) -> Duration? {
        guard let outstanding, outstanding.payload == pong else { return nil }
        self.outstanding = nil
        return now - outstanding.sentAt
    }
}
