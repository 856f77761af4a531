/// The result of some keys.
package enum EditorEvent: Equatable {
    case line(String)
    case interrupt
    case endOfInput
    case clearScreen
}

/// A line that is being typed: its characters, the cursor, and the lines typed before. It uses no terminal;
/// ``rendered(columns:)`` returns the bytes that show the line.
///
/// A character is what a reader regards as one (a grapheme), so that a letter and its accents belong together.
package struct LineEditor {
    /// Lines kept for the arrow keys.
    package static let maximumHistoryLines = 500
    /// The longest line that can be typed or pasted; the rest is dropped. Longer messages come through a pipe.
    package static let maximumCharacters = 1 << 20

    package let prompt: String
    package private(set) var characters: [Character] = []
    package private(set) var cursor = 0
    private var decoder = KeyDecoder()
    private var history: [String] = []
    /// The present position in the history; its count means the line being typed.
    private var historyIndex = 0
    /// The line being typed, while an older one is shown.
    private var draft: [Character] = []
    private var killed: [Character] = []

    package init(prompt: String) { self.prompt = prompt }

    package var text: String { String(characters) }

    /// Reads the bytes of a terminal and changes the line.
    package mutating func type(_ bytes: some Sequence<UInt8>) -> [EditorEvent] {
        decoder.decode(bytes).compactMap { press($0) }
    }

    private mutating func press(_ key: Key) -> EditorEvent? {
        switch key {
        case .text(let scalar): insert(scalar)
        case .enter: return .line(finishLine())
        case .interrupt: return .interrupt
        case .endOfInput:
            if characters.isEmpty { return .endOfInput }
            remove(cursor..<min(cursor + 1, characters.count), keep: false)
        case .clearScreen: return .clearScreen
        case .backspace: remove(max(cursor - 1, 0)..<cursor, keep: false)
        case .delete: remove(cursor..<min(cursor + 1, characters.count), keep: false)
        case .left: cursor = max(cursor - 1, 0)
        case .right: cursor = min(cursor + 1, characters.count)
        case .wordLeft: cursor = wordStart
        case .wordRight: cursor = wordEnd
        case .home: cursor = 0
        case .end: cursor = characters.count
        case .killToEnd: remove(cursor..<characters.count, keep: true)
        case .killToStart: remove(0..<cursor, keep: true)
        case .killWordBack: remove(wordStart..<cursor, keep: true)
        case .killWordForward: remove(cursor..<wordEnd, keep: true)
        case .yank:
            characters.insert(contentsOf: killed, at: cursor)
            cursor += killed.count
        case .previous: show(historyIndex - 1)
        case .next: show(historyIndex + 1)
        }
        return nil
    }

    private mutating func insert(_ scalar: Unicode.Scalar) {
        guard characters.count < Self.maximumCharacters else { return }
        // A combining mark joins the character before the cursor.
        if !scalar.isASCII, cursor > 0 {
            let joined = String(characters[cursor - 1]) + String(scalar)
            if joined.count == 1, joined.unicodeScalars.count <= 32 {
                characters[cursor - 1] = joined.first ?? characters[cursor - 1]
                return
            }
        }
        characters.insert(Character(scalar), at: cursor)
        cursor += 1
    }

    private mutating func remove(_ range: Range<Int>, keep: Bool) {
        guard !range.isEmpty else { return }
        if keep { killed = Array(characters[range]) }
        characters.removeSubrange(range)
        cursor = range.lowerBound
    }

    private var wordStart: Int {
        var index = cursor
        while index > 0, !Self.isWord(characters[index - 1]) { index -= 1 }
        while index > 0, Self.isWord(characters[index - 1]) { index -= 1 }
        return index
    }

    private var wordEnd: Int {
        var index = cursor
        while index < characters.count, !Self.isWord(characters[index]) { index += 1 }
        while index < characters.count, Self.isWord(characters[index]) { index += 1 }
        return index
    }

    private static func isWord(_ character: Character) -> Bool { character.isLetter || character.isNumber }

    private mutating func finishLine() -> String {
        let line = text
        if !line.isEmpty, history.last.map({ !$0.utf8.elementsEqual(line.utf8) }) ?? true {
            history.append(line)
            if history.count > Self.maximumHistoryLines { history.removeFirst() }
        }
        historyIndex = history.count
        draft = []
        characters = []
        cursor = 0
        return line
    }

    private mutating func show(_ index: Int) {
        guard index >= 0, index <= history.count, index != historyIndex else { return }
        if historyIndex == history.count { draft = characters }
        historyIndex = index
        characters = index == history.count ? draft : Array(history[index])
        cursor = characters.count
    }
}

extension LineEditor {
    /// The bytes that draw prompt and line over the row of the cursor. A line longer than the row is shown in part, so that
    /// the cursor is visible.
    package func rendered(columns: Int) -> String {
        let promptWidth = TextWidth.of(prompt)
        // One column stays free: terminals differ in where they show a cursor behind the last column.
        let room = max(columns - promptWidth - 1, 1)
        var start = cursor
        var before = 0
        while start > 0, before + TextWidth.of(characters[start - 1]) <= room {
            start -= 1
            before += TextWidth.of(characters[start])
        }
        var end = cursor
        var width = before
        while end < characters.count, width + TextWidth.of(characters[end]) <= room {
            width += TextWidth.of(characters[end])
            end += 1
        }
        let shown = String(characters[start..<end].map { $0 == "\t" ? " " : $0 })
        let column = promptWidth + before
        return "\r\u{1B}[K" + prompt + shown + "\r" + (column > 0 ? "\u{1B}[\(column)C" : "")
    }
}

/// How many columns of a terminal a text needs.
package enum TextWidth {
    package static func of(_ character: Character) -> Int {
        guard let first = character.unicodeScalars.first else { return 0 }
        if first.isASCII { return 1 }
        // U+FE0F requests the coloured form of the character before it, which is wide.
        if character.unicodeScalars.contains("\u{FE0F}") { return 2 }
        switch first.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: return isWide(first) ? 2 : 1
        }
    }

    package static func of(_ text: some Sequence<Character>) -> Int { text.reduce(0) { $0 + of($1) } }

    /// Unicode's East Asian Width W and F, by blocks (UAX #11). A line editor may be off by one in a rare block; a
    /// table of all of them would be longer than the editor.
    private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.properties.isEmojiPresentation { return true }
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF,
            0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF,
            0x20000...0x3FFFD:
            return true
        default: return false
        }
    }
}
