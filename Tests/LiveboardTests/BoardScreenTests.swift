// Tests: BoardScreen.swift, BoardText.swift

import LiveState
import Terminal
import Testing

@testable import LiveClient
@testable import liveboard

struct BoardScreenTests {
    static func screen(_ board: Board, _ columns: Int, _ rows: Int) -> [String] {
        BoardScreen.lines(board, columns: columns, rows: rows) { "12:00:0\($0 / 1000 % 10)" }.map(\.text)
    }

    private static func settled(_ board: Board, at now: Milliseconds = 0) -> Board {
        var board = board
        board.sign.settle(isFetching: board.isFetching, at: now) { "12:00:0\($0 / 1000 % 10)" }
        return board
    }

    private static let rule = String(repeating: "-", count: 80)

    @Test func `a screen of 80 by 24 has head, list, place, message and keys`() {
        let lines = Self.screen(BoardTests.board("A", "B", "C"), 80, 24)
        #expect(lines.count == 24)
        #expect(lines[0] == "Incidents of ONE" + String(repeating: " ", count: 55) + "connected")
        #expect(lines[1] == Self.rule)
        #expect(lines[2] == "> C        triggered     high Disk of C")
        #expect(lines[3] == "  B        triggered     high Disk of B" && lines[5] == "" && lines[22] == "")
        #expect(lines[21] == "-- 1 to 3 of 3 " + String(repeating: "-", count: 65))
        #expect(lines[23] == "up/down choose  enter details  a acknowledge  r resolve  u update  q quit")
    }

    @Test func `what is old says so, and of when it is`() {
        var board = Board(account: "ONE")
        board.sign.freshness = .cannotConnect(since: 7_000)
        board.sign.asOf = 5_000
        #expect(Self.screen(Self.settled(board), 80, 24)[0].hasPrefix("Incidents of ONE  "))
        #expect(Self.screen(Self.settled(board), 80, 24)[2] == "Nothing is known yet.")
        board.restore([BoardTests.incident("A", 1)])
        let lines = Self.screen(Self.settled(board), 80, 24)
        #expect(lines[0].hasPrefix("Incidents of ONE (old state of 12:00:05)  "))
        #expect(lines[0].hasSuffix(" cannot connect since 12:00:07"))
        #expect(lines[2] == "> A        triggered~    high Disk of A")
        #expect(Self.screen(Self.settled(board), 40, 10)[0] == "cannot connect since 12:00:07")
        var empty = BoardTests.board()
        #expect(Self.screen(empty, 80, 24)[2] == "There are no incidents.")
        empty.list = nil
        #expect(Self.screen(empty, 80, 24)[2] == "Nothing is known yet.")
    }

    @Test func `that there is nothing is said only where the whole list is known`() {
        var board = Board(account: "ONE")
        let (end, some) = (ListEnd.end, ListEnd.at(key: ListKey(rank: -5, text: "E")))
        // As the finger says; of an older one; known in part; not loaded.
        for (complete, stale, words) in [
            (end, nil, "There are no incidents."), (nil, end, "There were no incidents; it may be old."),
            (some, nil, "Nothing is known yet."), (nil, some, "Nothing is known yet."),
            (some, end, "There were no incidents; it may be old."), (nil, nil, "Nothing is known yet."),
        ] as [(ListEnd?, ListEnd?, String)] {
            board.list = BoardTests.list(
                [], upTo: complete ?? .beginning,
                stale: stale.map { ListInterval(lower: .beginning, upper: $0) })
            #expect(Self.screen(board, 80, 24)[2] == words, "\(complete as Any) \(stale as Any)")
        }
    }

    @Test func `what is not sent yet has a mark and a line, and what people have to know comes first`() {
        var board = BoardTests.board("A")
        board.keep([.persist(DeferredAction(kind: Outbox.kind, id: "A", value: "resolved", key: "k", at: 1))])
        #expect(Self.screen(board, 80, 24)[2] == "> A        resolved*     high Disk of A")
        #expect(Self.screen(board, 80, 24)[22] == "1 of your changes not sent yet (*).")
        board.message = "Told."
        #expect(Self.screen(board, 80, 24)[22] == "Told.")
        _ = board.press(.enter)
        board.details = BoardTests.details(BoardTests.incident("A", 1))
        #expect(Self.screen(board, 80, 24)[3] == "A, resolved*, urgency high")
        #expect(Self.screen(board, 80, 24)[4] == "Your change is not sent yet (*).")
    }

    @Test func `every size gets exactly its lines, none wider, and the chosen one is there`() {
        let wide = Incident(
            id: "WIDE", number: 40,
            title: "Sitzungen \u{1F6A8} 温度 e\u{301}\u{7}\n" + String(repeating: "x", count: 300),
            status: "triggered", urgency: "high", priority: "P3", assignee: "ANA", updatedAt: 1,
            notes: [Incident.Note(content: String(repeating: "note \u{1F6A8} ", count: 40) + "\n\nend", author: "ANA")])
        var board = Board(account: "ONE")
        board.list = BoardTests.list((1...39).map { BoardTests.incident("I\($0)", $0) } + [wide])
        for step in 0..<3 {
            if step == 1 {
                _ = board.press(.enter)
                board.details = BoardTests.details(wide, .knownStale, failure: .retry(after: nil))
            }
            if step == 2 {
                _ = board.press(.text("n"))
                for scalar in "Wörter 温度 ".unicodeScalars { _ = board.press(.text(scalar)) }
            }
            for columns in Array(1...20) + [39, 40, 59, 60, 79, 80, 132] {
                for rows in [1, 2, 5, 6, 7, 24] {
                    let lines = Self.screen(board, columns, rows)
                    #expect(lines.count == rows, "\(columns) by \(rows)")
                    #expect(lines.allSatisfy { TextWidth.of($0) <= columns }, "\(columns) by \(rows): \(lines)")
                    #expect(lines.allSatisfy { line in line.unicodeScalars.allSatisfy { $0.value >= 0x20 } })
                }
            }
        }
        _ = board.press(.interrupt)
        _ = board.press(.left)
        for _ in 0..<39 { _ = board.press(.next) }
        for rows in 1...60 {
            #expect(Self.screen(board, 80, rows).contains { $0.hasPrefix("> I1 ") }, "\(rows) rows")
        }
        #expect(Self.screen(board, 80, 24)[21].hasPrefix("-- 22 to 40 of 40 -"))
        #expect(BoardScreen.wantedIncidents(board, rows: 24) == 41)
        #expect(BoardScreen.wantedIncidents(BoardTests.board("A"), rows: 1) == 2)
    }

    @Test func `details are wrapped and scrolled`() {
        var board = BoardTests.board("A", "B", "C")
        var detailed = BoardTests.incident("C", 3)
        _ = board.press(.enter)
        #expect(
            Self.screen(board, 80, 24)[2...6].elementsEqual(
                ["Disk of C", "C, triggered, urgency high", "This may be old.", "", "Notes are being fetched."]))
        detailed.notes = (1...30).map { Incident.Note(content: "note \($0)", author: "ANA") }
        board.details = BoardTests.details(detailed)
        #expect(Self.screen(board, 80, 24)[2] == "Disk of C" && Self.screen(board, 80, 24)[21] == Self.rule)
        for _ in 0..<100 { _ = board.press(.next) }
        #expect(BoardScreen.maximumScroll(board, columns: 80, rows: 24) == 14)
        #expect(Self.screen(board, 80, 24)[20] == "ANA: note 30")
        _ = board.press(.home)
        #expect(Self.screen(board, 80, 24)[2] == "Disk of C")
        detailed.notes = []
        board.details = BoardTests.details(detailed, failure: .rejected(status: 418))
        #expect(Self.screen(board, 80, 24)[4] == "It cannot be loaded now: status 418.")
        #expect(Self.screen(board, 80, 24)[6] == "No notes.")
    }

    @Test func `what is gone or not ours is told in place of the details`() {
        var board = BoardTests.board("A")
        _ = board.press(.enter)
        let incident = BoardTests.incident("A", 1)
        board.details = BoardTests.details(incident, value: false, .unknown, absence: .gone)
        #expect(Self.screen(board, 80, 24)[2] == "A is gone." && Self.screen(board, 80, 24)[3] == "")
        board.details = BoardTests.details(incident, value: false, .unknown, absence: .notOurs)
        #expect(Self.screen(board, 80, 24)[2] == "A may not be seen by you any more.")
        board.list = BoardTests.list([])
        board.details = BoardTests.details(incident, value: false, .unknown, failure: .unauthorized)
        #expect(Self.screen(board, 80, 24)[2] == "It cannot be loaded now: the token is refused.")
        board.details = nil
        #expect(Self.screen(board, 80, 24)[2] == "A is not known yet.")
    }

    @Test func `the end of a note that is written is seen`() {
        var board = BoardTests.board("A")
        _ = board.press(.enter)
        _ = board.press(.text("n"))
        for scalar in "abcdefghijklmnopqrstuvwxyz".unicodeScalars { _ = board.press(.text(scalar)) }
        #expect(Self.screen(board, 80, 24)[22] == "Note: abcdefghijklmnopqrstuvwxyz_")
        #expect(Self.screen(board, 12, 24)[22] == "Note: vwxyz_")
        #expect(Self.screen(board, 80, 24)[23] == "enter add  ctrl-c leave it")
    }

    @Test func `colours say nothing that words do not say, and can be left out`() {
        let lines = BoardScreen.lines(BoardTests.board("A"), columns: 80, rows: 24) { _ in "" }
        let colored = lines.map { $0.drawn(isColored: true) }
        #expect(colored[2].contains("\u{1B}[31mtriggered     \u{1B}[m"))
        #expect(lines.map { $0.drawn(isColored: false) } == lines.map(\.text))
        #expect(colored.map { $0.replacing(/\u{1B}\[\d*m/, with: "") } == lines.map(\.text))
    }

    @Test(arguments: [
        ("one two three", 7, ["one two", "three"]), ("abcdefghij", 4, ["abcd", "efgh", "ij"]), ("", 5, [""]),
        ("a\n\nb", 5, ["a", "", "b"]), ("ab abcdef", 4, ["ab a", "bcde", "f"]),
    ]) func `a text is wrapped at blanks`(_ text: String, _ columns: Int, _ lines: [String]) {
        #expect(BoardText.wrapped(text, columns) == lines)
    }

    @Test(arguments: [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("\u{1F6A8}\u{1F6A8}", 3, "\u{1F6A8}…"), ("ab", 1, "…")])
    func `what does not fit is cut and says so`(_ text: String, _ columns: Int, _ fitted: String) {
        #expect(BoardLine(text).fitted(columns).text == fitted)
        // In pieces too, wherever they meet.
        for middle in 0...text.count {
            let pieces = BoardLine([(String(text.prefix(middle)), .bad), (String(text.dropFirst(middle)), nil)])
            #expect(pieces.fitted(columns).text == fitted, "at \(middle)")
        }
    }
}
