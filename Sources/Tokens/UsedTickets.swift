import LiveUpdates

/// The tickets that have admitted a caller on this node, and have not expired yet.
///
/// Each is kept until its end; after that it is refused anyway. A use costs O(1). Once a second, expired tickets are removed.
///
/// An account may use as many as are left for others: half of the table alone, a third if another one also wants all it can get.
/// So no account uses up the space of those that come later.
package struct UsedTickets: Sendable {
    /// With a lifetime of 30 s: 8,700 uses a second, more than the handshakes of a node; 4,300 of one account. Some 12 MB.
    package static let maximumTickets = 262_144

    /// The result of a use.
    package enum Use: Sendable {
        /// The ticket is used up now.
        case first
        /// It was used before, or has ended.
        case refused
        /// Its account has used as many as allowed within their life. It is refused until some have expired.
        case overShare
        /// There is no space to remember it, so it is refused. It can be used after expired ones are removed.
        case full
    }

    /// The tickets that end in one second.
    private struct Second {
        var tickets: Set<Ticket.ID> = []
        var byAccount: [Account: Int] = [:]
    }

    private var byEnd: [Int64: Second] = [:]
    private var byAccount: [Account: Int] = [:]
    private let maximumTickets: Int
    private var count = 0
    /// Tickets that end by this time are no longer known: they count as used, also if the clock is set back.
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
        // A clock that was far ahead for a moment must not cause refusals of all tickets until that time. The tickets removed in
        // that moment end within a lifetime.
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
