import LiveUpdates

/// The statements that read: each is a search in an index, whose rows come in the order that is wanted.
enum ArchiveQuery {
    static let horizon = "SELECT horizon FROM archive"
    /// Rows of events.
    static let rows = "SELECT events FROM archive"
    static let positions = "SELECT topic, partition, next, log FROM positions ORDER BY topic, partition LIMIT ?"
    static let account = "SELECT id FROM accounts WHERE name = ?"
    static let streams = "SELECT id, entity FROM streams WHERE account = ? ORDER BY entity LIMIT ?"
    static let stream = "SELECT id FROM streams WHERE account = ? AND entity = ?"
    static let thing = "SELECT id FROM things WHERE stream = ? AND name = ?"
    static let gaps = "SELECT first, last FROM gaps WHERE last >= ? AND first <= ? ORDER BY last LIMIT ?"
    static let openGaps = "SELECT first, last FROM gaps WHERE last IS NULL AND first <= ? LIMIT ?"

    /// Account; stream or thing; keys, both excluded; limit.
    static func page(ofThing: Bool, isOldestFirst: Bool) -> String {
        switch (ofThing, isOldestFirst) {
        case (false, false): newest
        case (false, true): oldest
        case (true, false): newestOfThing
        case (true, true): oldestOfThing
        }
    }

    private static let newest = """
        SELECT e.key, t.name, y.name FROM events e LEFT JOIN things t ON t.id = e.thing
        LEFT JOIN types y ON y.account = ? AND y.number = e.type
        WHERE e.stream = ? AND e.key > ? AND e.key < ? ORDER BY e.key DESC LIMIT ?
        """
    private static let oldest = """
        SELECT e.key, t.name, y.name FROM events e LEFT JOIN things t ON t.id = e.thing
        LEFT JOIN types y ON y.account = ? AND y.number = e.type
        WHERE e.stream = ? AND e.key > ? AND e.key < ? ORDER BY e.key LIMIT ?
        """
    private static let newestOfThing = """
        SELECT h.key, t.name, y.name FROM history h LEFT JOIN things t ON t.id = h.thing
        LEFT JOIN types y ON y.account = ? AND y.number = h.type
        WHERE h.thing = ? AND h.key > ? AND h.key < ? ORDER BY h.key DESC LIMIT ?
        """
    private static let oldestOfThing = """
        SELECT h.key, t.name, y.name FROM history h LEFT JOIN things t ON t.id = h.thing
        LEFT JOIN types y ON y.account = ? AND y.number = h.type
        WHERE h.thing = ? AND h.key > ? AND h.key < ? ORDER BY h.key LIMIT ?
        """

    // MARK: - Inbox

    static let person = "SELECT id, key FROM people WHERE account = ? AND name = ?"
    /// Things of a stream that changed behind a key.
    static let changedThings = "SELECT count(*) FROM things WHERE stream = ? AND last > ?"
    /// Things behind a key, whose last event a person has read with a mark of their own.
    static let markedThings = """
        SELECT count(*) FROM marks m CROSS JOIN things t ON t.id = m.thing
        WHERE m.person = ? AND t.last > ? AND m.key >= t.last
        """
    /// Account, person, stream, keys, whether read ones too, limit.
    static let things = """
        SELECT t.last, t.name, y.name, t.id, m.key FROM things t
        LEFT JOIN types y ON y.account = ? AND y.number = t.type LEFT JOIN marks m ON m.person = ? AND m.thing = t.id
        WHERE t.stream = ? AND t.last > ? AND t.last < ? AND (? OR m.key IS NULL OR m.key < t.last)
        ORDER BY t.last DESC LIMIT ?
        """
    static let unread = "SELECT count(*) FROM (SELECT 1 FROM history WHERE thing = ? AND key > ? LIMIT ?)"

    /// All of them, so that a test can check each plan.
    static let all = [
        horizon, rows, positions, account, streams, stream, thing, gaps, openGaps, newest, oldest, newestOfThing,
        oldestOfThing,
        person, changedThings, markedThings, things, unread,
    ]
}
