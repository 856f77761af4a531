import LiveState
import Options
import Terminal

/// Draws a board: exactly so many lines, none wider than the terminal, without colours.
enum BoardScreen {
    /// What frames the list: the head, two rules, a message, the keys.
    private static let frameLines = 5

    static func lines(_ board: Board, columns: Int, rows: Int, now: Milliseconds) -> [String] {
        let (columns, rows) = (max(columns, 1), max(rows, 1))
        let rule = String(repeating: "-", count: columns)
        let room = room(rows)
        let body = board.opened.map { details(board, $0, columns) } ?? list(board, columns, room)
        let first = board.opened == nil ? 0 : min(board.scroll, max(0, body.count - room))
        var shown = Array(body.dropFirst(first).prefix(room))
        shown += Array(repeating: "", count: room - shown.count)
        let keys =
            board.opened == nil
            ? "up/down choose  enter details  a acknowledge  r resolve  q quit"
            : "left back  up/down scroll  a acknowledge  r resolve  q quit"
        let lines = room == rows ? shown : [head(board, columns, now), rule] + shown + [rule, board.message, keys]
        return lines.map { fit($0, columns) }
    }

    /// The lines between the frame; where they are too few for both there is no frame.
    private static func room(_ rows: Int) -> Int { rows > frameLines ? rows - frameLines : rows }

    /// The first line that details can begin with, so that the last one is shown.
    static func maximumScroll(_ board: Board, columns: Int, rows: Int) -> Int {
        guard let opened = board.opened else { return 0 }
        return max(0, details(board, opened, max(columns, 1)).count - room(max(rows, 1)))
    }

    // MARK: - Parts

    private static func head(_ board: Board, _ columns: Int, _ now: Milliseconds) -> String {
        let sign = sign(board, now)
        let title = "Incidents of \(board.account)\(board.isOld || board.ending != nil ? " (may be old)" : "")"
        let gap = columns - TextWidth.of(title.printable) - TextWidth.of(sign)
        return gap > 0 ? title + String(repeating: " ", count: gap) + sign : sign
    }

    static func sign(_ board: Board, _ now: Milliseconds) -> String {
        if let ending = board.ending { return "no more news: \(ending)" }
        return switch Freshness.sign(board.facts, at: now) {
        case nil, .connected: "connected"
        case .connecting(let since): "connecting for \(seconds(since, now))"
        case .cannotConnect(let since): "cannot connect for \(seconds(since, now))"
        case .sourceStalled: "connected, no news"
        }
    }

    private static func seconds(_ since: Milliseconds, _ now: Milliseconds) -> String {
        "\(max(0, now - since) / 1000) s"
    }

    /// So much of the list that the chosen one is in it.
    private static func list(_ board: Board, _ columns: Int, _ room: Int) -> [String] {
        guard board.isKnown else { return ["Nothing is known yet."] }
        guard !board.incidents.isEmpty else { return ["There are no incidents."] }
        let index = board.incidents.firstIndex { $0.id == board.selected } ?? 0
        let first = max(0, index - room + 1)
        return board.incidents.dropFirst(first).prefix(room).map { row($0, isChosen: $0.id == board.selected, columns) }
    }

    private static func row(_ incident: Incident, isChosen: Bool, _ columns: Int) -> String {
        let mark = isChosen ? "> " : "  "
        let isNarrow = columns < 60
        let status = isNarrow ? String(incident.status.prefix(1)) : padded(incident.status, 12)
        let urgency = isNarrow ? "" : padded(incident.urgency, 4) + " "
        return "\(mark)\(padded(incident.id, 8)) \(status) \(urgency)\(incident.title)"
    }

    private static func details(_ board: Board, _ id: String, _ columns: Int) -> [String] {
        guard let incident = board[id] else { return ["\(id) is not known yet."] }
        let facts = [
            incident.id, incident.status, "urgency \(incident.urgency)", incident.priority,
            incident.assignee.map { "assigned to \($0)" },
        ].compactMap { $0 }.joined(separator: ", ")
        var lines = wrapped(incident.title, columns) + wrapped(facts, columns) + [""]
        guard let notes = incident.notes else { return lines + ["Notes are being fetched."] }
        if notes.isEmpty { lines.append("No notes.") }
        for note in notes { lines += wrapped("\(note.author): \(note.content)", columns) }
        return lines
    }

    // MARK: - Text

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - TextWidth.of(text.printable)))
    }

    /// As much as fits; where something is left out, a full stop of three says so.
    static func fit(_ text: String, _ columns: Int) -> String {
        let text = text.printable
        guard TextWidth.of(text) > columns else { return text }
        var (kept, width) = ("", 0)
        for character in text {
            let next = TextWidth.of(character)
            guard width + next <= columns - 1 else { break }
            kept.append(character)
            width += next
        }
        return kept + "…"
    }

    /// A text in lines, cut at blanks where there are any; line ends of its own count.
    static func wrapped(_ text: String, _ columns: Int) -> [String] {
        var lines: [String] = []
        for paragraph in text.split(separator: "\n", omittingEmptySubsequences: false) {
            var line = ""
            for word in paragraph.split(separator: " ") {
                var word = String(word).printable
                while TextWidth.of(word) > columns, !word.isEmpty {
                    // A word that is wider than the screen is cut.
                    let room = columns - (line.isEmpty ? 0 : TextWidth.of(line) + 1)
                    let head = prefix(word, room)
                    if head.isEmpty {
                        lines.append(line)
                        line = ""
                        if columns < 2 { break }
                        continue
                    }
                    lines.append(line.isEmpty ? head : "\(line) \(head)")
                    line = ""
                    word = String(word.dropFirst(head.count))
                }
                if line.isEmpty {
                    line = word
                } else if TextWidth.of(line) + 1 + TextWidth.of(word) <= columns {
                    line += " \(word)"
                } else {
                    lines.append(line)
                    line = word
                }
            }
            lines.append(line)
        }
        return lines
    }

    private static func prefix(_ word: String, _ columns: Int) -> String {
        var (kept, width) = ("", 0)
        for character in word {
            width += TextWidth.of(character)
            guard width <= columns else { break }
            kept.append(character)
        }
        return kept
    }
}
