import Options
import Terminal

/// The meaning of a piece of text. Colours add nothing that the words do not express too.
enum BoardStyle: String, Sendable {
    // ECMA-48 §8.3.117.
    case strong = "1"
    case faint = "2"
    case bad = "31"
    case good = "32"
    case middling = "33"
}

/// A line of the screen: pieces of text side by side.
struct BoardLine: Equatable, Sendable {
    struct Piece: Equatable, Sendable {
        var text: String
        var style: BoardStyle?
    }

    var pieces: [Piece]

    init(_ text: String = "", _ style: BoardStyle? = nil) { pieces = [Piece(text: text, style: style)] }

    init(_ pieces: [(String, BoardStyle?)]) { self.pieces = pieces.map { Piece(text: $0.0, style: $0.1) } }

    var text: String { pieces.map(\.text).joined() }

    /// As much as fits, without characters that control a terminal. An ellipsis marks a cut.
    func fitted(_ columns: Int) -> BoardLine {
        var line = self
        for index in line.pieces.indices { line.pieces[index].text = line.pieces[index].text.printable }
        guard TextWidth.of(line.text) > columns else { return line }
        var room = columns - 1
        for index in line.pieces.indices {
            let (text, isWhole) = BoardText.prefix(line.pieces[index].text, room)
            line.pieces[index].text = text
            room -= TextWidth.of(text)
            guard !isWhole else { continue }
            line.pieces[index].text += "…"
            line.pieces.removeSubrange((index + 1)...)
            break
        }
        return line
    }

    /// The bytes that draw it.
    func drawn(isColored: Bool) -> String {
        pieces.map { piece in
            guard isColored, let style = piece.style else { return piece.text }
            return "\u{1B}[\(style.rawValue)m\(piece.text)\u{1B}[m"
        }.joined()
    }
}

enum BoardText {
    static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - TextWidth.of(text.printable)))
    }

    /// The part of a text that fits, and whether that is all of it.
    static func prefix(_ text: String, _ columns: Int) -> (text: String, isWhole: Bool) {
        var (kept, width) = ("", 0)
        for character in text {
            width += TextWidth.of(character)
            guard width <= columns else { return (kept, false) }
            kept.append(character)
        }
        return (kept, true)
    }

    /// The end of a text that fits, for text that is being written.
    static func suffix(_ text: String, _ columns: Int) -> String {
        var (kept, width): ([Character], Int) = ([], 0)
        for character in text.reversed() {
            width += TextWidth.of(character)
            guard width <= columns else { break }
            kept.append(character)
        }
        return String(kept.reversed())
    }

    /// A text in lines, cut at blanks if there are any. Its own line ends count.
    static func wrapped(_ text: String, _ columns: Int) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).flatMap { wrapped(paragraph: $0, columns) }
    }

    private static func wrapped(paragraph: Substring, _ columns: Int) -> [String] {
        var (lines, line): ([String], String) = ([], "")
        for word in paragraph.split(separator: " ") {
            var word = String(word).printable
            while TextWidth.of(word) > columns, !word.isEmpty {
                // A word that is wider than the screen is cut.
                let head = prefix(word, columns - (line.isEmpty ? 0 : TextWidth.of(line) + 1)).text
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
        return lines + [line]
    }
}
