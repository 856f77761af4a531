/// Slots in the order in which they were used last: two chains through one table, so that every step is a few writes.
struct IdleOrder {
    /// What stands in no chain.
    private static let none: Int32 = -1

    private struct Link {
        var older: Int32
        var newer: Int32
        var isIn = false
    }

    private var links: [Link] = []
    private var oldest = Self.none
    private var newest = Self.none

    /// The slot that was not used for the longest time.
    var longestIdle: Int? { oldest == Self.none ? nil : Int(oldest) }

    /// Puts a slot, in the chain or not, at the end of those just used.
    mutating func use(_ slot: Int) {
        while links.count <= slot { links.append(Link(older: Self.none, newer: Self.none)) }
        if newest == Int32(slot) { return }
        remove(slot)
        links[slot] = Link(older: newest, newer: Self.none, isIn: true)
        if newest == Self.none { oldest = Int32(slot) } else { links[Int(newest)].newer = Int32(slot) }
        newest = Int32(slot)
    }

    mutating func remove(_ slot: Int) {
        guard slot < links.count, links[slot].isIn else { return }
        let link = links[slot]
        if link.older == Self.none { oldest = link.newer } else { links[Int(link.older)].newer = link.newer }
        if link.newer == Self.none { newest = link.older } else { links[Int(link.newer)].older = link.older }
        links[slot].isIn = false
    }
}
