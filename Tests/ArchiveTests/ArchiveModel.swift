import LiveUpdates

@testable import Archive

/// What an archive is to hold, as lists that are searched from end to end.
struct ArchiveModel {
    struct Event {
        let account: Account
        let event: ThinEvent
        let id: ArchiveID
        let arrival: Int64

        var key: EventKey { EventKey(id) }
        var thing: Thing { Thing(account: account, entity: event.entity, id: event.id) }
    }

    struct Thing: Hashable {
        let account: Account
        let entity: String
        let id: String
    }

    struct Person: Hashable {
        let account: Account
        let name: String
    }

    /// Nil of a thing: of everything.
    struct MarkName: Hashable {
        let person: Person
        let thing: Thing?
    }

    struct Mark {
        let key: EventKey
        let since: Int64
    }

    struct Gap {
        let partition: Int32
        var from: Int64
        var to: Int64?
    }

    private(set) var events: [Event] = []
    private(set) var positions: [Int32: (next: Int64, stamp: Int64?)] = [:]
    /// What was given of each partition's log, and how often it was another one.
    private(set) var log: [Int32: [Int64: ArchivedEvent]] = [:]
    private(set) var generations: [Int32: Int64] = [:]
    /// What is let go stands in the store for a while.
    var hasLetGo: Bool { horizon > -1 }
    private var horizon: Int64 = -1
    private var marks: [MarkName: Mark] = [:]
    private var gaps: [Gap] = []

    // MARK: - What happens

    mutating func append(_ run: ArchiveBatch.Run) -> AppendOutcome {
        var outcome = AppendOutcome()
        let stored = positions[run.partition]
        var start = run.from
        let isOtherLog = run.continuation == .otherLog(since: nil)
        if isOtherLog {
            log[run.partition] = [:]
            generations[run.partition, default: 0] += 1
        }
        if let stored {
            guard isOtherLog || run.next > stored.next else {
                outcome.repeated = run.events.count
                return outcome
            }
            let isGap = isOtherLog || run.from > stored.next
            if isGap {
                outcome.gaps = 1
                if !gaps.contains(where: { $0.partition == run.partition && $0.to == nil }) {
                    gaps.append(Gap(partition: run.partition, from: stored.stamp ?? horizon, to: nil))
                }
            }
            if let stamps = run.stamps {
                for index in gaps.indices where gaps[index].partition == run.partition && gaps[index].to == nil {
                    gaps[index].to = max(gaps[index].from, stamps.first)
                    gaps[index].from = min(gaps[index].from, stamps.first)
                }
            }
            if !isOtherLog { start = max(start, stored.next) }
        }
        for event in run.events {
            log[run.partition, default: [:]][event.offset] = event
            if event.offset < start {
                outcome.repeated += 1
            } else if hasLetGo, event.stamp < horizon {
                outcome.tooOld += 1
            } else {
                outcome.stored += 1
                let id = ArchiveID(
                    stamp: event.stamp, topic: ArchiveID.hash(ofTopic: run.topic), partition: run.partition,
                    offset: event.offset, check: ArchiveID.hash(of: event.event, account: event.account))
                events.append(Event(account: event.account, event: event.event, id: id, arrival: event.arrival))
            }
        }
        positions[run.partition] = (run.next, run.stamps?.last ?? stored?.stamp)
        return outcome
    }

    mutating func keep(from stamp: Int64) {
        let horizon = max(horizon, stamp)
        self.horizon = horizon
        remove { $0.id.stamp < horizon }
    }

    mutating func erase(_ account: Account, until moment: Int64) -> Int {
        let count = events.count
        remove { $0.account == account && min($0.id.stamp, $0.arrival) < moment }
        marks = marks.filter { name, mark in
            name.person.account != account || mark.since >= moment && mark.key.stamp ?? 0 >= moment
        }
        return count - events.count
    }

    /// Marks go with their thing's last event.
    private mutating func remove(_ isGone: (Event) -> Bool) {
        let before = Set(events.map(\.thing))
        events.removeAll(where: isGone)
        let gone = before.subtracting(events.map(\.thing))
        marks = marks.filter { name, _ in name.thing.map { !gone.contains($0) } ?? true }
    }

    mutating func mark(_ mark: ReadMark) -> MarkOutcome {
        let key = EventKey(mark.upTo)
        let person = Person(account: mark.account, name: mark.person)
        let everything = MarkName(person: person, thing: nil)
        let name = MarkName(
            person: person,
            thing: mark.thing.map { Thing(account: mark.account, entity: $0.entity, id: $0.id) })
        guard !hasLetGo || mark.upTo.stamp >= horizon, key > marks[everything]?.key ?? .start,
            key > marks[name]?.key ?? .start
        else {
            return .unchanged
        }
        marks[name] = Mark(key: key, since: mark.now)
        return .moved
    }

    // MARK: - Answers

    private var storedPositions: [StoredPosition] {
        positions.sorted { $0.key < $1.key }.map { StoredPosition(topic: "t", partition: $0.key, next: $0.value.next) }
    }

    func page(_ query: PageQuery) -> EventPage {
        var found = events.filter { event in
            event.account == query.account && query.before.map { event.key < EventKey($0) } ?? true
                && query.after.map { event.key > EventKey($0) } ?? true
                && query.from.map { event.id.stamp >= $0 } ?? true
                && query.to.map { event.id.stamp < $0 } ?? true && query.entities?.passes(event.event.entity) ?? true
                && query.thing.map { event.event.id == $0 } ?? true
        }
        found.sort { query.isOldestFirst ? $0.key < $1.key : $1.key < $0.key }
        var page = EventPage()
        page.more = found.count > query.limit
        page.events = found.prefix(query.limit).map { PagedEvent(id: $0.id, event: $0.event) }
        // What the page reaches over: up to its last event, or to its bound.
        var oldest = max(horizon, query.from ?? horizon, query.after?.stamp ?? horizon)
        var newest = min(query.to.map { $0 - 1 } ?? .max, query.before?.stamp ?? .max)
        if page.more, let last = page.events.last?.id.stamp {
            if query.isOldestFirst { newest = last } else { oldest = last }
        }
        page.gaps = ArchiveGap.merged(
            gaps.filter { $0.from <= newest && $0.to ?? .max >= oldest }.map { ArchiveGap(from: $0.from, to: $0.to) })
        if query.wantsPositions { page.positions = storedPositions }
        return page
    }

    func inbox(_ query: InboxQuery) -> InboxPage {
        let person = Person(account: query.account, name: query.person)
        let everything = marks[MarkName(person: person, thing: nil)]?.key ?? .start
        var things: [(last: Event, unread: Int)] = []
        for (thing, events) in Dictionary(grouping: events.filter { $0.account == query.account }, by: \.thing) {
            let read = max(everything, marks[MarkName(person: person, thing: thing)]?.key ?? .start)
            guard let last = events.max(by: { $0.key < $1.key }) else { continue }
            things.append((last, min(999, events.count { $0.key > read })))
        }
        var page = InboxPage()
        page.unreadThings = things.count { $0.unread > 0 }
        things.removeAll { thing in
            query.entities.map { !$0.passes(thing.last.event.entity) } ?? false
                || query.before.map { thing.last.key >= EventKey($0) } ?? false || query.unreadOnly && thing.unread == 0
        }
        things.sort { $1.last.key < $0.last.key }
        page.more = things.count > query.limit
        page.things = things.prefix(query.limit).map {
            InboxThing(last: PagedEvent(id: $0.last.id, event: $0.last.event), unread: $0.unread)
        }
        if query.wantsPositions { page.positions = storedPositions }
        return page
    }
}
