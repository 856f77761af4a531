import FuzzSupport
import LiveUpdates
import TLS
import Tokens

private let secret = [UInt8](repeating: 0x53, count: 32)
private let seals = [
    TicketSeal(secrets: [secret]),
    TicketSeal(secrets: [[UInt8](repeating: 0x54, count: 32), secret]),
]
private let stranger = TicketSeal(secrets: [[UInt8](repeating: 0x55, count: 32)])

/// A text as anybody may send it, and what stands inside one that was sealed with the secret, but by another program.
private func checkText(_ input: [UInt8]) {
    for seal in seals { require(seal.ticket(input) == nil, "nobody sealed this") }
    let id = [UInt8](repeating: 7, count: 16)
    let key = Digest.hmac(id, key: Digest.hmac(Array("livegate ticket".utf8), key: secret))
    let text = Base64.encodeURL([2] + id + Sealing.seal(input, key: key, associated: [2] + id)!)
    guard let ticket = seals[0].ticket(Array(text.utf8)) else { return }
    require(text.utf8.count <= TicketSeal.maximumTextBytes, "the limit on bytes holds")
    require(seals[0].text(ticket) == text, "a ticket has one text")
    require(seals[1].ticket(Array(text.utf8)) != nil, "every secret opens")
    require(stranger.ticket(Array(text.utf8)) == nil, "another secret does not")
    require(!ticket.identity.account.text.isEmpty, "somebody is let in")
    if let token = ticket.identity.staticToken {
        require(token.count == StaticTokens.digestBytes, "a fixed token is told by its digest")
    }
}

/// Uses of tickets of three accounts while the clock goes on, three bytes each: which ticket, how long it lives, and what has
/// passed.
private func checkUses(_ input: [UInt8]) {
    let maximumTickets = 8
    let lifetimeSeconds: Int64 = 30
    var table = UsedTickets(maximumTickets: maximumTickets)
    var taken: [UInt64: Int64] = [:]
    var now: Int64 = 1_000
    for start in stride(from: 0, to: input.count - 2, by: 3) {
        now += Int64(input[start + 2] % 16)
        let lifetime = 1 + Int64(input[start + 1]) % lifetimeSeconds
        // Each number has one end, as each ticket does.
        let madeAt = now - Int64(input[start + 2] / 16)
        let endsAt = madeAt + lifetime
        let number = UInt64(endsAt) << 8 | UInt64(input[start])
        let account = number % 3
        let ticket = Ticket(
            Identity(account: Account("\(account)"), subject: nil, expiresAt: nil), id: Ticket.ID(high: 0, low: number),
            lifetimeSeconds: lifetime, now: madeAt)
        taken = taken.filter { $0.value > now }
        let room = maximumTickets - taken.count
        let ofAccount = taken.keys.count { $0 % 3 == account }
        let expected: UsedTickets.Use =
            endsAt <= now || taken[number] != nil
            ? .refused : room == 0 ? .full : ofAccount >= room ? .overShare : .first
        let use = table.use(ticket, lifetimeSeconds: lifetimeSeconds, now: now)
        require(use == expected, "a use of a ticket is \(use), not \(expected)")
        if use == .first { taken[number] = endsAt }
    }
}

/// The first byte chooses.
@_cdecl("LLVMFuzzerTestOneInput")
package func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let input = unsafe fuzzInput(start, count)
    guard let choice = input.first else { return 0 }
    let rest = Array(input.dropFirst())
    if choice & 1 == 0 { checkText(rest) } else { checkUses(rest) }
    return 0
}
