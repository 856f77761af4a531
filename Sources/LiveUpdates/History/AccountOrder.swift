/// Slots of accounts in the order of their last use: two chains through one table, so that every step is a few writes.
struct IdleOrder {
    /// The end of a chain.
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

    /// Moves a slot, in the chain or not, to the end of those just used.
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

/// Slots of accounts by the moment from which one of their events may be too old: a binary heap, each slot in it once.
///
/// Events arrive in the order of time, so a slot mostly goes to the end, which costs a comparison. Removing the first one costs
/// the logarithm of the number of accounts.
struct ExpiryQueue {
    private struct Item {
        var moment: Int64
        var slot: Int32
    }

    private var items: [Item] = []
    /// By slot: its index among the items, or -1.
    private var indexes: [Int32] = []

    /// The earliest moment; later than all where there is no slot.
    var earliest: Int64 { items.first?.moment ?? .max }

    var first: Int? { items.first.map { Int($0.slot) } }

    func moment(of slot: Int) -> Int64? {
        guard slot < indexes.count, indexes[slot] >= 0 else { return nil }
        return items[Int(indexes[slot])].moment
    }

    mutating func set(_ slot: Int, _ moment: Int64) {
        while indexes.count <= slot { indexes.append(-1) }
        if indexes[slot] < 0 {
            indexes[slot] = Int32(items.count)
            items.append(Item(moment: moment, slot: Int32(slot)))
            rise(items.count - 1)
        } else {
            let index = Int(indexes[slot])
            let before = items[index].moment
            items[index].moment = moment
            if moment < before { rise(index) } else { sink(index) }
        }
    }

    mutating func remove(_ slot: Int) {
        guard slot < indexes.count, indexes[slot] >= 0 else { return }
        let index = Int(indexes[slot])
        indexes[slot] = -1
        let last = items.removeLast()
        guard index < items.count else { return }
        put(last, at: index)
        rise(index)
        sink(Int(indexes[Int(last.slot)]))
    }

    private mutating func put(_ item: Item, at index: Int) {
        items[index] = item
        indexes[Int(item.slot)] = Int32(index)
    }

    private mutating func rise(_ start: Int) {
        var index = start
        let item = items[index]
        while index > 0, items[(index - 1) / 2].moment > item.moment {
            put(items[(index - 1) / 2], at: index)
            index = (index - 1) / 2
        }
        put(item, at: index)
    }

    private mutating func sink(_ start: Int) {
        var index = start
        let item = items[index]
        while true {
            var child = 2 * index + 1
            guard child < items.count else { break }
            if child + 1 < items.count, items[child + 1].moment < items[child].moment { child += 1 }
            guard items[child].moment < item.moment else { break }
            put(items[child], at: index)
            index = child
        }
        put(item, at: index)
    }
}
