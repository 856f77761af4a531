// Tests: BoardScreen.swift, LiveBoard.swift

import LiveState
import Terminal
import Testing

@testable import liveboard

struct BoardTests {
    static func incident(_ id: String, _ number: Int, status: String = "triggered", updatedAt: Int64 = 1) -> Incident {
        Incident(
            id: id, number: number, title: "Disk of \(id)", status: status, urgency: "high", priority: nil,
            assignee: nil, updatedAt: updatedAt, notes: nil)
    }

    static func board(_ ids: String...) -> Board {
        var board = Board(account: "ONE")
        board.replace(ids.enumerated().map { incident($0.element, $0.offset + 1) })
        return board
    }

    @Test func `the newest stands first, and what is chosen stays chosen while others come`() {
        var board = Self.board("A", "B", "C")
        #expect(board.incidents.map(\.id) == ["C", "B", "A"] && board.selected == "C")
        #expect(board.press(.next) == nil && board.selected == "B")
        board.put(Self.incident("D", 4))
        #expect(board.incidents.map(\.id) == ["D", "C", "B", "A"] && board.selected == "B")
        board.remove("B")
        #expect(board.selected == "D")
        for _ in 0..<5 { _ = board.press(.text("j")) }
        #expect(board.selected == "A")
        for _ in 0..<5 { _ = board.press(.text("k")) }
        #expect(board.selected == "D")
    }

    @Test func `an older answer changes nothing, and a list keeps notes`() {
        var board = Self.board("A")
        var detailed = Self.incident("A", 1, status: "resolved", updatedAt: 5)
        detailed.notes = [Incident.Note(content: "n", author: "me")]
        board.put(detailed)
        board.put(Self.incident("A", 1, status: "acknowledged", updatedAt: 4))
        #expect(board["A"] == detailed)
        board.replace([Self.incident("A", 1, status: "resolved", updatedAt: 6)])
        #expect(board["A"]?.notes == detailed.notes && board["A"]?.updatedAt == 6)
    }

    @Test func `it holds so many incidents and no more`() {
        var board = Board(account: "ONE")
        board.replace((1...Board.maximumIncidents).map { Self.incident("I\($0)", $0) })
        board.put(Self.incident("NEW", 1_000))
        #expect(board.incidents.count == Board.maximumIncidents && board["I1"] == nil && board["NEW"] != nil)
    }

    @Test(arguments: [
        ("A", true, false, false), ("B", true, false, true), ("A", false, true, true), ("B", false, true, false),
        ("A", true, true, true), ("B", true, true, true),
    ]) func `what is shown decides what is fetched`(
        _ id: String, _ isCreated: Bool, _ isChanged: Bool, _ isWanted: Bool
    ) { #expect(Self.board("A").wants(id, isCreated: isCreated, isChanged: isChanged) == isWanted) }

    @Test func `keys open, act and end`() {
        var board = Self.board("A")
        #expect(board.press(.text("a")) == .act("A", verb: "acknowledge"))
        board.put(Self.incident("A", 1, status: "acknowledged", updatedAt: 2))
        #expect(board.press(.text("a")) == nil && board.message == "A is acknowledged.")
        #expect(board.press(.text("r")) == .act("A", verb: "resolve"))
        #expect(board.press(.enter) == .open("A") && board.opened == "A")
        #expect(board.press(.enter) == nil)
        #expect(board.press(.left) == nil && board.opened == nil)
        #expect(board.press(.text("x")) == nil)
        #expect(board.press(.text("q")) == .quit && board.press(.endOfInput) == .quit)
        var empty = Board(account: "ONE")
        for key in [Key.enter, .next, .previous, .home, .end, .text("a"), .text("r")] {
            #expect(empty.press(key) == nil)
        }
    }

    @Test func `details of an incident that goes are closed`() {
        var board = Self.board("A", "B")
        _ = board.press(.enter)
        board.remove("B")
        #expect(board.opened == nil && board.message == "B is gone." && board.selected == "A")
    }
}

struct BoardScreenTests {
    static func screen(_ board: Board, _ columns: Int, _ rows: Int, now: Milliseconds = 0) -> [String] {
        BoardScreen.lines(board, columns: columns, rows: rows, now: now)
    }

    static var connected: Board {
        var board = BoardTests.board("A", "B", "C")
        board.facts.isCaughtUp = true
        return board
    }

    @Test func `a screen of 80 by 24 has head, list, message and keys`() {
        let lines = Self.screen(Self.connected, 80, 24)
        #expect(lines.count == 24)
        #expect(lines[0] == "Incidents of ONE" + String(repeating: " ", count: 55) + "connected")
        #expect(lines[1] == String(repeating: "-", count: 80) && lines[21] == lines[1])
        #expect(lines[2] == "> C        triggered    high Disk of C")
        #expect(lines[3] == "  B        triggered    high Disk of B" && lines[5] == "" && lines[22] == "")
        #expect(lines[23] == "up/down choose  enter details  a acknowledge  r resolve  q quit")
    }

    @Test func `every size gets exactly its lines, none wider, and the chosen one is there`() {
        var board = Board(account: "ONE")
        let wide = Incident(
            id: "WIDE", number: 40,
            title: "Sitzungen \u{1F6A8} 温度 e\u{301}\u{7}\n" + String(repeating: "x", count: 300),
            status: "triggered", urgency: "high", priority: "P3", assignee: "ANA", updatedAt: 1,
            notes: [Incident.Note(content: String(repeating: "note \u{1F6A8} ", count: 40) + "\n\nend", author: "ANA")])
        board.replace((1...39).map { BoardTests.incident("I\($0)", $0) } + [wide])
        for opened in [false, true] {
            if opened { _ = board.press(.enter) }
            for columns in 1...90 {
                for rows in [1, 2, 3, 4, 5, 6, 7, 10, 24, 60] {
                    let lines = Self.screen(board, columns, rows)
                    #expect(lines.count == rows, "\(columns) by \(rows)")
                    #expect(lines.allSatisfy { TextWidth.of($0) <= columns }, "\(columns) by \(rows): \(lines)")
                    #expect(lines.allSatisfy { line in line.unicodeScalars.allSatisfy { $0.value >= 0x20 } })
                }
            }
        }
        _ = board.press(.left)
        for _ in 0..<39 { _ = board.press(.next) }
        for rows in 1...60 {
            #expect(Self.screen(board, 80, rows).contains { $0.hasPrefix("> I1 ") }, "\(rows) rows")
        }
    }

    @Test func `details are wrapped and scrolled`() {
        var board = Self.connected
        var detailed = BoardTests.incident("C", 3)
        detailed.notes = (1...30).map { Incident.Note(content: "note \($0)", author: "ANA") }
        board.put(detailed)
        _ = board.press(.enter)
        #expect(Self.screen(board, 80, 24)[2] == "Disk of C")
        #expect(Self.screen(board, 80, 24)[3] == "C, triggered, urgency high")
        for _ in 0..<100 { _ = board.press(.next) }
        #expect(BoardScreen.maximumScroll(board, columns: 80, rows: 24) == 14)
        #expect(Self.screen(board, 80, 24)[20] == "ANA: note 30")
        _ = board.press(.home)
        #expect(Self.screen(board, 80, 24)[2] == "Disk of C")
    }

    @Test func `a short gap shows no sign, a longer one does, and failures say so`() {
        var board = Self.connected
        board.facts.isCaughtUp = false
        board.facts.leftConnected = 1_000
        #expect(BoardScreen.sign(board, 1_299) == "connected")
        #expect(BoardScreen.sign(board, 1_300) == "connecting for 0 s")
        board.facts.failures = 2
        #expect(BoardScreen.sign(board, 6_000) == "cannot connect for 5 s")
        board = Self.connected
        board.facts.stalledSince = 1
        board.facts.leftConnected = 1_000
        #expect(BoardScreen.sign(board, 2_000) == "connected, no news")
    }

    @Test func `a client that gave up is not connected, in every size, and keeps the reason`() {
        var board = Self.connected
        board.end(why: "nobody is signed in")
        #expect(Self.screen(board, 80, 24)[0].hasPrefix("Incidents of ONE (may be old)"))
        #expect(Self.screen(board, 80, 24)[0].hasSuffix(" no more news: nobody is signed in"))
        #expect(Self.screen(board, 40, 10)[0] == "no more news: nobody is signed in")
        _ = board.press(.next)
        #expect(!Self.screen(board, 20, 10)[0].contains("connected"))
    }

    @Test(arguments: [
        ("one two three", 7, ["one two", "three"]), ("abcdefghij", 4, ["abcd", "efgh", "ij"]), ("", 5, [""]),
        ("a\n\nb", 5, ["a", "", "b"]), ("ab abcdef", 4, ["ab a", "bcde", "f"]),
    ]) func `a text is wrapped at blanks`(_ text: String, _ columns: Int, _ lines: [String]) {
        #expect(BoardScreen.wrapped(text, columns) == lines)
    }

    @Test(arguments: [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("\u{1F6A8}\u{1F6A8}", 3, "\u{1F6A8}…"), ("ab", 1, "…")])
    func `what does not fit is cut and says so`(_ text: String, _ columns: Int, _ fitted: String) {
        #expect(BoardScreen.fit(text, columns) == fitted)
    }
}
