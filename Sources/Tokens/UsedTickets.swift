/// The tickets that have let somebody in on this node and could still do so.
///
/// Each is kept until its end: later nobody is let in with it anyway. A use costs O(1), and once a second what has ended is
/// let go.
package struct UsedTickets: Sendable {
    /// With a lifetime of 30 s, 8,700 uses a second, more than a node has handshakes. Some 12 MB.
    package static let maximumTickets = 262_144

    /// What comes of a use.
    package enum Use: Sendable {
        /// The ticket is used up now.
        case first
        /// It was used before, or has ended.
        case refused
        /// There is no room to remember it, so it lets nobody in: it can be used once more ended ones were let go.
        case full
    }

    private var byEnd: [Int64: Set<Ticket.ID>] = [:]
    private let maximumTickets: Int
    private var count = 0
    /// Of tickets that end up to here nothing is known any more: they count as used, also when the clock is set back.
    private var forgottenUntil = Int64.min

    package init(maximumTickets: Int = Self.maximumTickets) { self.maximumTickets = maximumTickets }

    /// - Parameters:
    ///   - lifetimeSeconds: the longest life of a ticket.
    ///   - now: seconds since 1970.
    package mutating func use(_ ticket: Ticket, lifetimeSeconds: Int64, now: Int64) -> Use {
        forget(now, lifetimeSeconds)
        guard ticket.endsAt > now, ticket.endsAt > forgottenUntil else { return .refused }
        guard byEnd[ticket.endsAt]?.contains(ticket.id) != true else { return .refused }
        guard count < maximumTickets else { return .full }
        byEnd[ticket.endsAt, default: []].insert(ticket.id)
        count += 1
        return .first
    }

    private mutating func forget(_ now: Int64, _ lifetimeSeconds: Int64) {
        // A clock that went far ahead for a moment must not refuse all tickets until that time has come. Those that were let go
        // meanwhile end within a lifetime.
        forgottenUntil = min(forgottenUntil, now + lifetimeSeconds)
        guard now > forgottenUntil else { return }
        forgottenUntil = now
        for (end, tickets) in byEnd where end <= now {
            count -= tickets.count
            byEnd[end] = nil
        }
    }
}
