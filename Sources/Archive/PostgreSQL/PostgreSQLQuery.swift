/// The statements that read an archive in PostgreSQL: each is a search in an index; what is sorted is bounded by its limits.
enum PostgreSQLQuery {
    static let horizon = "SELECT horizon FROM livegate_archive"
    static let positions = """
        SELECT topic, partition, next, log FROM livegate_positions WHERE next IS NOT NULL ORDER BY topic, partition LIMIT $1
        """
    static let account = "SELECT id FROM livegate_accounts WHERE name = $1"
    static let gaps = """
        SELECT first, last FROM livegate_gaps WHERE last >= $1 AND first <= $2 ORDER BY last LIMIT $3
        """
    static let openGaps = "SELECT first, last FROM livegate_gaps WHERE last IS NULL AND first <= $1 LIMIT $2"

    // MARK: - Pages

    /// Account, entities or null, keys, both excluded, limit; and the thing's name.
    static func page(ofThing: Bool, isOldestFirst: Bool) -> String {
        switch (ofThing, isOldestFirst) {
        case (false, false): newest
        case (false, true): oldest
        case (true, false): newestOfThing
        case (true, true): oldestOfThing
        }
    }

    private static let newest = makePage("", owner: "e.stream = s.id", order: "DESC")
    private static let oldest = makePage("", owner: "e.stream = s.id", order: "ASC")
    private static let things = "JOIN livegate_things h ON h.stream = s.id AND h.name = $6"
    private static let newestOfThing = makePage(things, owner: "e.thing = h.id", order: "DESC")
    private static let oldestOfThing = makePage(things, owner: "e.thing = h.id", order: "ASC")

    private static func makePage(_ join: String, owner: String, order: String) -> String {
        """
        SELECT q.key, q.entity, t.name, y.name FROM (
        SELECT e.key, e.thing, e.type, s.name AS entity FROM livegate_streams s \(join)
        CROSS JOIN LATERAL (SELECT e.key, e.thing, e.type FROM livegate_events e
        WHERE \(owner) AND e.key > $3 AND e.key < $4 ORDER BY e.key \(order) LIMIT $5) e
        WHERE s.account = $1 AND ($2::bytea[] IS NULL OR s.name = ANY($2::bytea[])) ORDER BY e.key \(order) LIMIT $5) q
        LEFT JOIN livegate_things t ON t.id = q.thing LEFT JOIN livegate_types y ON y.id = q.type ORDER BY q.key \(order)
        """
    }

    // MARK: - Inbox

    static let person = "SELECT id, key FROM livegate_people WHERE account = $1 AND name = $2"
    /// Account, key, person: things that changed behind the key, without those whose last event the person has read with a
    /// mark of their own.
    static let unreadThings = """
        SELECT (SELECT coalesce(sum(c.n), 0)::bigint FROM livegate_streams s CROSS JOIN LATERAL
        (SELECT count(*) AS n FROM livegate_things t WHERE t.stream = s.id AND t.last > $2) c WHERE s.account = $1)
        - (SELECT count(*) FROM livegate_marks m JOIN livegate_things t ON t.id = m.thing
        WHERE m.person = $3 AND t.last > $2 AND m.key >= t.last)
        """
    /// Account, person, entities or null, keys, both excluded, whether read ones too, limit; up to where the person has read,
    /// and where counting ends.
    static let inbox = """
        SELECT q.last, q.entity, q.name, y.name, u.unread FROM (
        SELECT t.id, t.last, t.name, t.type, t.mark, s.name AS entity FROM livegate_streams s CROSS JOIN LATERAL (
        SELECT t.id, t.last, t.name, t.type, m.key AS mark FROM livegate_things t
        LEFT JOIN livegate_marks m ON m.person = $2 AND m.thing = t.id
        WHERE t.stream = s.id AND t.last > $4 AND t.last < $5 AND ($6 OR m.key IS NULL OR m.key < t.last)
        ORDER BY t.last DESC LIMIT $7) t
        WHERE s.account = $1 AND ($3::bytea[] IS NULL OR s.name = ANY($3::bytea[])) ORDER BY t.last DESC LIMIT $7) q
        LEFT JOIN livegate_types y ON y.id = q.type CROSS JOIN LATERAL (
        SELECT count(*) AS unread FROM (SELECT 1 FROM livegate_events e
        WHERE e.thing = q.id AND e.key > greatest($8::bytea, q.mark) LIMIT $9) c) u ORDER BY q.last DESC
        """

    // MARK: - Marks that were moved

    static let clock = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
    /// Moment, limit, and behind which row of that moment. Columns: moment, account, person, entity and id or nulls, key, and
    /// what distinguishes rows of one moment. For marks, for waiting marks, for marks of everything.
    static let movedMarks = [
        """
        SELECT m.since, a.name, p.name, s.name, t.name, m.key, m.person, m.thing FROM livegate_marks m
        JOIN livegate_people p ON p.id = m.person JOIN livegate_accounts a ON a.id = p.account
        JOIN livegate_things t ON t.id = m.thing JOIN livegate_streams s ON s.id = t.stream
        WHERE m.since >= $1 AND (m.since > $1 OR (m.person, m.thing) > ($3, $4))
        ORDER BY m.since, m.person, m.thing LIMIT $2
        """,
        """
        SELECT w.since, a.name, p.name, w.entity, w.name, w.key, w.person, w.entity, w.name FROM livegate_waiting w
        JOIN livegate_people p ON p.id = w.person JOIN livegate_accounts a ON a.id = w.account
        WHERE w.since >= $1 AND (w.since > $1 OR (w.person, w.entity, w.name) > ($3, $4, $5))
        ORDER BY w.since, w.person, w.entity, w.name LIMIT $2
        """,
        """
        SELECT p.since, a.name, p.name, null::bytea, null::bytea, p.key, p.id FROM livegate_people p
        JOIN livegate_accounts a ON a.id = p.account WHERE p.since >= $1 AND (p.since > $1 OR p.id > $3)
        AND p.key > ''::bytea ORDER BY p.since, p.id LIMIT $2
        """,
    ]

    /// All of them, so that a test can check each plan.
    static let all =
        [
            horizon, positions, account, gaps, openGaps, newest, oldest, newestOfThing, oldestOfThing, person,
            unreadThings,
            inbox,
        ] + movedMarks
}
