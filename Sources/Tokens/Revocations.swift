/// What is revoked at this moment.
///
/// A revocation is kept until `retention` has passed since its record's time, or since its `before` if that is later. By then the
/// tokens that it shuts out have expired, if they live no longer than `retention`. Of several for one thing the latest `before`
/// counts, for as long as any of them is kept.
///
/// A revocation is never undone here. If it is no longer known whom it meant, it counts for all callers. This happens to the
/// oldest ones if there is no space for a new one, and to those lost in the topic. A caller that was not meant fetches a new
/// token, and is admitted with one that is issued after it.
package struct Revocations: Sendable {
    /// Some 50 MB with names of usual length, and 200 MB with the longest. A product that signs out more people than this within
    /// `retention` has other means to do so.
    package static let maximumEntries = 262_144

    /// Why a token no longer counts.
    package enum Ground: Sendable, Equatable {
        /// The revocation names its account, its person or the token itself.
        case meant
        /// The token is older than a revocation whose target is unknown. Tokens from this second since 1970 on are good.
        case allTokens(before: Int64)
    }

    /// Why a revocation counts for all callers.
    package enum Cause: Sendable, CaseIterable {
        /// There were more revocations than the limit.
        case noRoom
        /// Records of the topic are no longer readable.
        case lost
    }

    private struct Entry {
        /// Seconds since 1970.
        var before: Int64
        /// Monotonic time, in milliseconds.
        var keptUntil: UInt64

        func revokes(issuedAt: Int64?, now: UInt64) -> Bool {
            guard now < keptUntil else { return false }
            guard let issuedAt else { return true }
            return issuedAt < before
        }

        mutating func join(_ other: Entry) {
            before = max(before, other.before)
            keptUntil = max(keptUntil, other.keptUntil)
        }
    }

    private let retentionMilliseconds: Int64
    private let maximumEntries: Int
    /// When the node started, by both clocks.
    private let start: (wall: Int64, now: UInt64)
    private var entries: [Revocation.Target: Entry] = [:]
    /// The oldest revocations, which newer ones displaced.
    private var displaced: Entry?
    /// Revocations that may have been in lost records.
    private var lost: Entry?
    /// No entry ends before this time.
    private var nextEnd = UInt64.max

    /// - Parameters:
    ///   - now: monotonic, in milliseconds.
    ///   - wall: the same moment in milliseconds since 1970.
    package init(
        retentionMilliseconds: Int64, now: UInt64, wall: Int64, maximumEntries: Int = Self.maximumEntries
    ) {
        self.retentionMilliseconds = retentionMilliseconds
        self.maximumEntries = maximumEntries
        start = (wall, now)
    }

    package var count: Int { entries.count }
    package var isEmpty: Bool { entries.isEmpty && displaced == nil && lost == nil }

    /// How much space is left for new revocations.
    package enum Room: Sendable { case enough, nearlyNone, none }

    /// `.none`: some were displaced, so they count for all callers. `.nearlyNone`: three quarters are used, including expired
    /// ones that are not removed yet.
    package var room: Room {
        if displaced != nil { return .none }
        return entries.count >= maximumEntries - maximumEntries / 4 ? .nearlyNone : .enough
    }

    /// Why the token of this caller no longer counts; nil if it counts. For callers without a token, and for tokens without the
    /// time of issue, a revocation counts as long as it is kept.
    package func ground(against identity: Identity, now: UInt64) -> Ground? {
        func matches(_ entry: Entry?) -> Bool { entry?.revokes(issuedAt: identity.issuedAt, now: now) == true }
        if isMeant(identity, matches) { return .meant }
        let before = [displaced, lost].reduce(Int64?.none) { latest, entry in
            matches(entry) ? max(latest ?? .min, entry?.before ?? .min) : latest
        }
        return before.map { .allTokens(before: $0) }
    }

    /// The second since 1970 from which tokens are good, if something shuts out all older ones for this cause; nil: nothing does.
    package func allTokens(for cause: Cause, now: UInt64) -> Int64? {
        let entry = cause == .lost ? lost : displaced
        return entry.flatMap { now < $0.keptUntil ? $0.before : nil }
    }

    private func isMeant(_ identity: Identity, _ matches: (Entry?) -> Bool) -> Bool {
        guard !entries.isEmpty else { return false }
        if matches(entries[.account(identity.account)]) { return true }
        if let subject = identity.subject, matches(entries[.subject(identity.account, .init(text: subject))]) {
            return true
        }
        if let token = identity.tokenID { return matches(entries[.token(.init(text: token))]) }
        return false
    }

    package func revokes(_ identity: Identity, now: UInt64) -> Bool { ground(against: identity, now: now) != nil }

    /// Adds a revocation, and returns whether it counts: an expired one changes nothing.
    ///
    /// - Parameters:
    ///   - now: monotonic, in milliseconds.
    ///   - wall: the same moment in milliseconds since 1970.
    @discardableResult
    package mutating func add(_ revocation: Revocation, now: UInt64, wall: Int64) -> Bool {
        let left = millisecondsLeft(
            before: revocation.before, recordedAt: revocation.recordedAt, now: now, wall: wall)
        guard left > 0 else { return false }
        let entry = Entry(before: revocation.before, keptUntil: now + UInt64(left))
        nextEnd = min(nextEnd, entry.keptUntil)
        if entries[revocation.target] == nil, entries.count >= maximumEntries { forget(now: now) }
        if entries[revocation.target] == nil, entries.count >= maximumEntries { displaceOldest() }
        entries[revocation.target, default: entry].join(entry)
        return true
    }

    /// Records were lost that may have revoked any token, as of a second since 1970. Returns whether that still counts. If their
    /// time has passed, as for records that retention removed, nothing was lost.
    @discardableResult
    package mutating func lose(before: Int64, now: UInt64, wall: Int64) -> Bool {
        let left = millisecondsLeft(before: before, recordedAt: .min, now: now, wall: wall)
        guard left > 0 else { return false }
        let entry = Entry(before: before, keptUntil: now + UInt64(left))
        nextEnd = min(nextEnd, entry.keptUntil)
        if lost == nil { lost = entry } else { lost?.join(entry) }
        return true
    }

    /// Frees a quarter: the oldest count for all callers from now on. So a token that is issued today stays good, and a recent
    /// revocation still names its target. O(n log n), once for a quarter of ``maximumEntries``.
    private mutating func displaceOldest() {
        let moments = entries.values.map(\.before).sorted()
        let latest = moments[max(1, moments.count / 4) - 1]
        for entry in entries.values where entry.before <= latest {
            if displaced == nil { displaced = entry } else { displaced?.join(entry) }
        }
        entries = entries.filter { $0.value.before > latest }
    }

    /// How long it is kept. The earlier of the wall clock and the time since the start counts. So a clock that is ahead for a
    /// while does not make a revocation seem older than it is.
    private func millisecondsLeft(before: Int64, recordedAt: Int64, now: UInt64, wall: Int64) -> Int64 {
        let wall = min(wall, wallByStart(now))
        let (moment, isLate) = before.multipliedReportingOverflow(by: 1000)
        let since = max(recordedAt, isLate ? .max : moment)
        let (end, isForEver) = since.addingReportingOverflow(retentionMilliseconds)
        // A record's time may be anything. Far enough ahead means never, and the sum with `now` must not overflow.
        return min(isForEver ? .max : end, .max / 4) - min(wall, .max / 4)
    }

    /// The present for a loss, in milliseconds since 1970. The later of the wall clock and the time since the start counts. So a
    /// clock that was set back admits no caller that the lost records shut out.
    package func present(now: UInt64, wall: Int64) -> Int64 { max(wall, wallByStart(now)) }

    /// The time of the wall clock if it had not been set since the start.
    private func wallByStart(_ now: UInt64) -> Int64 { start.wall + Int64(clamping: now - min(now, start.now)) }

    /// Removes expired entries. O(n) if there may be any.
    package mutating func forget(now: UInt64) {
        guard now >= nextEnd else { return }
        entries = entries.filter { now < $0.value.keptUntil }
        if let end = displaced?.keptUntil, now >= end { displaced = nil }
        if let end = lost?.keptUntil, now >= end { lost = nil }
        let end = min(displaced?.keptUntil ?? .max, lost?.keptUntil ?? .max)
        nextEnd = entries.values.reduce(end) { min($0, $1.keptUntil) }
    }
}
