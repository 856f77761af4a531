import LiveState
import Testing

@testable import LiveClient

struct EventIDTests {
    private let incident = Thing(entity: "incident", id: "A")

    @Test(arguments: [
        ("a", true), ("AZ09-_az", true), (String(repeating: "0", count: 40), true),
        ("", false), (String(repeating: "0", count: 41), false),
        ("a b", false), ("a/b", false), ("a.b", false), ("a%41", false), ("é", false), ("a\n", false),
    ])
    func `an id is 1 to 40 bytes that a URL carries unchanged`(text: String, isWellFormed: Bool) {
        #expect(EventID(text).isWellFormed == isWellFormed)
    }

    @Test func `ids stand in the order of their bytes, whatever a language thinks of their letters`() {
        let ids = ["-", "0", "9", "A", "Z", "_", "a", "aa", "b", "z"].map(EventID.init)
        #expect(ids.reversed().sorted() == ids)
        for id in ids { #expect(!(id < id)) }
    }

    @Test func `a mark covers what happened up to its event, and only of its thing`() {
        let other = Thing(entity: "incident", id: "B")
        let mark = ReadMark(of: incident, upTo: EventID("m"))
        #expect(mark.covers(EventID("l"), of: incident))
        #expect(mark.covers(EventID("m"), of: incident))
        #expect(!mark.covers(EventID("n"), of: incident))
        #expect(!mark.covers(EventID("l"), of: other))
    }

    @Test func `a mark of everything covers each thing up to its event`() {
        let mark = ReadMark(of: nil, upTo: EventID("m"))
        #expect(mark.covers(EventID("m"), of: incident))
        #expect(!mark.covers(EventID("ma"), of: incident))
    }
}
