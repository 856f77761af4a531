/// The connections of a loop, each in a slot of its own: found, added and removed in O(1).
///
/// A walk over all slots may be made in slices while connections come and go. A slot that is free is used again, so the
/// table is as long as the most connections that the loop has had at once; it never shrinks.
struct ConnectionTable {
    private var table: [Connection?] = []
    /// How often a slot was used: an id is never used again.
    private var uses: [UInt32] = []
    private var free: [Int] = []
    private(set) var count = 0

    var slots: Int { table.count }

    mutating func add(_ make: (ConnectionID) -> Connection) -> Connection {
        let slot = free.popLast() ?? table.count
        if slot == table.count {
            table.append(nil)
            uses.append(0)
        }
        let connection = make(ConnectionID(number: UInt64(uses[slot]) << 32 | UInt64(slot)))
        table[slot] = connection
        count += 1
        return connection
    }

    mutating func remove(_ id: ConnectionID) {
        let slot = Int(id.number & 0xFFFF_FFFF)
        table[slot] = nil
        uses[slot] &+= 1
        free.append(slot)
        count -= 1
    }

    subscript(slot slot: Int) -> Connection? { table[slot] }

    /// The connection, if it is still there, whatever it has asked since.
    func connection(of id: ConnectionID) -> Connection? {
        let slot = Int(id.number & 0xFFFF_FFFF)
        guard slot < table.count, let connection = table[slot], connection.id.number == id.number else { return nil }
        return connection
    }

    /// The connection that asked, if it is still there and has not asked again.
    subscript(id: ConnectionID) -> Connection? {
        guard let connection = connection(of: id), connection.id == id else { return nil }
        return connection
    }
}
