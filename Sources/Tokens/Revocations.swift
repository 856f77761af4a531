/// What is revoked at this moment.
///
/// A revocation is kept until `retention` has passed since its record's time, or since its `before` where that is later: then
/// the tokens that it shuts out have ended by themselves, if they live no longer than `retention`. Of several for one thing
/// the latest `before` counts, for as long as any of them is kept.
///
/// Nothing here ever opens a door that was shut: nobody takes a revocation back, and one for which there is no room counts for
/// everybody. Whoever was not meant is told to fetch a token, and is let in again with one that is issued after it.
package struct Revocations: Sendable {
    /// Some 50 MB with names of usual length, and 200 MB with the longest. A product that signs out more people than this
    /// within `retention` has other ways to do so.
    package static let maximumEntries = 262_144

    /// Why a token counts no more.
    package enum Ground: Sendable {
        /// The revocation is of its account, of its person or of itself.
        case meant
        /// It is older than one that found no room.
        case noRoom
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
    /// What was revoked and found no room.
    private var everybody: Entry?
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
    package var isEmpty: Bool { entries.isEmpty && everybody == nil }

    /// Whether there is room for what comes.
    package enum Room: Sendable { case enough, nearlyNone, none }

    /// `.none`: something found no room, and so counts for everybody. `.nearlyNone`: three quarters are taken, also by what has
    /// ended and is not let go yet.
    package var room: Room {
        if everybody != nil { return .none }
        return entries.count >= maximumEntries - maximumEntries / 4 ? .nearlyNone : .enough
    }

    /// Why the token of this caller counts no more; nil where it does. Callers without a token, and those whose token does not
    /// say when it was issued, are revoked as long as the revocation is kept.
    package func ground(against identity: Identity, now: UInt64) -> Ground? {
        func matches(_ entry: Entry?) -> Bool { entry?.revokes(issuedAt: identity.issuedAt, now: now) == true }
        if isMeant(identity, matches) { return .meant }
        return matches(everybody) ? .noRoom : nil
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
        let left = millisecondsLeft(revocation, now: now, wall: wall)
        guard left > 0 else { return false }
        let entry = Entry(before: revocation.before, keptUntil: now + UInt64(left))
        nextEnd = min(nextEnd, entry.keptUntil)
        if entries[revocation.target] == nil, entries.count >= maximumEntries { forget(now: now) }
        if entries[revocation.target] == nil, entries.count >= maximumEntries {
            if everybody == nil { everybody = entry } else { everybody?.join(entry) }
        } else {
            entries[revocation.target, default: entry].join(entry)
        }
        return true
    }

    /// How long it is kept. Of the wall clock and the time that has passed since the start the earlier one is believed: a
    /// clock that is ahead for a while makes no revocation look older than it is.
    private func millisecondsLeft(_ revocation: Revocation, now: UInt64, wall: Int64) -> Int64 {
        let wall = min(wall, start.wall + Int64(clamping: now - start.now))
        let (before, isLate) = revocation.before.multipliedReportingOverflow(by: 1000)
        let since = max(revocation.recordedAt, isLate ? .max : before)
        let (end, isForEver) = since.addingReportingOverflow(retentionMilliseconds)
        // A record's time may be anything: far enough ahead is never, and the sum with `now` must hold.
        return min(isForEver ? .max : end, .max / 4) - min(wall, .max / 4)
    }

    /// Lets go what has ended. O(n) when something may have.
    package mutating func forget(now: UInt64) {
        guard now >= nextEnd else { return }
        entries = entries.filter { now < $0.value.keptUntil }
        if let end = everybody?.keptUntil, now >= end { everybody = nil }
        nextEnd = entries.values.reduce(everybody?.keptUntil ?? .max) { min($0, $1.keptUntil) }
    }
}
