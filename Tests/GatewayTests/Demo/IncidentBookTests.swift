import Testing

@testable import Gateway

struct IncidentBookTests {
    static func created(_ id: String) -> FeedChange {
        FeedChange(
            entity: FeedChange.incident, id: id, type: "created",
            changes: [("title", "Disk of \(id)"), ("status", "triggered"), ("urgency", "high")])
    }

    static func incident(_ id: String, _ type: String, _ changes: KeyValuePairs<String, String>) -> FeedChange {
        FeedChange(entity: FeedChange.incident, id: id, type: type, changes: changes.map { ($0.key, $0.value) })
    }

    static func book(_ ids: String...) -> IncidentBook {
        var book = IncidentBook()
        for id in ids { _ = book.follow(created(id), at: 1_000) }
        return book
    }

    static func noted(_ id: String, note: String, _ content: String) -> FeedChange {
        FeedChange(
            entity: FeedChange.note, id: note, type: "created", changes: [("incident_id", id), ("content", content)])
    }

    @Test func `what the story has is in the book, and published as it is`() {
        var book = Self.book("A")
        let changes = [
            Self.incident("A", "updated", ["assignee": "PUSR0ANA", "escalation_level": "2", "priority": "P3"]),
            Self.incident("A", "acknowledged", ["status": "acknowledged", "actor": "PUSR0ANA"]),
            Self.noted("A", note: "N", "Looking."),
            FeedChange(entity: FeedChange.alert, id: "X", type: "updated", changes: []),
            FeedChange(
                entity: "incidents::responder_request", id: "R", type: "created", changes: [("incident_id", "A")]),
        ]
        for change in changes { #expect(book.follow(change, at: 2_000) == [change]) }
        let incident = book["A"]
        #expect(incident?.status == .acknowledged && incident?.assignee == "PUSR0ANA")
        #expect(incident?.escalationLevel == "2" && incident?.priority == "P3" && incident?.title == "Disk of A")
        #expect(incident?.notes.map(\.content) == ["Looking."] && incident?.updatedAt == 2_000)
        #expect(book.follow(Self.created("A"), at: 3_000) == [], "once is enough")
    }

    @Test func `what the story has about a resolved incident, or none, does not happen`() throws {
        var book = Self.book("A")
        #expect(
            try book.perform(.resolve, on: "A", by: "me", at: 1, noteID: "N").map(\.type) == ["resolved"])
        #expect(book.follow(Self.incident("A", "acknowledged", ["status": "acknowledged"]), at: 2) == [])
        #expect(book.follow(Self.noted("A", note: "N", "late"), at: 2) == [])
        #expect(book.follow(Self.incident("B", "updated", [:]), at: 2) == [])
        #expect(book["A"]?.status == .resolved && book["A"]?.notes == [] && book["A"]?.updatedAt == 1)
    }

    @Test func `what people do is published once, and what cannot be is refused`() throws {
        var book = Self.book("A")
        let first = try book.perform(.acknowledge, on: "A", by: "me", at: 5, noteID: "N")
        #expect(first.map(\.type) == ["acknowledged"] && first[0]["actor"] == "me")
        #expect(try book.perform(.acknowledge, on: "A", by: "me", at: 6, noteID: "N") == [])
        #expect(book["A"]?.updatedAt == 5)
        _ = try book.perform(.resolve, on: "A", by: "me", at: 7, noteID: "N")
        #expect(try book.perform(.resolve, on: "A", by: "me", at: 8, noteID: "N") == [])
        #expect(throws: IncidentBook.Fault.resolved) {
            try book.perform(.acknowledge, on: "A", by: "me", at: 9, noteID: "N")
        }
        #expect(throws: IncidentBook.Fault.notFound) {
            try book.perform(.resolve, on: "B", by: "me", at: 9, noteID: "N")
        }
        let note = try book.perform(.note("over"), on: "A", by: "me", at: 10, noteID: "N")
        #expect(note.map(\.entity) == [FeedChange.note, FeedChange.incident] && note[0].id == "N")
        #expect(book["A"]?.notes.map(\.author) == ["me"])
    }

    @Test func `beyond its size the oldest resolved incident goes, and that is published`() throws {
        var book = IncidentBook()
        for number in 1...IncidentBook.maximumIncidents {
            #expect(book.follow(Self.created("I\(number)"), at: 1).count == 1)
        }
        _ = try book.perform(.resolve, on: "I2", by: "me", at: 2, noteID: "N")
        let changes = book.follow(Self.created("NEW"), at: 3)
        #expect(changes.map(\.type) == ["created", "deleted"] && changes.map(\.id) == ["NEW", "I2"])
        #expect(book["I2"] == nil && book.incidents.count == IncidentBook.maximumIncidents)
        #expect(book.incidents.last?.number == IncidentBook.maximumIncidents + 1)
    }

    @Test func `an incident keeps its newest notes`() throws {
        var book = Self.book("A")
        for number in 0...IncidentBook.maximumNotes {
            _ = try book.perform(.note("\(number)"), on: "A", by: "me", at: 1, noteID: "N\(number)")
        }
        #expect(book["A"]?.notes.count == IncidentBook.maximumNotes && book["A"]?.notes.first?.content == "1")
    }

    @Test(
        arguments: [
            (.newest, nil, 2, ["E", "D"], true), (.newest, "D", 2, ["C", "A"], false), (.newest, "A", 2, [], false),
            (.oldest, nil, 9, ["A", "C", "D", "E"], false), (.oldest, "B", 1, ["C"], true),
            (.oldest, "E", 1, [], false),
        ] as [(IncidentBook.Order, String?, Int, [String], Bool)])
    func `a page begins behind an incident, also behind one that the list leaves out`(
        _ order: IncidentBook.Order, _ from: String?, _ limit: Int, _ ids: [String], _ more: Bool
    ) throws {
        var book = Self.book("A", "B", "C", "D", "E")
        _ = try book.perform(.resolve, on: "B", by: "me", at: 1, noteID: "N")
        let page = try book.page(order, from: from, statuses: [.triggered, .acknowledged], limit: limit)
        #expect(page.incidents.map(\.id) == ids && page.more == more)
        #expect(throws: IncidentBook.Fault.notFound) {
            try book.page(order, from: "gone", statuses: [.triggered], limit: 1)
        }
    }
}
