import LiveUpdates
import PostgreSQL

/// A session that listens for marks, and knows what it may have missed.
///
/// A connection on which nothing comes may be gone without a word, so it is asked something now and then.
final class MarkSession {
    static let askMilliseconds: UInt64 = 5_000
    /// Marks have the time of the node that made them: what it may differ from the server's, and be late.
    static let marginMilliseconds: Int64 = 60_000
    /// Read in one statement.
    static let rowsOfStep = 5_000

    private let session: Session
    private let channel: String
    private let askMilliseconds: UInt64
    /// Monotonic, in ms.
    private var askedAt: UInt64 = 0
    /// Which of the session's connections has been asked.
    private var connections = 0
    /// The server's time when it answered last; nil: it never did, and nobody has missed anything.
    private var heardAt: Int64?

    init(_ session: Session, channel: String, askMilliseconds: UInt64) {
        self.session = session
        self.channel = channel
        self.askMilliseconds = askMilliseconds
    }

    /// Waits for messages for a moment. Those that were missed have no sender.
    func wait() throws -> [(sender: String, message: MarkMessage)] {
        try session.run { connection in
            var messages: [(String, MarkMessage)] = []
            let isNew = session.connections != connections
            if isNew || Connection.now >= askedAt + askMilliseconds {
                let now = try connection.run(PostgreSQLQuery.clock).integer(0, 0)
                // Before anything is missed: what comes while the tables are read is told twice, and passed over.
                try connection.command("LISTEN \(channel)")
                if isNew, let heardAt {
                    for sql in PostgreSQLQuery.movedMarks {
                        messages += try Self.moved(sql, since: heardAt - Self.marginMilliseconds, connection)
                    }
                }
                (askedAt, connections, heardAt) = (Connection.now, session.connections, now)
            }
            // What was missed is handed on before anything else can fail: it is not read again.
            if !messages.isEmpty { return messages }
            return try connection.notifications(
                waitingMilliseconds: min(MarkListener.waitMilliseconds, askMilliseconds)
            ).compactMap { MarkMessage.read($0.payload).map { ($0.sender, $0.message) } }
        }
    }

    private static func moved(
        _ sql: String, since: Int64, _ connection: Connection
    ) throws -> [(String, MarkMessage)] {
        var messages: [(String, MarkMessage)] = []
        var since = since
        while true {
            let rows = try connection.run(sql, [.integer(since), .integer(Int64(rowsOfStep))])
            for row in 0..<rows.count {
                let thing =
                    rows.isNull(row, 3) ? nil : ReadMark.Thing(entity: rows.text(row, 3), id: rows.text(row, 4))
                // Not below the event's own id, whose last bits no table has.
                let id = try EventKey(stored: rows.bytes(row, 5)).id(check: .max)
                messages.append(
                    (
                        "",
                        MarkMessage(
                            account: Account(rows.text(row, 1)), person: rows.text(row, 2), thing: thing, upTo: id)
                    ))
            }
            guard rows.count == rowsOfStep else { return messages }
            let last = rows.integer(rows.count - 1, 0)
            since = last > since ? last : since + 1
        }
    }
}
