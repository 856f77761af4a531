import HTTP
import LiveUpdates
import Testing

@testable import Gateway

struct SyncParametersTests {
    private func parse(_ query: String) throws -> SyncParameters {
        try SyncParameters.parse(
            requestHead("/sync/v1?\(query)", "Last-Event-ID: x\r\n"),
            SyncLimits(maximumEvents: 500, maximumWaitMilliseconds: 55_000))
    }

    @Test func `who asks for nothing gets a fresh cursor at once`() throws {
        let expected = SyncParameters(limit: 500)
        for query in ["", "x=1", "mode=&mode=x&beat=4&beat=5", "with=at,ts", "with=ts", "LIMIT=0"] {
            #expect(try parse(query) == expected, "\(query)")
        }
    }

    @Test func `ids in the archive are given to who asks for them`() throws {
        for query in ["with=aid", "with=at,ts,aid", "with=aid,aid", "with=ts%2Caid"] {
            #expect(try parse(query) == SyncParameters(limit: 500, withAid: true), "\(query)")
        }
    }

    @Test func `a cursor of another node is waited for as long as the client says, else for two seconds`() throws {
        for (query, milliseconds) in [("", 2_000), ("&wait=0", 0), ("&wait=7", 7_000), ("&wait=99", 55_000)] {
            let parameters = try parse("since=a&upto=A-_" + query)
            #expect(parameters.upTo == Array("A-_".utf8) && parameters.upToMilliseconds == milliseconds, "\(query)")
            #expect(parameters.mayWait == (milliseconds > 0), "\(query)")
        }
        #expect(try parse("upto=%4").upTo == [] && parse("upto=").upTo == [])
        // Nothing is missed by who has no cursor.
        #expect(try !parse("upto=a").mayWait && parse("since=a").upToMilliseconds == 0)
        let short = SyncLimits(maximumEvents: 500, maximumWaitMilliseconds: 300)
        #expect(try SyncParameters.parse(requestHead("/sync/v1?upto=a"), short).upToMilliseconds == 300)
    }

    @Test func `cursor and entities are read as they are for streams`() throws {
        #expect(try parse("since=%41-_").since == Array("A-_".utf8))
        #expect(try parse("since=").since == [] && parse("since=%4").since == [])
        #expect(try parse("ent=a,b").entities == EntityFilter(["b", "a"]))
        #expect(try parse("ent=\(names(16))").entities != nil)
    }

    @Test func `a limit is one or more, and over the node's it is that`() throws {
        for (text, limit) in [
            ("1", 1), ("499", 499), ("500", 500), ("501", 500), ("007", 7), ("9223372036854775807", 500),
            ("9223372036854775808", 500), ("99999999999999999999999999", 500),
        ] {
            #expect(try parse("limit=\(text)").limit == limit, "\(text)")
        }
    }

    @Test func `a wait is seconds, and over the node's it is that`() throws {
        for (text, milliseconds) in [
            ("0", 0), ("1", 1000), ("54", 54_000), ("55", 55_000), ("56", 55_000), ("18446744073709552", 55_000),
            ("9223372036854775807", 55_000), ("99999999999999999999999999", 55_000),
        ] as [(String, UInt64)] {
            #expect(try parse("wait=\(text)").waitMilliseconds == milliseconds, "\(text)")
        }
    }

    static let refused: [(query: String, name: String)] =
        refusedOfBoth
        + ["limit", "wait"].flatMap { name in
            ["=", "", "=-1", "=+1", "=1.5", "=1s", "=%201", "=1%20", "=1,1", "=%", "=%D9%A5", "=1&\(name)=1"].map {
                (name + $0, name)
            }
        } + [("limit=0", "limit"), ("limit=00", "limit"), ("upto=a&upto=a", "upto")]

    @Test(arguments: refused.indices) func `what the table does not allow is refused by its name`(row: Int) throws {
        let (query, name) = Self.refused[row]
        let error = #expect(throws: Refusal.self) { try parse(query) }
        #expect(error?.code == .badParameter && error?.names(name) == true, "\(query)")
    }
}
