import LiveState

// What the next start may show of the lists.
extension LiveScreens {
    /// How many items of a list are stored, from the end that was visible.
    private static var maximumKept: Int { 500 }

    /// Sets the function to call when a list, and so the result of ``toStore()``, has changed. For the code that stores lists.
    func onListChange(_ changed: @escaping @Sendable () -> Void) { listChanged = changed }

    /// The known state of the lists, and whether a cursor is held. For lists not made yet: the stored data that is still current.
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

    /// Shows what an earlier run has stored: as current if a cursor is held, otherwise as old. A list that does not exist yet
    /// gets it when it is made.
    func restore(_ kept: [StoredList<Value>]) {
        guard !isClosed else { return }
        for list in kept {
            learn(list)
            stored[list.name] = (list, isOld: !isFingerHeld)
            if lists[list.name] != nil { recall(list.name) }
        }
    }

    /// Keeps the values of a stored list. A value that was old already does not replace one of a known thing. If a screen shows
    /// that thing, it is fetched.
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

    /// Gives a list its stored data, and before or after that the state of the cursor.
    func recall(_ name: String) {
        guard let kept = stored.removeValue(forKey: name), kept.list.entity == lists[name]?.entity else {
            if isFingerHeld { give(name, .finger(isHeld: true)) }
            return
        }
        let items = kept.list.items.map { ListItem(id: $0.id, key: $0.key) }
        // Without a cursor, the stored data is old, and remains old.
        give(name, .finger(isHeld: isFingerHeld && !kept.isOld))
        give(name, .stored(intervals: kept.list.intervals, items: items))
        give(name, .finger(isHeld: isFingerHeld))
        guard isFingerHeld, !kept.isOld, let list = lists[name] else { return }
        // A page from before the cursor may have brought more things. They are old there, and no page follows.
        for item in list.machine.view.items {
            let thing = Thing(entity: list.entity, id: item.id)
            guard queue.knowledge(of: thing) != .known else { continue }
            ask(list.isShown ? .refresh(thing: thing) : .pass(number: 0, thing: thing))
        }
    }

    /// Marks stored lists that are not made yet as old, because nothing tracks the changes of their things; nil: all of them.
    func forgetStored(of entity: String?) {
        for (name, kept) in stored where !kept.isOld && (entity == nil || kept.list.entity == entity) {
            stored[name]?.isOld = true
            listChanged?()
        }
    }

    /// Keeps the values of an answer that are not older than the known ones.
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
