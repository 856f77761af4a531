// What is asked for, and what happens to an answer.
extension PartialList {
    /// The end of the screen's last item, counted in the known items. Nil: there are fewer items.
    private func filledEnd(_ place: Place) -> ListEnd? {
        guard place.count > 0 else { return place.from }
        if place.direction == .forward {
            let first = items.firstIndex { place.from <= .at(key: $0.key) } ?? items.count
            let last = first + place.count - 1
            return last < items.count ? .at(key: items[last].key) : nil
        }
        let last = items.lastIndex { .at(key: $0.key) <= place.from } ?? -1
        let first = last - place.count + 1
        return first >= 0 ? .at(key: items[first].key) : nil
    }

    /// All that the screen shows.
    private func shown(_ place: Place) -> ListInterval {
        let isForward = place.direction == .forward
        let end = filledEnd(place) ?? (isForward ? .end : .beginning)
        return isForward
            ? ListInterval(lower: place.from, upper: end) : ListInterval(lower: end, upper: place.from)
    }

    var knowledge: Knowledge? { place.map { intervals.knowledge(of: shown($0)) } }

    /// If nothing is known there, it is empty, and reports nothing about what is behind.
    var stretch: ListStretch? {
        guard let place else { return nil }
        guard let end = intervals.knownEnd(from: place.from, place.direction) else {
            return ListStretch(ids: [], isComplete: false, isStale: false)
        }
        let isForward = place.direction == .forward
        let known =
            isForward ? ListInterval(lower: place.from, upper: end) : ListInterval(lower: end, upper: place.from)
        let ids = items.filter { known.contains(.at(key: $0.key)) }.map(\.id)
        return ListStretch(
            ids: isForward ? ids : ids.reversed(), isComplete: end == (isForward ? .end : .beginning),
            isStale: intervals.knowledge(of: known) != .known)
    }

    /// Asks for the next page that the screen needs, and gives up a page that no longer fits.
    mutating func askNext(_ effects: inout [Effect]) {
        let next = place.flatMap(nextPage)
        if page?.request != next { giveUpPage(&effects) }
        guard let place, let next, page == nil, retryAt == nil, next != refused else { return }
        let known = intervals.knowledge(of: shown(place))
        guard known != .known, isFingerHeld || known == .unknown else { return }
        lastNumber += 1
        page = Page(number: lastNumber, request: next, isWatched: isFingerHeld)
        effects.append(.loadPage(number: lastNumber, page: next))
    }

    /// The page behind what is known from the screen on. Without a cursor, a loaded page is old at once, and is not loaded again.
    private func nextPage(_ place: Place) -> PageRequest? {
        var known = intervals
        if !isFingerHeld { for interval in intervals.stale { known.insert(interval) } }
        return known.nextPage(from: place.from, place.direction, limit: settings.pageLimit)
    }

    private mutating func giveUpPage(_ effects: inout [Effect]) {
        if let page { effects.append(.giveUpPage(number: page.number)) }
        page = nil
    }

    mutating func receive(
        _ page: Page, _ answer: [ListItem], _ isLast: Bool, at now: Milliseconds, _ effects: inout [Effect]
    ) {
        let isForward = page.request.direction == .forward
        let from = page.request.from
        let given = answer.filter { item in
            let end = ListEnd.at(key: item.key)
            return isForward ? from <= end : end <= from
        }
        let keys = given.map(\.key)
        let furthest = (isForward ? keys.max() : keys.min()).map { ListEnd.at(key: $0) }
        // An answer that is empty, or has only the known item, though more is behind it, gives nothing new. Neither is a page
        // useful under which too much changed. To ask again at once might repeat for ever.
        let isNew = isLast || (furthest != nil && (page.request.isInclusive || furthest != from))
        guard isNew, !page.isOverrun, let end = isLast ? (isForward ? .end : .beginning) : furthest else {
            return fail(nil, at: now)
        }
        retry.reset()
        let loaded = isForward ? ListInterval(lower: from, upper: end) : ListInterval(lower: end, upper: from)
        let changed = page.changed
        let there = Dictionary(given.map { (Exact($0.id), $0.key) }) { first, _ in first }
        let gone = items.filter { item in
            let isIn = page.request.covers(item.key) && loaded.contains(.at(key: item.key))
            return isIn && there[Exact(item.id)] == nil && !changed.contains(Exact(item.id))
        }
        for item in gone { set(item.id, nil) }
        for (id, key) in there where !changed.contains(id) { set(id.text, key) }
        if page.isWatched { intervals.insert(loaded) } else { intervals.insertStale(loaded) }
        limitItems()
        if !changed.isEmpty {
            effects.append(.reload(ids: changed.map(\.text).sorted { ListKey(text: $0) < ListKey(text: $1) }))
        }
    }

    mutating func fail(_ retryAfter: Milliseconds?, at now: Milliseconds) {
        retryAt = now + (retryAfter.map { retry.wait(retryAfter: $0) } ?? retry.wait())
    }

    mutating func setFinger(_ isHeld: Bool, _ effects: inout [Effect]) {
        guard isHeld != isFingerHeld else { return }
        isFingerHeld = isHeld
        refused = nil
        if !isHeld { intervals.markStale() }
        // Its answer may lack what happened between its question and the new cursor.
        giveUpPage(&effects)
    }

    mutating func restore(_ stored: [ListInterval], _ items: [ListItem]) {
        for interval in stored {
            if isFingerHeld { intervals.insert(interval) } else { intervals.insertStale(interval) }
        }
        for item in items { set(item.id, item.key) }
        limitItems()
    }

    mutating func noteChange(_ id: String) {
        guard page != nil else { return }
        if page?.changed.count ?? 0 < settings.maximumChanges || page?.changed.contains(Exact(id)) == true {
            page?.changed.insert(Exact(id))
        } else {
            page?.isOverrun = true
        }
    }

    /// Puts an item at its new position; nil removes it.
    mutating func set(_ id: String, _ key: ListKey?) {
        if let old = keys[Exact(id)] {
            guard old != key else { return }
            items.remove(at: index(of: old))
        }
        keys[Exact(id)] = key
        guard let key else { return }
        let index = index(of: key)
        // If two items have the same key, the later one gets it.
        if index < items.count, items[index].key == key {
            keys[Exact(items[index].id)] = nil
            items[index] = ListItem(id: id, key: key)
        } else {
            items.insert(ListItem(id: id, key: key), at: index)
        }
    }

    /// The index of the first item that is not before the key.
    private func index(of key: ListKey) -> Int {
        var (low, high) = (0, items.count)
        while low < high {
            let middle = (low + high) / 2
            if items[middle].key < key { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Forgets items over the limit, and items that are in no known stretch. Costs time proportional to the number of items.
    mutating func limitItems() {
        if items.count > settings.maximumItems {
            let shown = place.map(\.from) ?? .beginning
            let first = items.firstIndex { shown <= .at(key: $0.key) } ?? items.count
            // A quarter behind the screen's back, the rest before it.
            let share = place?.direction == .backward ? settings.maximumItems * 3 / 4 : settings.maximumItems / 4
            let low = min(max(0, first - share), items.count - settings.maximumItems)
            let high = low + settings.maximumItems
            intervals.keep(
                ListInterval(
                    lower: low == 0 ? .beginning : .at(key: items[low].key),
                    upper: high == items.count ? .end : .at(key: items[high - 1].key)))
        }
        let known = items.filter { intervals.knowledge(of: $0.key) != .unknown }
        guard known.count < items.count else { return }
        items = known
        keys = Dictionary(known.map { (Exact($0.id), $0.key) }) { first, _ in first }
    }
}

extension PageRequest {
    /// Whether the answer covers an item at this key, as far as the end at `from` is concerned.
    func covers(_ key: ListKey) -> Bool { isInclusive || from != .at(key: key) }
}
