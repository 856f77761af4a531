/// Decides when the keys of one issuer are fetched, and what happens to tokens that name an unknown key.
///
/// This value fetches nothing itself. Its owner reports events, in milliseconds of a clock that never goes back.
///
///     nothing usable ──failed: again after 1 to 10 s──► …
///        │ succeeded                                      ▲
///        ▼                                                │ too old
///     usable: every `refresh`, and once a `cooldown` for an unknown name
package struct KeySchedule: Sendable {
    package struct Timing: Hashable, Sendable {
        /// Between two fetches, if the first succeeded.
        package var refreshMilliseconds: UInt64
        /// Between two fetches for unknown names, however many such tokens arrive.
        package var cooldownMilliseconds: UInt64
        /// How long keys count after their fetch.
        package var maximumAgeMilliseconds: UInt64

        package init(refreshMilliseconds: UInt64, cooldownMilliseconds: UInt64, maximumAgeMilliseconds: UInt64) {
            self.refreshMilliseconds = refreshMilliseconds
            self.cooldownMilliseconds = cooldownMilliseconds
            self.maximumAgeMilliseconds = maximumAgeMilliseconds
        }
    }

    /// What to do about a token that names an unknown key.
    package enum Reply: Equatable, Sendable {
        /// The caller waits, and a fetch begins now.
        case beginsFetch
        /// The caller waits for the running fetch.
        case waits
        /// There was a fetch a moment ago: the issuer has no such key.
        case unknown
        /// No keys count.
        case unavailable
    }

    /// While nothing is usable, a fetch follows a failed one after this time at least…
    package static let shortestRetryMilliseconds: UInt64 = 1_000
    /// … and this one at most, from the fourth on.
    package static let longestRetryMilliseconds: UInt64 = 10_000

    private var timing: Timing
    package private(set) var isFetching = false
    /// When the last valid keys came.
    private var fetchedAt: UInt64?
    /// When the present keys stop counting; nil if there are none.
    package private(set) var usableUntil: UInt64?
    /// When the next fetch is due; while keys are usable, not later than their end.
    private var due: UInt64
    /// Another fetch follows the running one.
    private var isOwed = false
    /// Failed fetches in a row while no keys were usable.
    private var failures = 0
    /// When the last fetch for an unknown name began.
    private var askedAt: UInt64?

    package init(_ timing: Timing, now: UInt64) {
        self.timing = timing
        due = now
    }

    package func isUsable(now: UInt64) -> Bool { usableUntil.map { now < $0 } ?? false }

    /// Whether an unknown name is refused at once, without a fetch.
    package func isCooling(now: UInt64) -> Bool {
        askedAt.map { now < $0 + timing.cooldownMilliseconds } ?? false
    }

    /// When something is due next: a fetch, the end of the keys, or the next fetch for unknown names. Nil: nothing is due until
    /// the running fetch has ended.
    package func nextWake(now: UInt64) -> UInt64? {
        var times: [UInt64] = isFetching ? [] : [due]
        if let askedAt, isCooling(now: now) { times.append(askedAt + timing.cooldownMilliseconds) }
        if let usableUntil, isUsable(now: now) { times.append(usableUntil) }
        return times.min()
    }

    /// Whether a fetch must begin now, because it is due.
    package mutating func beginIfDue(now: UInt64) -> Bool {
        guard !isFetching, now >= due else { return false }
        isFetching = true
        return true
    }

    /// Uses another timing from now on, and fetches as soon as no fetch is running. Valid keys still count; a shorter age is
    /// measured from now.
    package mutating func change(to timing: Timing, now: UInt64) {
        let before = usableUntil
        self.timing = timing
        due = min(due, now)
        guard let before, let fetchedAt, now < before else { return }
        usableUntil = max(
            fetchedAt + timing.maximumAgeMilliseconds, min(before, now + timing.maximumAgeMilliseconds))
    }

    /// Fetches the keys again: now, or after the running fetch, which may have begun before the keys were replaced.
    package mutating func fetchAgain(now: UInt64) {
        if isFetching { isOwed = true } else { due = min(due, now) }
    }

    /// No known key verifies a token.
    package mutating func ask(now: UInt64) -> Reply {
        guard isUsable(now: now) else { return .unavailable }
        if isFetching { return .waits }
        if isCooling(now: now) { return .unknown }
        askedAt = now
        isFetching = true
        return .beginsFetch
    }

    /// The fetch has brought keys.
    package mutating func succeeded(now: UInt64) {
        isFetching = false
        failures = 0
        fetchedAt = now
        usableUntil = now + timing.maximumAgeMilliseconds
        due = now + min(timing.refreshMilliseconds, timing.maximumAgeMilliseconds)
        payOwed(now)
    }

    private mutating func payOwed(_ now: UInt64) {
        if exchange(&isOwed, with: false) { due = min(due, now) }
    }

    /// The fetch has brought no keys. The earlier ones still count until they are too old.
    ///
    /// - Parameter spread: random, from 0 to 1, so that nodes that began together do not all fetch together.
    package mutating func failed(now: UInt64, spread: Double) {
        isFetching = false
        if let usableUntil, now < usableUntil {
            // A failed fetch for an unknown name does not change the schedule.
            if due <= now { due = min(now + timing.refreshMilliseconds, usableUntil) }
        } else {
            failures = min(failures + 1, 10)
            let longest = min(Self.longestRetryMilliseconds, Self.shortestRetryMilliseconds << UInt64(failures))
            due =
                now + Self.shortestRetryMilliseconds
                + UInt64(spread * Double(longest - Self.shortestRetryMilliseconds))
        }
        payOwed(now)
    }
}

/// Which issuers a start waits for: a node is ready only when it can verify the tokens of each of them.
package struct KeyReadiness: Sendable {
    /// If some issuer has keys, its clients wait no longer than this for an issuer that is out of reach.
    package static let patienceMilliseconds: UInt64 = 30_000

    private let startedAt: UInt64
    /// After the first time ready, it never waits again: keys that get too old later affect only their own tokens.
    private var isOver = false

    package init(now: UInt64) { startedAt = now }

    /// When to check again, at the end of the patience; nil: not needed.
    package var end: UInt64? { isOver ? nil : startedAt + Self.patienceMilliseconds }

    /// The issuer that the start waits for; nil if the node may be ready.
    ///
    /// - Parameter issuers: all issuers, including those with keys in files.
    package mutating func missing(_ issuers: [(name: String, hasKeys: Bool)], now: UInt64) -> String? {
        guard !isOver else { return nil }
        let first = issuers.first { !$0.hasKeys }
        if let first, now < startedAt + Self.patienceMilliseconds || !issuers.contains(where: \.hasKeys) {
            return first.name
        }
        isOver = true
        return nil
    }
}
