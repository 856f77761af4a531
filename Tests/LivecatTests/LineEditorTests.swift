// Tests: Key.swift

import Testing

@testable import Terminal

@Suite struct `The line editor` {
    static func typed(_ text: String) -> LineEditor {
        var editor = LineEditor(prompt: "> ")
        _ = editor.type(text.utf8)
        return editor
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let keys: String
        let text: String
        let cursor: Int

        var testDescription: String { keys.debugDescription }
    }

    static let rows = [
        Row(keys: "abc", text: "abc", cursor: 3),
        Row(keys: "abc\u{7F}", text: "ab", cursor: 2),
        Row(keys: "\u{7F}a\u{8}", text: "", cursor: 0),
        Row(keys: "ac\u{1B}[Db", text: "abc", cursor: 2),
        Row(keys: "ac\u{1B}ODb", text: "abc", cursor: 2),
        Row(keys: "b\u{1}a\u{5}c", text: "abc", cursor: 3),
        Row(keys: "b\u{1B}[Ha\u{1B}[Fc", text: "abc", cursor: 3),
        Row(keys: "b\u{1B}[1~a\u{1B}[4~c", text: "abc", cursor: 3),
        Row(keys: "abc\u{2}\u{2}\u{4}", text: "ac", cursor: 1),
        Row(keys: "abc\u{1B}[D\u{1B}[3~", text: "ab", cursor: 2),
        Row(keys: "abc\u{2}\u{2}\u{B}", text: "a", cursor: 1),
        Row(keys: "abc\u{2}\u{15}", text: "c", cursor: 0),
        Row(keys: "one two\u{17}", text: "one ", cursor: 4),
        Row(keys: "one two\u{1B}b\u{1B}bX", text: "Xone two", cursor: 1),
        Row(keys: "one two\u{1}\u{1B}[1;5CX", text: "oneX two", cursor: 4),
        Row(keys: "one two\u{1}\u{1B}d", text: " two", cursor: 0),
        Row(keys: "one two\u{17}\u{19}\u{19}", text: "one twotwo", cursor: 10),
        Row(keys: "\u{FC}\u{65E5}\u{1F600}\u{7F}", text: "\u{FC}\u{65E5}", cursor: 2),
        Row(keys: "e\u{301}x\u{7F}\u{7F}", text: "", cursor: 0),
        Row(keys: "\u{1F469}\u{200D}\u{1F469}", text: "\u{1F469}\u{200D}\u{1F469}", cursor: 1),
        Row(keys: "a\tb", text: "a\tb", cursor: 3),
        Row(keys: "a\u{1B}[200~b\u{1B}[99;1Qc\u{0}\u{1F}", text: "abc", cursor: 3),
        Row(keys: "a\rb\u{10}", text: "a", cursor: 1),
        Row(keys: "a\rb\rc\u{1B}[A\u{1B}[A\u{1B}[A\u{1B}[B", text: "b", cursor: 1),
        Row(keys: "a\rdraft\u{10}\u{E}", text: "draft", cursor: 5),
        Row(keys: "a\ra\r\r\u{10}\u{10}", text: "a", cursor: 1),
        Row(keys: "\u{85}\u{9B}a", text: "a", cursor: 1),
    ]

    @Test(arguments: rows) func `takes keys however they are cut`(_ row: Row) {
        let bytes = Array(row.keys.utf8)
        for cut in 0...bytes.count {
            var editor = LineEditor(prompt: "> ")
            _ = editor.type(bytes[..<cut])
            _ = editor.type(bytes[cut...])
            #expect(editor.text.utf8.elementsEqual(row.text.utf8) && editor.cursor == row.cursor)
        }
    }

    @Test func `gives lines, the end and interrupts`() {
        var editor = LineEditor(prompt: "> ")
        #expect(editor.type("one\rtwo\n\r".utf8) == [.line("one"), .line("two"), .line("")])
        #expect(editor.type([4]) == [.endOfInput])
        #expect(editor.type([3]) == [.interrupt])
        #expect(editor.type([0x0C]) == [.clearScreen])
        #expect(editor.type("x\u{4}".utf8).isEmpty)
    }

    @Test func `survives bytes that are no text`() {
        var editor = LineEditor(prompt: "> ")
        _ = editor.type([0xFF, 0xC0, 0x80, 0xE2, 0x82, 0x61, 0xF4, 0x90, 0x80, 0x80, 0x62])
        #expect(editor.text == "ab")
    }

    @Test func `keeps no more lines than its limit`() {
        var editor = LineEditor(prompt: "> ")
        for number in 0..<(LineEditor.maximumHistoryLines + 5) { _ = editor.type("\(number)\r".utf8) }
        for _ in 0..<(LineEditor.maximumHistoryLines + 10) { _ = editor.type("\u{1B}[A".utf8) }
        #expect(editor.text == "5")
    }

    @Test func `draws the line and puts the cursor where it belongs`() {
        #expect(Self.typed("abc").rendered(columns: 80) == "\r\u{1B}[K> abc\r\u{1B}[5C")
        #expect(Self.typed("abc\u{2}").rendered(columns: 80) == "\r\u{1B}[K> abc\r\u{1B}[4C")
        #expect(Self.typed("\u{65E5}\u{672C}\u{2}").rendered(columns: 80) == "\r\u{1B}[K> \u{65E5}\u{672C}\r\u{1B}[4C")
        #expect(Self.typed("a\tb").rendered(columns: 80) == "\r\u{1B}[K> a b\r\u{1B}[5C")
    }

    @Test func `shows the part of a long line where the cursor is`() {
        #expect(Self.typed("0123456789").rendered(columns: 8) == "\r\u{1B}[K> 56789\r\u{1B}[7C")
        #expect(Self.typed("0123456789\u{1}").rendered(columns: 8) == "\r\u{1B}[K> 01234\r\u{1B}[2C")
        #expect(Self.typed("0123456789").rendered(columns: 0) == "\r\u{1B}[K> 9\r\u{1B}[3C")
    }
}

@Suite struct `Widths of characters` {
    @Test(arguments: [
        ("a", 1), ("\u{FC}", 1), ("\u{65E5}", 2), ("\u{1F600}", 2), ("e\u{301}", 1), ("\u{200B}", 0), ("\u{FF21}", 2),
        ("\u{AC00}", 2), ("\u{2764}\u{FE0F}", 2), ("\u{2764}", 1),
    ]) func `are told`(_ text: String, _ width: Int) {
        #expect(TextWidth.of(text) == width)
    }
}
