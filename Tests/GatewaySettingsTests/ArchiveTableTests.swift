import Testing

@testable import GatewaySettings

struct ArchiveTableTests {
    static let stores: [(text: String, store: ArchiveStoreSetting?)] = [
        ("", .off), ("archive: {store: ''}", .off),
        ("archive: {store: 'sqlite:a.db'}", .sqlite(path: "/etc/livegate/a.db")),
        ("archive: {store: 'sqlite:/var/a.db'}", .sqlite(path: "/var/a.db")),
        ("archive: {store: 'postgresql://me@db/live'}", .postgresql(uri: "postgresql://me@db/live")),
        (
            "archive: {store: 'postgres://%2Frun%2Fpg/live?sslmode=disable&port=5'}",
            .postgresql(uri: "postgres://%2Frun%2Fpg/live?sslmode=disable&port=5")
        ),
        ("archive: {store: 'postgresql://[::1]:5432/live'}", .postgresql(uri: "postgresql://[::1]:5432/live")),
        ("archive: {store: 'sqlite:'}", nil), ("archive: {store: 'sqlite::memory:'}", nil),
        ("archive: {store: 'sqlite:///a.db'}", nil), ("archive: {store: 'sqlite:file:a.db'}", nil),
        ("archive: {store: 'sqlite:a/'}", nil), ("archive: {store: a.db}", nil), ("archive: {store: [a]}", nil),
        ("archive: {store: \"sqlite:a\\nb\"}", nil), ("archive: {store: 'mysql://db/live'}", nil),
        ("archive: {store: 'postgresql://db?dbname=live'}", .postgresql(uri: "postgresql://db?dbname=live")),
        ("archive: {store: 'postgresql:///live'}", .postgresql(uri: "postgresql:///live")),
        ("archive: {store: 'postgresql://'}", nil), ("archive: {store: 'postgresql://me@db'}", nil),
        ("archive: {store: 'postgresql://me@db/'}", nil), ("archive: {store: 'postgresql://db?dbname='}", nil),
        ("archive: {store: 'postgresql://me:secret@db/live'}", nil),
        ("archive: {store: 'postgresql://db/live?user=me&password=secret'}", nil),
    ]

    @Test(arguments: stores.indices) func `a store is a file, a URI of libpq without a password, or none`(row: Int) {
        let (text, store) = Self.stores[row]
        let outcome = load(text)
        #expect(outcome.settings?.archive.store == store)
        #expect(!outcome.lines.joined().contains("secret"), "\(outcome.lines)")
        if store == nil { #expect(outcome.lines.count == 1 && outcome.lines[0].contains("archive.store: ")) }
    }

    @Test func `files of single nodes are warned of, and what an archive would bring back is refused`() {
        let alone = """
            gate.yaml:1: warning: archive.store: is a file of this node alone: several nodes each keep their own, and \
            people's read marks differ between them. Use PostgreSQL for more than one node
            """
        let shorter = """
            must not be shorter than archive.keep, 90d: a recreated archive would restore accounts that were \
            erased more than 1d ago. Without this setting it is as long as archive.keep
            """
        let (file, shared) = ("archive: {store: 'sqlite:/a.db'", "archive: {store: 'postgresql://db/a'")
        let rows: [(text: String, lines: [String])] = [
            ("\(file)}", [alone]), ("\(shared)}", []), ("archive: {keep: 7d}", []),
            // Nobody said how long: as long as the archive.
            ("{\(shared)}, control: {topic: c}}", []), ("{\(shared), keep: 365d}, control: {topic: c}}", []),
            ("{\(shared)}, control: {topic: c, retention: 1d}}", ["gate.yaml:1: control.retention: \(shorter)"]),
            ("{\(shared)}, control: {topic: c, retention: 90d}}", []),
            ("{\(shared), keep: 1d}, control: {topic: c}}", []),
            ("{\(shared)}, control: {retention: 1h}}", []),
            ("control: {topic: c}", []),
            ("{archive: {keep: 7d}, control: {topic: c}}", []),
            ("\(shared), password_file: p}", []),
            (
                "archive: {password_file: p}",
                ["gate.yaml:1: archive.password_file: is of no use without a PostgreSQL in archive.store"]
            ),
            (
                "\(file), password_file: p}",
                [
                    "gate.yaml:1: archive.password_file: is of no use without a PostgreSQL in archive.store", alone,
                ]
            ),
            (
                "archive: {keep: 366d}",
                ["gate.yaml:1: archive.keep: '366d' is not a duration from 1s to 365d (as 250ms, 30s, 5m, 24h, 7d)"]
            ),
        ]
        for (text, lines) in rows { #expect(load(text).lines.sorted() == lines.sorted(), "\(text)") }
    }

    @Test func `a control topic whose retention nobody said follows the archive`() {
        let shared = "archive: {store: 'postgresql://db/a'"
        let rows: [(text: String, days: Int)] = [
            ("control: {topic: c}", 1), ("{\(shared)}, control: {topic: c}}", 90),
            ("{\(shared), keep: 30d}, control: {topic: c}}", 30), ("{\(shared), keep: 1h}, control: {topic: c}}", 1),
            ("{archive: {keep: 30d}, control: {topic: c}}", 1),
            ("{\(shared)}, control: {topic: c, retention: 100d}}", 100),
        ]
        for (text, days) in rows {
            #expect(load(text).settings?.control.retention == .seconds(days * 86_400), "\(text)")
        }
    }
}
