import LiveState

// What the next start may show of the lists.
extension LiveScreens {
    /// So many items of a list are kept, from the end that was looked at.
    private static var maximumKept: Int { 500 }

    /// Called when a list is another one than before: what ``toStore()`` gives is too. For the one who keeps them.
    func onListChange(_ changed: @escaping @Sendable () -> Void) { listChanged = changed }

    /// What is known of the lists, and whether nothing is missing in it. Of those that are not made, what is as good as it was.
    func toStore() -> (isFingerHeld: Bool, lists: [StoredList<Value>]) {
        let made = lists.map { toStore($0.key, $0.value) }
        let others = stored.values.filter { !$0.isOld }.map(\.list)
        return (isFingerHeld, (made + others).sorted { $0.name < $1.name })
    }

    private func toStore(_ name: String, _ list: List) -> StoredList<Value> {
        let view = list.machine.view
        let kept = list.isBackward ? view.items.suffix(Self.maximumKept) : view.items.prefix(Self.maximumKept)
        var known = CompleteIntervals()
        for interval in isFingerHeld ? view.complete : view.stale { known.insert(interval) }
        if kept.count < view.items.count, let first = kept.first, let last = kept.last {
            known.keep(
                list.isBackward
                    ? ListInterval(lower: .at(key: first.key), upper: .end)
                    : ListInterval(lower: .beginning, upper: .at(key: last.key)))
        }
        let items = kept.filter { known.knowledge(of: $0.key) == .known }.map { item in
            let thing = Thing(entity: list.entity, id: item.id)
            return StoredList<Value>.Item(
                id: item.id, key: item.key, value: values[thing], isOld: queue.knowledge(of: thing) != .known)
        }
        return StoredList(
            name: name, entity: list.entity, intervals: known.complete, items: items)
    }

    /// Shows what an earlier run has kept: as the finger says, if one is held; else as old. A list that is not made yet gets it
    /// when it is.
    func restore(_ kept: [StoredList<Value>]) {
        guard !isClosed else { return }
        for list in kept {
            learn(list)
            stored[list.name] = (list, isOld: !isFingerHeld)
            if lists[list.name] != nil { recall(list.name) }
        }
    }

    /// Keeps the values of a list that was kept. One that was old already is none for a thing that is known; where a screen shows
    /// its thing, that is fetched.
    private func learn(_ list: StoredList<Value>) {
        lastPage += 1
        ask(.asked(page: lastPage))
        let shown = Set(queue.view.shown.map(\.thing))
        var taken: [(thing: Thing, item: StoredList<Value>.Item)] = []
        for item in list.items where item.value != nil {
            let thing = Thing(entity: list.entity, id: item.id)
            guard item.isOld, isFingerHeld, shown.contains(thing) || queue.knowledge(of: thing) == .known else {
                taken.append((thing, item))
                continue
            }
            if queue.knowledge(of: thing) != .known { ask(.refresh(thing: thing)) }
        }
        learn(lastPage, taken.map(\.thing), taken.compactMap(\.item.value))
        for (thing, item) in taken where item.isOld { ask(.pass(number: 0, thing: thing)) }
        for (thing, _) in taken { publishDetails(of: thing) }
    }

    /// Gives a list what was kept of it, and before or behind that the finger.
    func recall(_ name: String) {
        guard let kept = stored.removeValue(forKey: name), kept.list.entity == lists[name]?.entity else {
            if isFingerHeld { give(name, .finger(isHeld: true)) }
            return
        }
        let items = kept.list.items.map { ListItem(id: $0.id, key: $0.key) }
        // Without a finger what is stored is old, and stays so.
        give(name, .finger(isHeld: isFingerHeld && !kept.isOld))
        give(name, .stored(intervals: kept.list.intervals, items: items))
        give(name, .finger(isHeld: isFingerHeld))
        guard isFingerHeld, !kept.isOld, let list = lists[name] else { return }
        // A page from before the finger may have brought more. It is old there, and no page follows.
        for item in list.machine.view.items {
            let thing = Thing(entity: list.entity, id: item.id)
            guard queue.knowledge(of: thing) != .known else { continue }
            ask(list.isShown ? .refresh(thing: thing) : .pass(number: 0, thing: thing))
        }
    }

    /// Of lists that are not made yet nobody notes what happens to their things; nil: to all.
    func forgetStored(of entity: String?) {
        for (name, kept) in stored where !kept.isOld && (entity == nil || kept.list.entity == entity) {
            stored[name]?.isOld = true
            listChanged?()
        }
    }

    /// Keeps the values of an answer that are not older than what is known.
    func learn(_ page: Int, _ things: [Thing], _ found: [Value], isWhole: Bool = false) {
        var accepted: Set<Thing> = []
        for case .accept(_, let taken) in ask(.answered(page: page, things: things, isWhole: isWhole)) {
            accepted.formUnion(taken)
        }
        for (thing, value) in zip(things, found) where accepted.contains(thing) {
            keep(value, of: thing, isWhole: isWhole)
        }
    }
}
