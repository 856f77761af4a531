import LiveUpdates
import PostgreSQL

/// Moves marks in PostgreSQL, on a session of its own: a person does not wait for a batch of events.
final class PostgreSQLMarker {
    /// What one attempt has found.
    private enum Attempt {
        case done(MarkOutcome)
        /// The thing has no event. A mark for it may only be stored under the exclusive lock, or its first event would miss it.
        case isWaiting
    }

    private let writer: PostgreSQLWriter
    private let channel: String
    private let sender: String

    init(_ writer: PostgreSQLWriter, channel: String, sender: String) {
        self.writer = writer
        self.channel = channel
        self.sender = sender
    }

    /// Moves a mark forward, and notifies the other nodes in the same transaction.
    func mark(_ mark: ReadMark) throws -> MarkOutcome {
        let first = try writer.transaction { try attempt(mark, alone: false, $0) }
        if case .done(let outcome) = first { return outcome }
        guard case .done(let outcome) = try writer.transaction(alone: true, { try attempt(mark, alone: true, $0) })
        else { preconditionFailure("a mark that waits alone") }
        return outcome
    }

    private func attempt(_ mark: ReadMark, alone: Bool, _ connection: Connection) throws -> Attempt {
        let floor = EventKey(keptFrom: try PostgreSQLReader.horizon(connection))
        let key = EventKey(mark.upTo)
        guard key > floor else { return .done(.unchanged) }
        if mark.mustBeStored, let outcome = try refusal(mark.upTo, key, mark.account, connection) {
            return .done(outcome)
        }
        let account = try InternedNames(connection).numbers(.accounts, [Name(owner: 0, mark.account.text)])[0]
        let person = try person(mark.person, in: account, connection)
        guard key > person.everything else { return .done(.unchanged) }
        let outcome: MarkOutcome
        if let thing = mark.thing {
            if let number = try number(of: thing, in: account, floor, connection) {
                let changes = try connection.run(
                    """
                    INSERT INTO livegate_marks AS m (person, thing, key, since) VALUES ($1, $2, $3, $4)
                    ON CONFLICT (person, thing) DO UPDATE SET key = excluded.key, since = excluded.since
                    WHERE excluded.key > m.key
                    """, [.integer(person.number), .integer(number), .bytes(key.bytes), .integer(mark.now)]
                ).changes
                outcome = changes == 1 ? .moved : .unchanged
            } else {
                guard alone else { return .isWaiting }
                outcome = try keepWaiting(thing, key, mark.now, account, person.number, connection)
            }
        } else {
            let changes = try connection.run(
                "UPDATE livegate_people SET key = $1, since = $2 WHERE id = $3 AND key < $1",
                [.bytes(key.bytes), .integer(mark.now), .integer(person.number)]
            ).changes
            outcome = changes == 1 ? .moved : .unchanged
        }
        if outcome == .moved { try notify(MarkMessage(mark), connection) }
        return .done(outcome)
    }

    /// Why an event that has to be stored is not; nil: it is.
    private func refusal(
        _ id: ArchiveID, _ key: EventKey, _ account: Account, _ connection: Connection
    ) throws -> MarkOutcome? {
        let events = try connection.run(
            """
            SELECT 1 FROM livegate_accounts a JOIN livegate_streams s ON s.account = a.id
            JOIN livegate_events e ON e.stream = s.id WHERE a.name = $1 AND e.key = $2
            """, [.text(account.text), .bytes(key.bytes)])
        guard events.count == 0 else { return nil }
        let rows = try connection.run(
            "SELECT topic, next FROM livegate_positions WHERE partition = $1 AND next IS NOT NULL",
            [.integer(Int64(id.partition))])
        for row in 0..<rows.count where ArchiveID.hash(ofTopic: rows.text(row, 0)) == id.topic {
            return rows.integer(row, 1) <= id.offset ? .behind : .unknown
        }
        return .unknown
    }

    private func person(
        _ name: String, in account: Int64, _ connection: Connection
    ) throws -> (number: Int64, everything: EventKey) {
        let values: [Parameter] = [.integer(account), .text(name)]
        for _ in 0..<2 {
            let rows = try connection.run(PostgreSQLQuery.person, values)
            if rows.count > 0 { return (rows.integer(0, 0), EventKey(stored: rows.bytes(0, 1))) }
            _ = try connection.run(
                """
                INSERT INTO livegate_people (account, name, key, since) VALUES ($1, $2, ''::bytea, 0) ON CONFLICT DO NOTHING
                """, values)
        }
        let rows = try connection.run(PostgreSQLQuery.person, values)
        guard rows.count > 0 else { throw ArchiveError.corrupt("the row of a person is missing") }
        return (rows.integer(0, 0), EventKey(stored: rows.bytes(0, 1)))
    }

    /// Of a thing that has an event within what is kept.
    private func number(
        of thing: ReadMark.Thing, in account: Int64, _ floor: EventKey, _ connection: Connection
    ) throws -> Int64? {
        let rows = try connection.run(
            """
            SELECT t.id FROM livegate_streams s JOIN livegate_things t ON t.stream = s.id
            WHERE s.account = $1 AND s.name = $2 AND t.name = $3 AND t.last > $4
            """, [.integer(account), .text(thing.entity), .text(thing.id), .bytes(floor.bytes)])
        return rows.count > 0 ? rows.integer(0, 0) : nil
    }

    /// Keeps a mark for the first event of its thing.
    private func keepWaiting(
        _ thing: ReadMark.Thing, _ key: EventKey, _ now: Int64, _ account: Int64, _ person: Int64,
        _ connection: Connection
    ) throws -> MarkOutcome {
        let names: [Parameter] = [.integer(account), .text(thing.entity), .text(thing.id), .integer(person)]
        let known = try connection.run(
            "SELECT 1 FROM livegate_waiting WHERE account = $1 AND entity = $2 AND name = $3 AND person = $4", names)
        if known.count == 0 {
            let waiting = try connection.run(
                "SELECT count(*) FROM livegate_waiting WHERE account = $1", [.integer(account)])
            guard waiting.integer(0, 0) < ArchiveWriter.maximumWaitingMarks else { return .tooMany }
        }
        let changes = try connection.run(
            """
            INSERT INTO livegate_waiting AS w (account, entity, name, person, key, since) VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (account, entity, name, person) DO UPDATE SET key = excluded.key, since = excluded.since
            WHERE excluded.key > w.key
            """, names + [.bytes(key.bytes), .integer(now)]
        ).changes
        return changes == 1 ? .moved : .unchanged
    }

    private static let notify = "SELECT pg_notify(convert_from($1::bytea, 'UTF8'), convert_from($2::bytea, 'UTF8'))"

    /// Other nodes receive it when this transaction is committed, and never without it.
    private func notify(_ message: MarkMessage, _ connection: Connection) throws {
        let payload = message.payload(from: sender)
        precondition(payload.utf8.count <= MarkMessage.maximumPayloadBytes, "names are bounded")
        _ = try connection.run(Self.notify, [.text(channel), .text(payload)])
    }
}
