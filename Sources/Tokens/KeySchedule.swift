/// When the keys of one issuer are fetched, and what becomes of tokens that name a key nobody knows here.
///
/// A value that fetches nothing: it is told what happened, in milliseconds of a clock that never goes back.
///
///     nothing usable ──failed: again after 1 to 10 s──► …
///        │ succeeded                                      ▲
///        ▼                                                │ too old
///     usable: every `refresh`, and once a `cooldown` for an unknown name
package struct KeySchedule: Sendable {
    package struct Timing: Hashable, Sendable {
        /// Between two fetches, of which the first succeeded.
        package var refreshMilliseconds: UInt64
        /// Between two fetches for unknown names, whatever arrives.
        package var cooldownMilliseconds: UInt64
        /// How long keys count after they were fetched.
        package var maximumAgeMilliseconds: UInt64

        package init(refreshMilliseconds: UInt64, cooldownMilliseconds: UInt64, maximumAgeMilliseconds: UInt64) {
            self.refreshMilliseconds = refreshMilliseconds
            self.cooldownMilliseconds = cooldownMilliseconds
            self.maximumAgeMilliseconds = maximumAgeMilliseconds
        }
    }

    /// What is done about a token that names a key which is not known here.
    package enum Reply: Equatable, Sendable {
        /// The key is fetched: the fetch is to begin now.
        case beginsFetch
        /// It waits for the fetch that is under way.
        case waits
        /// There was a fetch a moment ago: nobody has such a key.
        case unknown
        /// There are no keys that count.
        case unavailable
    }

    /// While nothing is usable, a fetch follows a failed one after this time at least…
    package static let shortestRetryMilliseconds: UInt64 = 1_000
    /// … and this one at most, from the fourth on.
    package static let longestRetryMilliseconds: UInt64 = 10_000

    private var timing: Timing
    package private(set) var isFetching = false
    /// When the last good keys came.
    private var fetchedAt: UInt64?
    /// When the keys that are there stop counting; nil where there are none.
    package private(set) var usableUntil: UInt64?
    /// When the next fetch is due; while keys are usable, not later than their end.
    private var due: UInt64
    /// Another fetch follows the one that is under way.
    private var isOwed = false
    /// Failed in a row while nothing was usable.
    private var failures = 0
    /// When the last fetch for an unknown name began.
    private var askedAt: UInt64?

    package init(_ timing: Timing, now: UInt64) {
        self.timing = timing
        due = now
    }

    package func isUsable(now: UInt64) -> Bool { usableUntil.map { now < $0 } ?? false }

    /// Until when an unknown name is answered at once; nil where it is not.
    package func isCooling(now: UInt64) -> Bool {
        askedAt.map { now < $0 + timing.cooldownMilliseconds } ?? false
    }

    /// When something is to be looked at next: a fetch is due, keys end, unknown names are fetched for again. Nil: nothing
    /// until the fetch under way has ended.
    package func nextWake(now: UInt64) -> UInt64? {
        var times: [UInt64] = isFetching ? [] : [due]
        if let askedAt, isCooling(now: now) { times.append(askedAt + timing.cooldownMilliseconds) }
        if let usableUntil, isUsable(now: now) { times.append(usableUntil) }
        return times.min()
    }

    /// Whether a fetch is to begin now, because it is due.
    package mutating func beginIfDue(now: UInt64) -> Bool {
        guard !isFetching, now >= due else { return false }
        isFetching = true
        return true
    }

    /// Goes on with another timing, and with a fetch as soon as none is under way. Keys that count go on counting: a shorter age
    /// is reckoned from now.
    package mutating func change(to timing: Timing, now: UInt64) {
        let before = usableUntil
        self.timing = timing
        due = min(due, now)
        guard let before, let fetchedAt, now < before else { return }
        usableUntil = max(
            fetchedAt + timing.maximumAgeMilliseconds, min(before, now + timing.maximumAgeMilliseconds))
    }

    /// The keys are fetched once more: now, or as soon as the fetch under way has ended, which may have asked before they were
    /// replaced.
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

    /// The fetch has brought none; those of before go on counting until they are too old.
    ///
    /// - Parameter spread: random, from 0 to 1: nodes that began together do not all ask together.
    package mutating func failed(now: UInt64, spread: Double) {
        isFetching = false
        if let usableUntil, now < usableUntil {
            // One for an unknown name leaves the next one of the schedule where it is.
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

/// Which issuers a start waits for: a node is not ready before it can judge the tokens of each of them.
package struct KeyReadiness: Sendable {
    /// Where some issuer has keys, its clients are not kept waiting for another one that is out of reach for longer.
    package static let patienceMilliseconds: UInt64 = 30_000

    private let startedAt: UInt64
    /// Once it has waited enough it never waits again: keys that get too old later concern their own tokens alone.
    private var isOver = false

    package init(now: UInt64) { startedAt = now }

    /// Whether another look is needed at the end of the patience.
    package var end: UInt64? { isOver ? nil : startedAt + Self.patienceMilliseconds }

    /// The issuer that is waited for; nil when the node may be ready.
    ///
    /// - Parameter issuers: all of them, those with keys in files too.
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
