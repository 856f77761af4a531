/// The logs of all accounts. They are found by the bytes of a name, without a String, or by a slot. An account keeps its slot as
/// long as its log exists. A hash table of slots, chained.
struct AccountTable {
    private struct Link {
        /// Of the account's name.
        var hash: UInt64
        /// The next slot of the same chain, or ``none``.
        var next: Int32
    }

    /// The end of a chain.
    private static let none: Int32 = -1

    /// By slot; free ones are nil.
    private var logs: [AccountLog?] = []
    private var links: [Link] = []
    private var free: [Int32] = []
    /// By the low bits of the hash: the first slot of a chain. A power of two of them, at least as many as logs.
    private var heads = [Int32](repeating: Self.none, count: 64)
    private(set) var count = 0
    private let seed = TableSeed.value

    /// Slots that were ever used.
    var slots: Int { logs.count }

    subscript(slot slot: Int) -> AccountLog? { logs[slot] }

    subscript(account: Account) -> AccountLog? { self[account.text.utf8Span.span] }

    subscript(name: Span<UInt8>) -> AccountLog? { log(name, name.hash(seed: seed)) }

    /// The log of an account; where there is none, `make` creates one for its slot.
    mutating func log(_ name: Span<UInt8>, orMake make: (_ slot: Int) -> AccountLog) -> AccountLog {
        let hash = name.hash(seed: seed)
        if let log = log(name, hash) { return log }
        if count == heads.count { grow() }
        let slot = free.popLast().map(Int.init) ?? logs.count
        let log = make(slot)
        if slot == logs.count {
            logs.append(log)
            links.append(Link(hash: hash, next: Self.none))
        } else {
            logs[slot] = log
            links[slot].hash = hash
        }
        count += 1
        enchain(slot)
        return log
    }

    mutating func remove(_ log: AccountLog) {
        let slot = Int32(log.slot)
        let head = head(of: links[log.slot].hash)
        let next = links[log.slot].next
        if heads[head] == slot {
            heads[head] = next
        } else {
            var before = heads[head]
            while links[Int(before)].next != slot { before = links[Int(before)].next }
            links[Int(before)].next = next
        }
        logs[log.slot] = nil
        free.append(slot)
        count -= 1
    }

    private func log(_ name: Span<UInt8>, _ hash: UInt64) -> AccountLog? {
        var slot = heads[head(of: hash)]
        while slot != Self.none {
            let link = links[Int(slot)]
            if link.hash == hash, let log = logs[Int(slot)], log.account.text.utf8Span.span.isEqual(to: name) {
                return log
            }
            slot = link.next
        }
        return nil
    }

    private mutating func grow() {
        heads = Array(repeating: Self.none, count: 2 * heads.count)
        for slot in logs.indices where logs[slot] != nil { enchain(slot) }
    }

    private mutating func enchain(_ slot: Int) {
        let head = head(of: links[slot].hash)
        links[slot].next = heads[head]
        heads[head] = Int32(slot)
    }

    private func head(of hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & (heads.count - 1) }
}
