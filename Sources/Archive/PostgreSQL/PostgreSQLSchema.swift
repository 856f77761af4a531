import LiveUpdates
import PostgreSQL

/// The tables of an archive in PostgreSQL, and the check of their owner.
///
/// As in SQLite, each text is stored once, and events are rows of numbers and ``EventKey``s. Texts are bytea. They are compared
/// by their bytes whatever the database's encoding and collation, and may hold what PostgreSQL's text may not.
enum PostgreSQLSchema {
    /// The oldest server that has all settings of a session.
    static let oldestServer = 150_000

    /// The statements from each version of the tables to the next. A released step is never changed.
    static let steps: [[String]] = [first, second, marksByTime, logs, erasuresAhead, vacuums]
    static var version: Int64 { Int64(steps.count) }

    /// The program fixes the plans, whatever the statistics: searches in indexes, in the order of the text, and no planning at
    /// each call. A peer that stops within a transaction holds locks for 5 s, one that is gone for about 2 s.
    static let session = """
        SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
        SET join_collapse_limit = 1; SET from_collapse_limit = 1; SET plan_cache_mode = force_generic_plan; SET jit = off;
        SET max_parallel_workers_per_gather = 0; SET client_min_messages = error; SET timezone = 'UTC';
        SET idle_in_transaction_session_timeout = 5000; SET client_connection_check_interval = 1000;
        SET tcp_keepalives_idle = 1; SET tcp_keepalives_interval = 1; SET tcp_keepalives_count = 2;
        SET tcp_user_timeout = 2000
        """

    private static let first = [
        "CREATE TABLE livegate_archive (server bytea NOT NULL, horizon bigint NOT NULL, to_overwrite boolean NOT NULL)",
        """
        CREATE TABLE livegate_accounts (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name bytea NOT NULL UNIQUE)
        """,
        """
        CREATE TABLE livegate_streams (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, account bigint NOT NULL,
        name bytea NOT NULL, UNIQUE (account, name))
        """,
        """
        CREATE TABLE livegate_types (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, account bigint NOT NULL,
        name bytea NOT NULL, UNIQUE (account, name))
        """,
        """
        CREATE TABLE livegate_things (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, stream bigint NOT NULL,
        name bytea NOT NULL, last bytea NOT NULL, type bigint NOT NULL, UNIQUE (stream, name))
        """,
        "CREATE INDEX livegate_things_last ON livegate_things (stream, last)",
        // The arrival is set where the event arrived before the time of its stamp.
        """
        CREATE TABLE livegate_events (stream bigint NOT NULL, thing bigint NOT NULL, type bigint NOT NULL, arrival bigint,
        key bytea NOT NULL, PRIMARY KEY (stream, key))
        """,
        "CREATE INDEX livegate_events_thing ON livegate_events (thing, key)",
        "CREATE INDEX livegate_events_early ON livegate_events (stream, arrival) WHERE arrival IS NOT NULL",
        // The key: what a person has read of everything.
        """
        CREATE TABLE livegate_people (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, account bigint NOT NULL,
        name bytea NOT NULL, key bytea NOT NULL, since bigint NOT NULL, UNIQUE (account, name))
        """,
        """
        CREATE TABLE livegate_marks (person bigint NOT NULL, thing bigint NOT NULL, key bytea NOT NULL,
        since bigint NOT NULL, PRIMARY KEY (person, thing))
        """,
        "CREATE INDEX livegate_marks_thing ON livegate_marks (thing, person)",
        // Marks of things that have no event yet.
        """
        CREATE TABLE livegate_waiting (account bigint NOT NULL, entity bytea NOT NULL, name bytea NOT NULL,
        person bigint NOT NULL, key bytea NOT NULL, since bigint NOT NULL, PRIMARY KEY (account, entity, name, person))
        """,
        // Without a next offset: nothing is stored yet, but a node is about to.
        """
        CREATE TABLE livegate_positions (topic bytea NOT NULL, partition bigint NOT NULL, next bigint, stamp bigint,
        PRIMARY KEY (topic, partition))
        """,
        """
        CREATE TABLE livegate_gaps (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, topic bytea NOT NULL,
        partition bigint NOT NULL, first bigint NOT NULL, last bigint)
        """,
        "CREATE INDEX livegate_gaps_last ON livegate_gaps (last)",
        "CREATE INDEX livegate_gaps_open ON livegate_gaps (first) WHERE last IS NULL",
        "CREATE INDEX livegate_gaps_partition ON livegate_gaps (topic, partition) WHERE last IS NULL",
    ]

    /// Which erasures are done, by a number that is made of the account's name, so that the name is not stored.
    private static let second = ["CREATE TABLE livegate_erasures (account bigint PRIMARY KEY, moment bigint NOT NULL)"]

    /// Marks that moved while a node received no messages are found by their moment.
    private static let marksByTime = ["marks", "waiting", "people"].map {
        "CREATE INDEX IF NOT EXISTS livegate_\($0)_since ON livegate_\($0) (since)"
    }
    /// Which log a position counts in (``StoredLog``); null where the version before has stored it.
    private static let logs = ["ALTER TABLE livegate_positions ADD COLUMN log bytea"]
    /// When records of erasures that were stamped ahead were first read, by the same number.
    private static let erasuresAhead = [
        """
        CREATE TABLE livegate_erasures_ahead (account bigint NOT NULL, stamp bigint NOT NULL, moment bigint NOT NULL,
        PRIMARY KEY (account, stamp))
        """
    ]

    /// How far a pass is that vacuums tables (``VacuumPass``).
    private static let vacuums = ["ALTER TABLE livegate_archive ADD COLUMN next_vacuum bigint NOT NULL DEFAULT 0"]

    /// For one statement of a step: an index of a large table needs its time.
    private static let stepMilliseconds: UInt64 = 60_000

    /// Prepares each new connection.
    static func prepare(_ connection: Connection, statementMilliseconds: Int) throws {
        guard connection.serverVersion >= oldestServer else {
            throw ArchiveError.unavailable("the server is older than PostgreSQL 15: \(connection.serverVersion)")
        }
        try connection.command(session + "; SET statement_timeout = \(statementMilliseconds)")
    }

    /// Makes the tables, or upgrades them; refuses those of another server. It writes only if something changes.
    static func open(_ connection: Connection, server: String) throws {
        if try version(connection) < version {
            connection.statementMilliseconds = stepMilliseconds
            defer { connection.statementMilliseconds = nil }
            try connection.transaction {
                try connection.command("SET LOCAL statement_timeout = \(stepMilliseconds)")
                // One node at a time does this, and the others find it done.
                _ = try connection.run("SELECT pg_advisory_xact_lock($1)", [.integer(LockKey.schema)])
                let found = try version(connection)
                if found == 0 {
                    try connection.command("CREATE TABLE livegate_schema (version bigint NOT NULL)")
                    try connection.command("INSERT INTO livegate_schema VALUES (0)")
                }
                for step in steps.dropFirst(Int(found)) { for sql in step { try connection.command(sql) } }
                try connection.command("UPDATE livegate_schema SET version = \(version)")
                if found == 0 {
                    _ = try connection.run("INSERT INTO livegate_archive VALUES ($1, -1, false)", [.text(server)])
                }
            }
        }
        let rows = try connection.run("SELECT server FROM livegate_archive")
        guard rows.count == 1 else { throw ArchiveError.corrupt("no server") }
        let text = rows.text(0, 0)
        guard text.isBytewiseEqual(to: server) else {
            throw ArchiveError.otherServer(found: text, wanted: server)
        }
    }

    /// Refuses tables of another version, and missing tables.
    static func check(_ connection: Connection) throws {
        guard try version(connection) == version else {
            throw ArchiveError.unavailable("it has no tables of this Livegate: start a node of it first")
        }
    }

    /// Reads a table under a lock: to_regclass would answer from what the session knew before it waited for another node.
    private static let isThere = """
        SELECT EXISTS (SELECT 1 FROM pg_class WHERE relname = 'livegate_schema' AND pg_table_is_visible(oid))
        """

    /// 0 where there is none.
    private static func version(_ connection: Connection) throws -> Int64 {
        guard try connection.run(isThere).bool(0, 0) else { return 0 }
        let rows = try connection.run("SELECT max(version) FROM livegate_schema")
        let found = rows.integer(0, 0)
        guard found <= version else { throw ArchiveError.otherSchema(found: found, wanted: version) }
        return found
    }
}

/// The names of advisory locks of a database. Archives of two servers in one database do not disturb each other.
struct LockKey {
    static let schema = hash("livegate schema")

    let server: String

    /// Shared while making rows that others point to, exclusive while deleting such rows.
    var structure: Int64 { Self.hash("structure \(server)") }
    var sweep: Int64 { Self.hash("sweep \(server)") }
    var erasure: Int64 { Self.hash("erasure \(server)") }
    var overwriting: Int64 { Self.hash("overwriting \(server)") }

    func partition(_ partition: ArchivePartition) -> Int64 {
        Self.hash("partition \(server) \(partition.number) \(partition.topic)")
    }

    /// FNV-1a.
    static func hash(_ text: String) -> Int64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return Int64(bitPattern: hash)
    }
}

extension ArchiveError {
    /// What one of PostgreSQL's errors means for an archive; its own stay as they are.
    init(postgreSQL error: any Error) {
        guard let error = error as? PostgreSQLError else {
            self = ArchiveError(error)
            return
        }
        self =
            switch error.state {
            case "25006": .readOnly
            case "53100": .full
            case "XX001", "XX002": .corrupt(error.message)
            default: .unavailable(error.description)
            }
    }
}
