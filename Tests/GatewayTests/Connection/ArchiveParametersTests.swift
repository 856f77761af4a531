import HTTP
import LiveUpdates
import Testing

@testable import Gateway

struct ArchiveParametersTests {
    static let id = ArchiveID(stamp: 5, topic: 1, partition: 2, offset: 3, check: 4)
    static let aid = id.text

    @Test func `who asks for nothing gets the newest fifty`() throws {
        for query in ["", "x=1", "with=&since=%&wait=x", "unread=2", "LIMIT=0"] {
            let parameters = try PageParameters.parse(requestHead("/archive/v1?\(query)"))
            #expect(parameters == PageParameters() && parameters.limit == 50 && parameters.mayHoldNewest, "\(query)")
        }
        for query in ["", "after=x&from=x&to=x&id=&order=x"] {
            #expect(try InboxParameters.parse(requestHead("/inbox/v1?\(query)")) == InboxParameters(), "\(query)")
        }
    }

    @Test func `a page is what was asked for`() throws {
        let head = try requestHead(
            "/archive/v1?before=\(Self.aid)&after=\(Self.aid)&from=0&to=99999999999999999999&ent=note&id=%2527&order=asc&limit=501"
        )
        let parameters = try PageParameters.parse(head)
        let query = parameters.query(Account("A"))
        #expect(query.before == Self.id && query.after == Self.id && query.from == 0 && query.to == .max)
        #expect(query.thing == "%27" && query.isOldestFirst && query.limit == 500 && !query.wantsPositions)
        #expect(query.entities == EntityFilter(["note"]))
        let inbox = try InboxParameters.parse(
            requestHead("/inbox/v1?before=\(Self.aid)&ent=note&unread=1&limit=7&id=x&id=y"))
        let things = inbox.query(Account("A"), "amy")
        #expect(things.before == Self.id && things.unreadOnly && things.limit == 7 && things.wantsPositions)
    }

    /// Each row: a query, and whether the page could hold the newest event.
    @Test(
        arguments: [
            ("", true), ("after=\(aid)", true), ("from=1", true), ("order=desc", true), ("ent=a&id=b", true),
            ("limit=1", true), ("before=\(aid)", false), ("to=1", false), ("order=asc", false),
            ("after=\(aid)&before=\(aid)", false),
        ])
    func `what keeps the newest event out needs no cursor`(query: String, mayHoldNewest: Bool) throws {
        let parameters = try PageParameters.parse(requestHead("/archive/v1?\(query)"))
        #expect(parameters.mayHoldNewest == mayHoldNewest)
        #expect(parameters.query(Account("A")).wantsPositions == mayHoldNewest)
    }

    /// Of both addresses, each with the parameter at fault.
    static let refusedOfBoth: [(query: String, name: String)] = [
        ("before=", "before"), ("before", "before"), ("before=%", "before"), ("before=\(aid)&before=\(aid)", "before"),
        ("before=\(aid.dropLast())", "before"), ("before=\(aid)-", "before"), ("before=\(aid.dropLast())%00", "before"),
        ("before=\(String(repeating: "z", count: 40))", "before"),
        ("before=';DROP%20TABLE%20events;--0123456789012345", "before"),
        ("limit=0", "limit"), ("limit=", "limit"), ("limit=-1", "limit"), ("limit=1.0", "limit"), ("limit=x", "limit"),
        ("limit=1&limit=1", "limit"), ("limit=%31%", "limit"), ("ent=", "ent"), ("ent=a,", "ent"),
        ("ent=a&ent=a", "ent"),
        ("ent=\(names(17))", "ent"), ("ent=%FF", "ent"), ("ent=\(names(1, bytes: 65))", "ent"),
    ]
    static let refusedOfPages: [(query: String, name: String)] =
        refusedOfBoth + [
            ("after=x", "after"), ("after=\(aid)&after=\(aid)", "after"), ("from=x", "from"), ("from=-1", "from"),
            ("from=", "from"), ("from=1&from=1", "from"), ("from=1e3", "from"), ("to=%20", "to"), ("to=1&to=", "to"),
            ("order=DESC", "order"), ("order=", "order"), ("order=asc&order=asc", "order"), ("id=x", "id"),
            ("ent=a,b&id=x", "id"), ("ent=a&id=", "id"), ("ent=a&id=%FF", "id"), ("ent=a&id=x&id=x", "id"),
            ("ent=a&id=\(String(repeating: "x", count: 256))", "id"), ("ent=a&id=%4", "id"),
        ]
    static let refusedOfInboxes: [(query: String, name: String)] =
        refusedOfBoth + [
            ("unread=0", "unread"), ("unread=", "unread"), ("unread=true", "unread"), ("unread=1&unread=1", "unread"),
        ]

    @Test func `what cannot be read is refused with its name`() throws {
        for row in Self.refusedOfPages {
            let head = try requestHead("/archive/v1?\(row.query)")
            let refusal = #expect(throws: Refusal.self, "\(row.query)") { _ = try PageParameters.parse(head) }
            #expect(refusal?.code == .badParameter && refusal?.names(row.name) == true, "\(row.query)")
        }
        for row in Self.refusedOfInboxes {
            let head = try requestHead("/inbox/v1?\(row.query)")
            let refusal = #expect(throws: Refusal.self, "\(row.query)") { _ = try InboxParameters.parse(head) }
            #expect(refusal?.code == .badParameter && refusal?.names(row.name) == true, "\(row.query)")
        }
    }
}
