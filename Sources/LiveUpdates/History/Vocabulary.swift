/// Entities and types of all events of a node, each pair once: events of one kind repeat them, and a number is shorter.
/// Entities have numbers of their own too.
///
/// The producers of records decide how many pairs there are, so their number is limited. Pairs beyond the limit are in the log in
/// full.
struct Vocabulary {
    /// A product has some dozens of kinds of events. With the longest names the table needs about 1 MiB.
    static let maximumWords = 4_096
    /// If so many slots in a row are used although half are free, the names were chosen on purpose to collide.
    private static let maximumProbes = 16
    /// The slots for all words when a quarter of them is used.
    private static let maximumTable = 4 * maximumWords

    /// The first belongs to no pair: 0 means that the words are in the log in full.
    private(set) var words = [EventKind(entity: "", type: "")]
    /// By word: the number of its entity, from 1; 0 where words are in the log in full.
    private(set) var entities: [UInt16] = [0]
    private var entityNumbers: [BytewiseKey: UInt16] = [:]
    /// Numbers of words by their hash, a power of two of them; 0 is free.
    private var table = [UInt16](repeating: 0, count: 64)

    /// The number of an event's entity and type, given at their first appearance; 0 when there is no slot for them.
    mutating func number(of kind: EventKind) -> Int {
        var slot = firstSlot(kind)
        for _ in 0..<Self.maximumProbes {
            let number = Int(table[slot])
            if number == 0 { return add(kind, at: slot) }
            if words[number].isSame(as: kind) { return number }
            slot = (slot + 1) & (table.count - 1)
        }
        // A small table is crowded by chance, too.
        guard words.count <= Self.maximumWords, table.count < Self.maximumTable else { return 0 }
        grow()
        return number(of: kind)
    }

    /// The numbers of the entities that a filter passes. An entity without a number is only in events that are logged in full.
    func entities(passing filter: EntityFilter) -> [UInt16] { filter.names.compactMap { entityNumbers[$0] } }

    private mutating func add(_ kind: EventKind, at slot: Int) -> Int {
        guard words.count <= Self.maximumWords else { return 0 }
        let number = words.count
        table[slot] = UInt16(number)
        words.append(kind)
        let entity = BytewiseKey(text: kind.entity)
        let entityNumber = entityNumbers[entity] ?? UInt16(entityNumbers.count + 1)
        entityNumbers[entity] = entityNumber
        entities.append(entityNumber)
        if 2 * words.count > table.count { grow() }
        return number
    }

    /// A word whose neighbourhood is crowded loses its slot in the table, not its number.
    private mutating func grow() {
        table = Array(repeating: 0, count: 4 * table.count)
        for number in 1..<words.count {
            var slot = firstSlot(words[number])
            var probes = 1
            while table[slot] != 0 && probes < Self.maximumProbes {
                slot = (slot + 1) & (table.count - 1)
                probes += 1
            }
            if table[slot] == 0 { table[slot] = UInt16(number) }
        }
    }

    private func firstSlot(_ kind: EventKind) -> Int { Int(truncatingIfNeeded: kind.hash >> 32) & (table.count - 1) }
}
