import WebSocket

/// The end of a connection that is old: `limits.max_connection_age`.
extension Connection {
    /// Where a connection cannot be ended just now: until it is tried again. A request has a deadline of its own, and so has a
    /// join.
    static let ageAgainMilliseconds: UInt64 = 1_000

    /// Begins to count, or counts again where another age is set.
    func applyMaximumAge() {
        cancel(&age)
        let maximum = loop.policy.maximumAgeMilliseconds
        guard maximum > 0 else { return }
        let due = ConnectionAge.due(
            acceptedAt: acceptedAt, now: loop.eventLoop.now, maximumMilliseconds: maximum, using: &loop.spread)
        age = loop.eventLoop.schedule(at: due, self, Alarm.age.rawValue)
    }

    func ageIsReached() {
        switch phase {
        case .request(let reading) where !mayBeAsking(reading): finishIdle()
        case .request, .awaitingToken, .joining:
            // What has begun is answered first.
            isOld = true
            age = schedule(.age, afterMilliseconds: Self.ageAgainMilliseconds)
        case .open, .polling, .asking, .answering: close(.restart, why: "age")
        case .ending: break
        }
    }
}

/// When a connection is old.
enum ConnectionAge {
    /// At a random time in 0.9 to 1.1 of the age after the accept: connections that came together do not leave together.
    ///
    /// One that is older already, since another age was set, ends within a tenth of the age from now: those of before leave
    /// one after the other too. Times are monotonic, in milliseconds.
    static func due(
        acceptedAt: UInt64, now: UInt64, maximumMilliseconds maximum: UInt64,
        using generator: inout some RandomNumberGenerator
    ) -> UInt64 {
        let tenth = maximum / 10
        let due = acceptedAt + UInt64.random(in: maximum - tenth...maximum + tenth, using: &generator)
        return due > now ? due : now + UInt64.random(in: 0...tenth, using: &generator)
    }
}
