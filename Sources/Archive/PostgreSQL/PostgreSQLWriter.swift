import LiveUpdates
import PostgreSQL

/// Writes an archive in PostgreSQL on one session, which also holds the locks of the partitions that it writes. If the session
/// is lost, its transaction ends and the locks are free at once.
///
/// It remembers nothing of the tables, since other nodes change them. Rows are found and written in sets, each in the order of
/// its key, so that two nodes never wait for each other in a circle.
final class PostgreSQLWriter {
    let session: Session
    let locks: LockKey
    /// Partitions whose locks this session holds, and on which of its connections.
    var held: (partitions: Set<ArchivePartition>, connection: Int) = ([], 0)
    var swept = SweepPosition()
    let sizes = TableSizes()

    init(_ session: Session, _ locks: LockKey) {
        self.session = session
        self.locks = locks
    }

    /// All of it or nothing. Meanwhile no row that others point to is deleted.
    func transaction<Value>(alone: Bool = false, _ body: (Connection) throws -> Value) throws -> Value {
        try session.run { connection in
            try connection.transaction {
                let lock = alone ? "pg_advisory_xact_lock" : "pg_advisory_xact_lock_shared"
                _ = try connection.run("SELECT \(lock)($1)", [.integer(locks.structure)])
                return try body(connection)
            }
        }
    }

    // MARK: - Events

    func append(_ batch: ArchiveBatch) throws -> AppendOutcome {
        try transaction { connection in
            var outcome = AppendOutcome()
            let horizon = try PostgreSQLReader.horizon(connection)
            var positions = try StoredPartitions(of: batch, horizon: horizon, connection)
            var events: [KeyedEvent] = []
            let floor = EventKey(keptFrom: horizon)
            for run in batch.runs {
                guard let start = try positions.begin(run, &outcome, connection) else {
                    outcome.repeated += run.events.count
                    continue
                }
                let topic = ArchiveID.hash(ofTopic: run.topic)
                for event in run.events {
                    let key = EventKey(
                        stamp: event.stamp, topic: topic, partition: run.partition, offset: event.offset)
                    if event.offset < start {
                        outcome.repeated += 1
                    } else if key <= floor {
                        outcome.tooOld += 1
                    } else {
                        events.append(KeyedEvent(event: event, key: key))
                    }
                }
            }
            outcome.stored = try store(events, floor, connection)
            outcome.repeated += events.count - outcome.stored
            try positions.store(connection)
            return outcome
        }
    }

    private struct KeyedEvent {
        let event: ArchivedEvent
        let key: EventKey
    }

    /// Returns how many were not there before.
    private func store(_ events: [KeyedEvent], _ floor: EventKey, _ connection: Connection) throws -> Int {
        guard !events.isEmpty else { return 0 }
        let names = InternedNames(connection, sizes)
        let accounts = try names.numbers(.accounts, events.map { Name(owner: 0, $0.event.account.text) })
        let streams = try names.numbers(
            .streams, zip(events, accounts).map { Name(owner: $1, $0.event.event.entity) })
        let types = try names.numbers(.types, zip(events, accounts).map { Name(owner: $1, $0.event.event.type) })
        let things = try names.things(
            zip(events, streams).map { Name(owner: $1, $0.event.event.id) },
            of: zip(events, accounts).map { InternedNames.Owner(account: $1, entity: $0.event.event.entity) }, floor)
        // In the order of the index that is read most.
        let order = events.indices.sorted { (streams[$0], events[$0].key) < (streams[$1], events[$1].key) }
        let rows = try connection.run(
            Self.insert,
            [
                .integers(order.map { streams[$0] }), .integers(order.map { things.numbers[$0] }),
                .integers(order.map { types[$0] }),
                .integers(order.map { Self.arrival(of: events[$0].event) }),
                .byteStrings(order.map { events[$0].key.bytes }),
            ])
        if !things.made.isEmpty {
            // These events were stored already, for a thing of another name.
            _ = try connection.run(
                "DELETE FROM livegate_things WHERE id = ANY($1) AND last = ''::bytea", [.integers(things.made)])
        }
        return Int(rows.integer(0, 0))
    }

    private static let none = Int64.max

    private static func arrival(of event: ArchivedEvent) -> Int64 {
        event.arrival < event.stamp ? event.arrival : none
    }

    /// Existing rows stay; things advance to the newest of the other rows. All things are locked by then.
    private static let insert = """
        WITH stored AS (INSERT INTO livegate_events (stream, thing, type, arrival, key)
        SELECT k.stream, k.thing, k.type, nullif(k.arrival, \(none)), k.key
        FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[])
        k(stream, thing, type, arrival, key) ON CONFLICT DO NOTHING RETURNING thing, key, type),
        newest AS (SELECT DISTINCT ON (thing) thing, key, type FROM stored ORDER BY thing, key DESC),
        moved AS (UPDATE livegate_things t SET last = n.key, type = n.type FROM newest n
        WHERE t.id = n.thing AND t.last < n.key)
        SELECT count(*) FROM stored
        """
}
