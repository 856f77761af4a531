// Tests: Board.swift

import LiveState
import Terminal
import Testing

@testable import LiveClient
@testable import liveboard

struct BoardTests {
    static func incident(_ id: String, _ number: Int64, status: String = "triggered", updatedAt: Int64 = 1) -> Incident
    {
        Incident(
            id: id, number: number, title: "Disk of \(id)", status: status, urgency: "high", priority: nil,
            assignee: nil, updatedAt: updatedAt, notes: nil)
    }

    /// What the list of the library knows: these incidents, complete from the beginning to an end.
    static func list(
        _ incidents: [Incident], upTo end: ListEnd = .end, old: Set<String> = [], stale: ListInterval? = nil
    ) -> ListState<Incident> {
        let items = incidents.sorted { $0.key < $1.key }.map { incident in
            ListState<Incident>.Item(
                id: incident.id, key: incident.key, value: incident,
                knowledge: old.contains(incident.id) ? .knownStale : .known)
        }
        let complete = end == .beginning ? [] : [ListInterval(lower: .beginning, upper: end)]
        return ListState(
            items: items, complete: complete, stale: stale.map { [$0] } ?? [], knowledge: .known, stretch: nil,
            isLoading: false, failures: 0, failure: nil, isUnauthorized: false)
    }

    static func details(
        _ incident: Incident, value: Bool = true, _ knowledge: Knowledge = .known, failure: RequestFailure? = nil,
        absence: ThingAbsence? = nil
    ) -> DetailsState<Incident> {
        DetailsState(
            thing: Incident.thing(incident.id), value: value ? incident : nil, knowledge: knowledge, isWhole: true,
            failure: failure,
            absence: absence)
    }

    /// Connected, with incidents of these ids: the last is the newest.
    static func board(_ ids: String...) -> Board {
        var board = Board(account: "ONE")
        board.list = list(ids.enumerated().map { incident($0.element, Int64($0.offset + 1)) })
        board.sign.freshness = .connected
        board.sign.settle(isFetching: board.isFetching, at: 0) { "\($0)" }
        return board
    }

    private static func action(_ id: String, _ value: String) -> DeferredAction {
        DeferredAction(kind: Outbox.kind, id: id, value: value, key: "key", at: 1)
    }

    @Test func `the newest stands first, and what is chosen stays chosen while others come`() {
        var board = Self.board("A", "B", "C")
        #expect(board.rows.map(\.incident.id) == ["C", "B", "A"] && board.selected == "C" && !board.isFetching)
        #expect(board.press(.next) == nil && board.selected == "B")
        board.list = Self.list([("A", 1), ("B", 2), ("C", 3), ("D", 4)].map { Self.incident($0.0, $0.1) })
        #expect(board.rows.map(\.incident.id) == ["D", "C", "B", "A"] && board.selected == "B")
        board.list = Self.list([("A", 1), ("C", 3), ("D", 4)].map { Self.incident($0.0, $0.1) })
        #expect(board.selected == "D")
        for _ in 0..<5 { _ = board.press(.text("j")) }
        #expect(board.selected == "A")
        for _ in 0..<5 { _ = board.press(.text("k")) }
        #expect(board.selected == "D")
    }

    @Test func `rows end where something may be missing, and go on as old where nothing was missing`() {
        let all = (1...4).map { Self.incident("I\($0)", Int64($0)) }
        var board = Board(account: "ONE")
        board.list = Self.list(all, upTo: .at(key: all[2].key))
        #expect(board.rows.map(\.incident.id) == ["I4", "I3"] && board.hasMore && board.rows.allSatisfy { !$0.isOld })
        let stale = ListInterval(lower: .at(key: all[2].key), upper: .end)
        board.list = Self.list(all, upTo: .at(key: all[2].key), stale: stale)
        #expect(board.rows.map(\.isOld) == [false, false, true, true] && !board.hasMore && board.isFetching)
        // A stretch that does not begin with the newest may lack some before it.
        board.list = Self.list(all, upTo: .beginning, stale: stale)
        #expect(board.rows.isEmpty && !board.isKnown)
        board.list = Self.list(all, old: ["I2"])
        #expect(board.rows.filter(\.isOld).map(\.incident.id) == ["I2"] && board.isFetching)
    }

    @Test func `what the last run knew is shown as old until the list knows anything`() {
        var board = Board(account: "ONE")
        #expect(!board.isKnown && board.isFetching)
        board.list = Self.list([], upTo: .beginning)
        board.restore([Self.incident("A", 1)])
        #expect(board.isKnown && board.rows.map(\.isOld) == [true] && board.selected == "A" && board.isFetching)
        board.list = Self.list([Self.incident("B", 2)])
        #expect(board.rows.map(\.incident.id) == ["B"] && !board.isFetching && board.selected == "B")
        board.list = Self.list([])
        #expect(board.rows.isEmpty && board.isKnown && board.selected == nil)
    }

    @Test func `what people did counts before the server has it, and its answer until as new was fetched`() {
        var board = Self.board("A")
        board.keep([.persist(Self.action("A", "acknowledged")), .show(kind: Outbox.kind, id: "A", value: "x")])
        #expect(board.rows[0].status == "acknowledged" && board.rows[0].isPending)
        board.answered(Self.incident("A", 1, status: "acknowledged", updatedAt: 5))
        board.keep([.delete(kind: Outbox.kind, id: "A")])
        #expect(board.rows[0].status == "acknowledged" && !board.rows[0].isPending)
        board.list = Self.list([Self.incident("A", 1, updatedAt: 4)])
        #expect(board.rows[0].status == "acknowledged")
        board.list = Self.list([Self.incident("A", 1, status: "resolved", updatedAt: 5)])
        #expect(board.rows[0].status == "resolved" && board.answers.isEmpty)
        for number in 0...Board.maximumAnswers { board.answered(Self.incident("N\(number)", 9, updatedAt: 9)) }
        #expect(board.answers.count <= Board.maximumAnswers)
    }

    @Test func `keys choose, open, change and write`() {
        var board = Self.board("A", "B")
        #expect(board.press(.text("a")) == .set("B", to: "acknowledged", before: "triggered"))
        #expect(board.press(.text("r")) == .set("B", to: "resolved", before: "triggered"))
        board.keep([.persist(Self.action("B", "resolved"))])
        #expect(board.press(.text("a")) == nil && board.message == "B is resolved already.")
        #expect(board.press(.text("n")) == nil && board.note == nil && board.message.isEmpty)
        #expect(board.press(.enter) == .open("B") && board.opened == "B" && board.press(.enter) == nil)
        #expect(board.press(.text("n")) == nil && board.note == "")
        for key in [Key.text("q"), .text("é"), .text("x"), .backspace, .left] { #expect(board.press(key) == nil) }
        #expect(board.note == "qé")
        #expect(board.press(.enter) == .addNote("B", "qé") && board.note == nil)
        board.giveBack("qé", of: "A")
        #expect(board.note == nil)
        board.giveBack("qé", of: "B")
        #expect(board.note == "qé" && board.press(.interrupt) == nil && board.note == nil)
        #expect(board.press(.text("u")) == .refresh)
        #expect(board.press(.left) == .close && board.opened == nil && board.press(.left) == nil)
        #expect(board.press(.text("q")) == .quit && board.press(.endOfInput) == .quit)
        var empty = Board(account: "ONE")
        for key in [Key.enter, .next, .previous, .home, .end, .text("a"), .text("r"), .text("n"), .text("x")] {
            #expect(empty.press(key) == nil)
        }
    }

    @Test func `a note has an end`() {
        var board = Self.board("A")
        _ = board.press(.enter)
        _ = board.press(.text("n"))
        for _ in 0..<1_000 { _ = board.press(.text("x")) }
        #expect(board.note?.count == Board.maximumNoteCharacters)
    }

    @Test func `details are what is known best, and say how far`() {
        var board = Self.board("A", "B")
        _ = board.press(.enter)
        #expect(board.openedRow?.isOld == true && board.openedRow?.incident.id == "B" && board.isFetching)
        board.details = Self.details(Self.incident("B", 2, status: "resolved", updatedAt: 3))
        #expect(board.openedRow?.status == "resolved" && !board.isFetching)
        board.details = Self.details(Self.incident("B", 2), .knownStale)
        #expect(board.openedRow?.isOld == true && board.isFetching)
        board.details = Self.details(Self.incident("B", 2), value: false, .unknown, absence: .gone)
        #expect(board.openedRow == nil && !board.isFetching && board.press(.text("a")) == nil)
    }
}
