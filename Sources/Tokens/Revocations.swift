/// What is revoked at this moment.
///
/// A revocation is kept until `retention` has passed since its record's time, or since its `before` where that is later: then
/// the tokens that it shuts out have ended by themselves, if they live no longer than `retention`. Of several for one thing
/// the latest `before` counts, for as long as any of them is kept.
///
/// Nothing here ever opens a door that was shut: nobody takes a revocation back. Where it is not known any more whom one meant,
/// it counts for everybody: the oldest that have to give way where there is no room for a new one, and those that were lost in
/// the topic. Whoever was not meant fetches a token, and is let in with one that is issued after it.
package struct Revocations: Sendable {
    /// Some 50 MB with names of usual length, and 200 MB with the longest. A product that signs out more people than this
    /// within `retention` has other ways to do so.
    package static let maximumEntries = 262_144

    /// Why a token counts no more.
    package enum Ground: Sendable, Equatable {
        /// The revocation is of its account, of its person or of itself.
        case meant
        /// It is older than one of which it is not known whom it meant: tokens from this second since 1970 on are good.
        case allTokens(before: Int64)
    }

    /// Why something counts for everybody.
    package enum Cause: Sendable, CaseIterable {
        /// There were more revocations than find room.
        case noRoom
        /// Records of the topic cannot be read any more.
        case lost
    }

    private struct Entry {
        /// Seconds since 1970.
        var before: Int64
        /// Monotonic, in milliseconds.
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
    /// When the node began, by both clocks.
    private let start: (wall: Int64, now: UInt64)
    private var entries: [Revocation.Target: Entry] = [:]
    /// The oldest of what was revoked, which gave way to newer ones.
    private var displaced: Entry?
    /// What may have been revoked by records that were lost.
    private var lost: Entry?
    /// Before this time no entry ends.
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

    /// Whether there is room for what comes.
    package enum Room: Sendable { case enough, nearlyNone, none }

    /// `.none`: some had to give way, and so count for everybody. `.nearlyNone`: three quarters are taken, also by what has
    /// ended and is not let go yet.
    package var room: Room {
        if displaced != nil { return .none }
        return entries.count >= maximumEntries - maximumEntries / 4 ? .nearlyNone : .enough
    }

    /// Why the token of this caller counts no more; nil where it does. Callers without a token, and those whose token does not
    /// say when it was issued, are revoked as long as the revocation is kept.
    package func ground(against identity: Identity, now: UInt64) -> Ground? {
        func matches(_ entry: Entry?) -> Bool { entry?.revokes(issuedAt: identity.issuedAt, now: now) == true }
        if isMeant(identity, matches) { return .meant }
        let before = [displaced, lost].reduce(Int64?.none) { latest, entry in
            matches(entry) ? max(latest ?? .min, entry?.before ?? .min) : latest
        }
        return before.map { .allTokens(before: $0) }
    }

    /// From which second since 1970 on tokens are good that something shuts out of everybody's for this cause; nil: nothing.
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

    /// Adds a revocation, and says whether it counts: one whose time has passed changes nothing.
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

    /// Records were lost that may have revoked anybody, as of a second since 1970; says whether that still counts. Where their
    /// time has passed, as that of records that retention has removed, nothing was lost.
    @discardableResult
    package mutating func lose(before: Int64, now: UInt64, wall: Int64) -> Bool {
        let left = millisecondsLeft(before: before, recordedAt: .min, now: now, wall: wall)
        guard left > 0 else { return false }
        let entry = Entry(before: before, keptUntil: now + UInt64(left))
        nextEnd = min(nextEnd, entry.keptUntil)
        if lost == nil { lost = entry } else { lost?.join(entry) }
        return true
    }

    /// Makes room for a quarter: the oldest count for everybody from now on. So a token that is issued today stays good, and
    /// what was just revoked is still known by its name. O(n log n), once for a quarter of ``maximumEntries``.
    private mutating func displaceOldest() {
        let moments = entries.values.map(\.before).sorted()
        let latest = moments[max(1, moments.count / 4) - 1]
        for entry in entries.values where entry.before <= latest {
            if displaced == nil { displaced = entry } else { displaced?.join(entry) }
        }
        entries = entries.filter { $0.value.before > latest }
    }

    /// How long it is kept. Of the wall clock and the time that has passed since the start the earlier one is believed: a
    /// clock that is ahead for a while makes no revocation look older than it is.
    private func millisecondsLeft(before: Int64, recordedAt: Int64, now: UInt64, wall: Int64) -> Int64 {
        let wall = min(wall, wallByStart(now))
        let (moment, isLate) = before.multipliedReportingOverflow(by: 1000)
        let since = max(recordedAt, isLate ? .max : moment)
        let (end, isForEver) = since.addingReportingOverflow(retentionMilliseconds)
        // A record's time may be anything: far enough ahead is never, and the sum with `now` must hold.
        return min(isForEver ? .max : end, .max / 4) - min(wall, .max / 4)
    }

    /// The present as a loss takes it, in milliseconds since 1970. Of the wall clock and the time that has passed since the
    /// start the later one is believed: a clock that was set back lets in nobody whom the lost records shut out.
    package func present(now: UInt64, wall: Int64) -> Int64 { max(wall, wallByStart(now)) }

    /// What the wall clock would say, had nobody set it since the start.
    private func wallByStart(_ now: UInt64) -> Int64 { start.wall + Int64(clamping: now - min(now, start.now)) }

    /// Lets go what has ended. O(n) when something may have.
    package mutating func forget(now: UInt64) {
        guard now >= nextEnd else { return }
        entries = entries.filter { now < $0.value.keptUntil }
        if let end = displaced?.keptUntil, now >= end { displaced = nil }
        if let end = lost?.keptUntil, now >= end { lost = nil }
        let end = min(displaced?.keptUntil ?? .max, lost?.keptUntil ?? .max)
        nextEnd = entries.values.reduce(end) { min($0, $1.keptUntil) }
    }
}
