import LiveUpdates
import SQLite

extension ArchiveReader {
    /// An entry of an inbox, before its unread events are counted.
    private struct Entry {
        let last: EventKey
        let event: ThinEvent
        let thing: Int64
        let mark: EventKey
    }

    func inbox(_ query: InboxQuery) throws -> InboxPage { try database.snapshot { try things(query) } }

    private func things(_ query: InboxQuery) throws -> InboxPage {
        var page = InboxPage()
        if query.wantsPositions { page.positions = try positions }
        guard let account = try number(of: query.account) else { return page }
        let (person, everything) = try person(query.person, in: account)
        let horizon = EventKey(keptFrom: try self.horizon)
        /// Everything up to this key is read.
        let read = max(horizon, everything)
        page.unreadThings = try unreadThings(of: account, person, since: read)
        let limit = min(max(1, query.limit), PageQuery.maximumLimit)
        let upper = query.before.map(EventKey.init) ?? .end
        var entries: [Entry] = []
        for stream in try streams(of: account, query.entities) {
            let values: [SQLValue] = [
                .integer(account), .integer(person), .integer(stream.number),
                .blob((query.unreadOnly ? read : horizon).bytes), .blob(upper.bytes),
                .integer(query.unreadOnly ? 0 : 1), .integer(Int64(limit + 1)),
            ]
            try merge(stream, values, limit: limit + 1, into: &entries)
        }
        page.more = entries.count > limit
        if page.more { entries.removeLast() }
        page.things = try entries.map { entry in
            let unread = try count(
                ArchiveQuery.unread,
                [
                    .integer(entry.thing), .blob(max(read, entry.mark).bytes),
                    .integer(Int64(InboxThing.maximumUnread)),
                ])
            let id = try entry.last.id(check: ArchiveID.hash(of: entry.event, account: query.account))
            return InboxThing(last: PagedEvent(id: id, event: entry.event), unread: unread)
        }
        return page
    }

    /// Puts a stream's things among those of the streams before it, at most `limit` of all.
    private func merge(_ stream: Stream, _ values: [SQLValue], limit: Int, into entries: inout [Entry]) throws {
        let others = entries
        entries.removeAll(keepingCapacity: true)
        var index = 0
        try database.each(ArchiveQuery.things, values) { statement in
            let last = EventKey(stored: statement.blob(0))
            while index < others.count, entries.count < limit, others[index].last > last {
                entries.append(others[index])
                index += 1
            }
            guard entries.count < limit else { return false }
            guard !statement.isNull(2) else { throw ArchiveError.corrupt("a thing without a type") }
            let event = ThinEvent(entity: stream.entity, id: statement.text(1), type: statement.text(2))
            entries.append(
                Entry(
                    last: last, event: event, thing: statement.integer(3), mark: EventKey(stored: statement.blob(4))))
            return true
        }
        entries += others[index...].prefix(limit - entries.count)
    }

    /// A person's number, 0 without a mark, and what the person has read of everything.
    private func person(_ name: String, in account: Int64) throws -> (number: Int64, everything: EventKey) {
        var person: (Int64, EventKey) = (0, .start)
        try database.each(ArchiveQuery.person, [.integer(account), .text(name)]) { statement in
            person = (statement.integer(0), EventKey(stored: statement.blob(1)))
            return false
        }
        return person
    }

    /// Those that changed since, without those that have a mark of their own at or behind their last event.
    private func unreadThings(of account: Int64, _ person: Int64, since read: EventKey) throws -> Int {
        var unread = 0
        for stream in try streams(of: account, nil) {
            unread += try count(ArchiveQuery.changedThings, [.integer(stream.number), .blob(read.bytes)])
        }
        guard person != 0, unread > 0 else { return unread }
        return unread - (try count(ArchiveQuery.markedThings, [.integer(person), .blob(read.bytes)]))
    }

    private func count(_ sql: String, _ values: [SQLValue]) throws -> Int {
        var count = 0
        try database.each(sql, values) { statement in
            count = Int(statement.integer(0))
            return false
        }
        return count
    }
}
