import LiveClient
import Terminal

/// Draws a board: exactly the given number of lines, none wider than the terminal.
enum BoardScreen {
    /// The lines around the list: the head, two rules, a message, the keys.
    private static let frameLines = 5
    /// Below this width, a status is shown as one letter.
    private static let narrowColumns = 60

    /// - Parameter clock: formats the local time of day.
    static func lines(_ board: Board, columns: Int, rows: Int, clock: (Milliseconds) -> String) -> [BoardLine] {
        let (columns, rows) = (max(columns, 1), max(rows, 1))
        let room = room(rows)
        let rule = BoardLine(String(repeating: "-", count: columns), .faint)
        let listed = board.rows
        let body = board.opened.map { details(board, $0, columns) } ?? list(board, listed, columns, room)
        let first = board.opened == nil ? 0 : min(board.scroll, max(0, body.count - room))
        var shown = Array(body.dropFirst(first).prefix(room))
        shown += Array(repeating: BoardLine(), count: room - shown.count)
        if room != rows {
            let lower = board.opened == nil ? scrollLine(board, listed, columns, room) : rule
            shown = [head(board, columns, clock), rule] + shown + [lower, message(board, columns), keys(board)]
        }
        return shown.map { $0.fitted(columns) }
    }

    /// The lines inside the frame. If there are too few lines for both, there is no frame.
    static func room(_ rows: Int) -> Int { rows > frameLines ? rows - frameLines : max(rows, 1) }

    /// The largest scroll position, at which the last line of the details is shown.
    static func maximumScroll(_ board: Board, columns: Int, rows: Int) -> Int {
        guard let opened = board.opened else { return 0 }
        return max(0, details(board, opened, max(columns, 1)).count - room(rows))
    }

    /// How many incidents from the list's beginning are needed: those down to the last line, and one more to move to.
    static func wantedIncidents(_ board: Board, rows: Int) -> Int {
        let index = board.rows.firstIndex { $0.incident.id == board.selected } ?? 0
        return max(index + 1, room(rows)) + 1
    }

    // MARK: - The frame

    private static func head(_ board: Board, _ columns: Int, _ clock: (Milliseconds) -> String) -> BoardLine {
        let sign = board.sign
        let asOf = sign.isOld && board.isKnown ? sign.asOf : nil
        let title = "Incidents of \(board.account)" + (asOf.map { " (old state of \(clock($0)))" } ?? "")
        let style: BoardStyle = sign.isOld ? .bad : .good
        let gap = columns - TextWidth.of(title.printable) - TextWidth.of(sign.words.printable)
        guard gap > 0 else { return BoardLine(sign.words, style) }
        return BoardLine([(title, .strong), (String(repeating: " ", count: gap), nil), (sign.words, style)])
    }

    /// The lower rule, with the part of the list that is shown above it.
    private static func scrollLine(_ board: Board, _ rows: [Board.Row], _ columns: Int, _ room: Int) -> BoardLine {
        guard !rows.isEmpty else { return BoardLine(String(repeating: "-", count: columns), .faint) }
        let first = firstShown(board, rows, room)
        let text = "-- \(first + 1) to \(min(first + room, rows.count)) of \(rows.count)\(board.hasMore ? "+" : "") "
        return BoardLine(text + String(repeating: "-", count: max(0, columns - text.count)), .faint)
    }

    private static func message(_ board: Board, _ columns: Int) -> BoardLine {
        if let note = board.note {
            let prompt = "Note: "
            return BoardLine(prompt + BoardText.suffix(note, columns - prompt.count - 1) + "_")
        }
        if !board.message.isEmpty { return BoardLine(board.message, .strong) }
        var parts: [String] = []
        if let advice = board.advice { parts.append(advice) }
        if let error = board.storeError { parts.append("The file cannot be used now: \(error).") }
        if !board.pending.isEmpty {
            parts.append("\(board.pending.count) of your changes not sent yet (*).")
        }
        if board.opened == nil, board.list?.failures ?? 0 > 0 {
            parts.append("The list cannot be loaded now; it is tried again.")
        }
        return BoardLine(parts.joined(separator: " "))
    }

    private static func keys(_ board: Board) -> BoardLine {
        if board.note != nil { return BoardLine("enter add  ctrl-c leave it", .faint) }
        let keys =
            board.opened == nil
            ? "up/down choose  enter details  a acknowledge  r resolve  u update  q quit"
            : "left back  up/down scroll  a acknowledge  r resolve  n note  u update  q quit"
        return BoardLine(keys, .faint)
    }

    // MARK: - The list

    private static func firstShown(_ board: Board, _ rows: [Board.Row], _ room: Int) -> Int {
        let index = rows.firstIndex { $0.incident.id == board.selected } ?? 0
        return max(0, index - room + 1)
    }

    /// The part of the list that contains the selected incident.
    private static func list(_ board: Board, _ rows: [Board.Row], _ columns: Int, _ room: Int) -> [BoardLine] {
        guard !rows.isEmpty else {
            switch board.emptiness {
            case .known?: return [BoardLine("There are no incidents.")]
            case .knownStale?: return [BoardLine("There were no incidents; it may be old.", .faint)]
            case .unknown?, nil: return [BoardLine("Nothing is known yet.")]
            }
        }
        return rows.dropFirst(firstShown(board, rows, room)).prefix(room).map { row in
            line(row, isChosen: row.incident.id == board.selected, columns)
        }
    }

    private static func line(_ row: Board.Row, isChosen: Bool, _ columns: Int) -> BoardLine {
        let incident = row.incident
        let isNarrow = columns < narrowColumns
        let mark = row.isPending ? "*" : row.isOld ? "~" : ""
        let status = isNarrow ? row.status.prefix(1) + mark : row.status + mark
        let urgency = isNarrow ? "" : BoardText.padded(incident.urgency, 4) + " "
        let plain: BoardStyle? = row.isOld ? .faint : isChosen ? .strong : nil
        return BoardLine([
            ((isChosen ? "> " : "  ") + BoardText.padded(incident.id, 8) + " ", plain),
            (BoardText.padded(String(status), isNarrow ? 2 : 13) + " ", row.isOld ? .faint : style(of: row.status)),
            (urgency + incident.title, plain),
        ])
    }

    private static func style(of status: String) -> BoardStyle? {
        switch status {
        case "triggered": .bad
        case "acknowledged": .middling
        case "resolved": .good
        default: nil
        }
    }

    // MARK: - Details

    private static func details(_ board: Board, _ id: String, _ columns: Int) -> [BoardLine] {
        let details = board.details
        switch details?.absence {
        case .gone?: return [BoardLine("\(id) is gone.", .bad)]
        case .notOurs?: return [BoardLine("\(id) may not be seen by you any more.", .bad)]
        case nil: break
        }
        let failed = details?.failure.map { "It cannot be loaded now: \(explanation($0))." }
        guard let row = board.openedRow else { return [BoardLine(failed ?? "\(id) is not known yet.")] }
        let incident = row.incident
        let facts = [
            incident.id, row.status + (row.isPending ? "*" : ""), "urgency \(incident.urgency)", incident.priority,
            incident.assignee.map { "assigned to \($0)" },
        ].compactMap { $0 }.joined(separator: ", ")
        func lines(_ text: String, _ style: BoardStyle? = nil) -> [BoardLine] {
            BoardText.wrapped(text, columns).map { BoardLine($0, style) }
        }
        var body = lines(incident.title, .strong) + lines(facts, style(of: row.status))
        if let failed { body += lines(failed, .bad) }
        if row.isOld { body += lines("This may be old.", .faint) }
        if row.isPending { body += lines("Your change is not sent yet (*).") }
        body.append(BoardLine())
        guard let notes = incident.notes else { return body + lines("Notes are being fetched.", .faint) }
        if notes.isEmpty { body += lines("No notes.", .faint) }
        for note in notes { body += lines("\(note.author): \(note.content)") }
        return body
    }

    private static func explanation(_ failure: RequestFailure) -> String {
        switch failure {
        case .retry: "it is tried again"
        case .unauthorized: "the token is refused"
        case .rejected(let status): "status \(status)"
        case .unreadable: "an answer that cannot be read"
        }
    }
}
