import HTTP
import Synchronization
import TLS
import Tokens

/// How tickets are made and read, by the settings.
struct TicketPolicy: Sendable {
    let seal: TicketSeal
    let lifetimeSeconds: Int64

    /// The ticket of a text, if it may still admit a client.
    func ticket(_ text: [UInt8], now: Int64) -> Result<Ticket, TokenRefusal> {
        guard let ticket = seal.ticket(text), now < ticket.endsAt else { return .failure(.ticket) }
        return .success(ticket)
    }
}

/// The tickets that were used on this node: one for all loops, asked once a handshake with a ticket.
final class NodeTickets: Sendable {
    private let used = Mutex(UsedTickets())

    /// Uses a ticket up; returns the refusal if the ticket admits no client.
    func use(_ ticket: Ticket, _ policy: TicketPolicy, now: Int64) -> Refusal? {
        switch used.withLock({ $0.use(ticket, lifetimeSeconds: policy.lifetimeSeconds, now: now) }) {
        case .first: nil
        case .refused: Refusal(.invalidToken, "\(TokenRefusal.ticket)")
        case .overShare: Refusal(.tooMany, "This account has used too many tickets.")
        case .full: Refusal(.overloaded)
        }
    }
}

extension Connection {
    /// Answers `POST /ticket/v1`. A body is not read: a client that sends one gets the ticket, and the connection ends.
    func answerWithTicket(_ identity: Identity, _ policy: TicketPolicy, _ head: RequestHead, _ early: EarlyBytes) {
        let now = loop.epochSeconds()
        let ticket = Ticket(identity, id: .random(), lifetimeSeconds: policy.lifetimeSeconds, now: now)
        guard let text = policy.seal.text(ticket) else { return refuse(Refusal(.overloaded), head) }
        let body = Array("{\"ticket\":\"\(text)\",\"expires_in\":\(ticket.endsAt - now)}".utf8)
        let keepsAlive = keepsAlive(behind: head)
        answer(
            SyncAnswer.head(of: body, date: loop.httpDate(), keepsAlive: keepsAlive, fields: answerFields), body,
            keepsAlive: keepsAlive, early, of: identity)
    }
}
