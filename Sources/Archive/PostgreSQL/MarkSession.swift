import LiveUpdates
import PostgreSQL

/// A session that listens for marks, and reads what it may have missed.
///
/// A connection that receives nothing may be gone without notice, so it sends a query now and then.
final class MarkSession {
    static let askMilliseconds: UInt64 = 5_000
    /// Marks have the time of the node that made them. It may differ from the server's by this much, delays included.
    static let marginMilliseconds: Int64 = 60_000
    /// The rows of one statement, whose time is limited by the session.
    static let rowsOfStep = 1_000

    private let session: Session
    private let channel: String
    private let askMilliseconds: UInt64
    private let rowsOfStep: Int
    /// Monotonic, in ms.
    private var askedAt: UInt64 = 0
    /// The session's connection that sent the last query.
    private var connections = 0
    /// The server's time at its last answer; nil: it never answered, and no mark can be missed.
    private var receivedAt: Int64?
    private var missed = MissedMarks()

    init(_ session: Session, channel: String, askMilliseconds: UInt64, rowsOfStep: Int = rowsOfStep) {
        self.session = session
        self.channel = channel
        self.askMilliseconds = askMilliseconds
        self.rowsOfStep = rowsOfStep
    }

    /// Waits for messages for a moment. Missed marks are read in steps, one in each call. What was read is returned before
    /// anything else can fail, and the next call goes on behind it, on any connection.
    func wait() throws -> [MarkMessage] {
        try session.run { connection in
            let isNew = session.connections != connections
            if isNew || Connection.now >= askedAt + askMilliseconds {
                let now = try connection.run(PostgreSQLQuery.clock).integer(0, 0)
                // Before missed marks are read: a mark that arrives during that is received twice, and skipped once.
                try connection.command("LISTEN \(channel)")
                if isNew, let receivedAt { missed.add(since: receivedAt - Self.marginMilliseconds) }
                (askedAt, connections, receivedAt) = (Connection.now, session.connections, now)
            }
            guard let step = missed.next else {
                return try connection.notifications(
                    waitingMilliseconds: min(MarkListener.waitMilliseconds, askMilliseconds)
                ).compactMap { MarkMessage.read($0.payload) }
            }
            return try read(step, connection)
        }
    }

    private func read(_ step: MissedMarks.Step, _ connection: Connection) throws -> [MarkMessage] {
        let rows = try connection.run(
            PostgreSQLQuery.movedMarks[step.table],
            [.integer(step.after.since), .integer(Int64(rowsOfStep))] + step.after.row.map(\.parameter))
        var messages: [MarkMessage] = []
        for row in 0..<rows.count {
            let thing = rows.isNull(row, 3) ? nil : ReadMark.Thing(entity: rows.text(row, 3), id: rows.text(row, 4))
            // Not below the event's own id, whose last bits are in no table.
            let id = try EventKey(stored: rows.bytes(row, 5)).id(check: .max)
            messages.append(
                MarkMessage(
                    account: Account(rows.text(row, 1)), person: rows.text(row, 2), thing: thing, upTo: id))
        }
        guard rows.count >= rowsOfStep else {
            missed.end()
            return messages
        }
        let last = rows.count - 1
        let row = step.after.row.enumerated().map { index, value in
            switch value {
            case .number: MissedMarks.Value.number(rows.integer(last, 6 + index))
            case .bytes: MissedMarks.Value.bytes(rows.bytes(last, 6 + index))
            }
        }
        missed.goOn(after: MissedMarks.Position(since: rows.integer(last, 0), row: row))
        return messages
    }
}

/// How far the marks are read that were missed: decided without a connection.
///
/// Each table is read in the order of its rows' moments, and rows of one moment in the order of the columns that distinguish
/// them. So a step may end anywhere, and after a failure between two steps reading goes on behind the last one.
struct MissedMarks {
    enum Value: Equatable {
        case number(Int64)
        case bytes([UInt8])

        var parameter: Parameter {
            switch self {
            case .number(let number): .integer(number)
            case .bytes(let bytes): .bytes(bytes)
            }
        }
    }

    /// The row behind which reading goes on.
    struct Position: Equatable {
        /// In ms.
        let since: Int64
        let row: [Value]
    }

    struct Step: Equatable {
        /// As in ``PostgreSQLQuery/movedMarks``.
        let table: Int
        let after: Position
        /// Where the other tables are read from.
        let began: Int64
    }

    /// Before the first row of a moment, by table.
    static let firstRows: [[Value]] = [
        [.number(.min), .number(.min)], [.number(.min), .bytes([]), .bytes([])], [.number(.min)],
    ]

    /// What is read now.
    private var step: Step?
    /// The moment since which marks were missed again meanwhile: they are read from there when all is read.
    private var later: Int64?

    /// What is to be read next.
    var next: Step? { step }

    /// Marks since a moment may have been missed. A connection that is cut again and again does not delay what is being read.
    mutating func add(since moment: Int64) {
        guard step != nil else { return begin(moment) }
        later = min(later ?? moment, moment)
    }

    private mutating func begin(_ moment: Int64) {
        step = Step(table: 0, after: Position(since: moment, row: Self.firstRows[0]), began: moment)
    }

    mutating func goOn(after position: Position) {
        step = step.map { Step(table: $0.table, after: position, began: $0.began) }
    }

    /// All of the table is read.
    mutating func end() {
        guard let ended = step else { return }
        step = nil
        let table = ended.table + 1
        if table < Self.firstRows.count {
            step = Step(
                table: table, after: Position(since: ended.began, row: Self.firstRows[table]), began: ended.began)
        } else if let moment = later {
            later = nil
            begin(moment)
        }
    }
}
