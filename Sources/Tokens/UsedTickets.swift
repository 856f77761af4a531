import LiveUpdates

/// The tickets that have let somebody in on this node and could still do so.
///
/// Each is kept until its end: later nobody is let in with it anyway. A use costs O(1), and once a second what has ended is
/// let go.
///
/// An account may have as many as there is room left for others: half of the table alone, a third where another one wants
/// all of it too. So none of them takes the room of those who come.
package struct UsedTickets: Sendable {
    /// With a lifetime of 30 s, 8,700 uses a second, more than a node has handshakes; 4,300 of one account. Some 12 MB.
    package static let maximumTickets = 262_144

    /// What comes of a use.
    package enum Use: Sendable {
        /// The ticket is used up now.
        case first
        /// It was used before, or has ended.
        case refused
        /// Its account has used as many as it may within their life: it lets nobody in until some have ended.
        case overShare
        /// There is no room to remember it, so it lets nobody in: it can be used once more ended ones were let go.
        case full
    }

    /// Those that end in one second.
    private struct Second {
        var tickets: Set<Ticket.ID> = []
        var byAccount: [Account: Int] = [:]
    }

    private var byEnd: [Int64: Second] = [:]
    private var byAccount: [Account: Int] = [:]
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
        guard byEnd[ticket.endsAt]?.tickets.contains(ticket.id) != true else { return .refused }
        guard count < maximumTickets else { return .full }
        let account = ticket.identity.account
        guard byAccount[account, default: 0] < maximumTickets - count else { return .overShare }
        byEnd[ticket.endsAt, default: Second()].tickets.insert(ticket.id)
        byEnd[ticket.endsAt]?.byAccount[account, default: 0] += 1
        byAccount[account, default: 0] += 1
        count += 1
        return .first
    }

    private mutating func forget(_ now: Int64, _ lifetimeSeconds: Int64) {
        // A clock that went far ahead for a moment must not refuse all tickets until that time has come. Those that were let go
        // meanwhile end within a lifetime.
        forgottenUntil = min(forgottenUntil, now + lifetimeSeconds)
        guard now > forgottenUntil else { return }
        forgottenUntil = now
        for (end, second) in byEnd where end <= now {
            count -= second.tickets.count
            for (account, ended) in second.byAccount {
                let left = byAccount[account, default: 0] - ended
                byAccount[account] = left > 0 ? left : nil
            }
            byEnd[end] = nil
        }
    }
}
