import Testing

@testable import HTTP

@Suite struct `Server-sent events at their reader` {
    static func event(_ data: String, name: String = "", id: String? = nil) -> StreamedEvent {
        StreamedEvent(name: Array(name.utf8), data: Array(data.utf8), lastID: id.map { Array($0.utf8) })
    }

    @Test(arguments: [
        ("data: a\n\n", [event("a")]), ("data:a\r\rdata:  b\r\n\r\n", [event("a"), event(" b")]),
        ("\u{FEFF}data: a\n\n", [event("a")]), ("data: a\ndata\ndata: b\n\n", [event("a\n\nb")]),
        ("event: live\nid: 7\ndata: {}\n\ndata: a\n\n", [event("{}", name: "live", id: "7"), event("a", id: "7")]),
        (": a comment\n\nevent: x\n\ndata: a\n\n", [event("a")]), ("data: cut", []), ("data: cut\n", []),
        ("id: a\0b\ndata: a\n\n", [event("a")]), ("ids: 1\ndatas: 2\ndata: a\n\n", [event("a")]), ("\n\n\r\n", []),
        ("data\n\n", [event("")]), ("retry: 10\ndata: a\n\n", [event("a")]),
    ]) func `are read alike for every cut`(_ input: String, _ expected: [StreamedEvent]) throws {
        let bytes = Array(input.utf8)
        for cut in 0...bytes.count {
            var parser = EventStreamParser(maximumEventBytes: 100)
            var events: [StreamedEvent] = []
            try parser.consume(Array(bytes[..<cut]), into: &events)
            try parser.consume(Array(bytes[cut...]), into: &events)
            #expect(events == expected, "cut at \(cut)")
        }
    }

    @Test func `have a limit in one line and in many`() throws {
        func read(_ text: String) throws -> Int {
            var parser = EventStreamParser(maximumEventBytes: 10)
            var events: [StreamedEvent] = []
            try parser.consume(Array(text.utf8), into: &events)
            return events.count
        }
        #expect(try read("data:12345\n\n") == 1)
        #expect(throws: EventStreamFault(limitBytes: 10)) { try read("data:123456\n") }
        #expect(try read("data:1234\ndata:1234\n\n") == 1)
        #expect(throws: EventStreamFault(limitBytes: 10)) { try read("data:12345\ndata:12345\n") }
    }

    @Test func `say when to come back`() throws {
        var parser = EventStreamParser(maximumEventBytes: 100)
        var events: [StreamedEvent] = []
        try parser.consume(Array("retry: 2500\nretry: x\n".utf8), into: &events)
        #expect(parser.retryMilliseconds == 2500)
    }
}

@Suite struct `Parameters of an address` {
    @Test(arguments: [
        ("ws://h/live/v1", "/live/v1?since=a-_b&with=at,ts"),
        ("ws://h/?since=x&a=1&with=&since=y", "/?a=1&since=a-_b&with=at,ts"),
        ("ws://h?%73ince=1&b", "/?b&since=a-_b&with=at,ts"), ("ws://h/p?&&", "/p?since=a-_b&with=at,ts"),
    ]) func `take the place of those of their name`(_ url: String, _ target: String) throws {
        #expect(try WebSocketURL(url).setting([("since", "a-_b"), ("with", "at,ts")]).target == target)
    }

    @Test func `are encoded, and left alone where there are none`() throws {
        #expect(try WebSocketURL("ws://h/").setting([("ent", "a b&\u{FC}")]).target == "/?ent=a%20b%26%C3%BC")
        #expect(try WebSocketURL("ws://h/?a=%zz").setting([]).target == "/?a=%zz")
        #expect(try WebSocketURL("ws://h/?a=%41").parameter("a") == .one([0x41]))
        #expect(try WebSocketURL("ws://h/").parameter("a") == .absent)
    }

    @Test(arguments: [
        ("ws://h/live/v1", "/sync/v1"), ("ws://h/x/live/v1?a=/live/v1", "/x/sync/v1?a=/live/v1"),
        ("ws://h/sync/v1", "/sync/v1"), ("ws://h/", "/"),
    ]) func `go with another path`(_ url: String, _ target: String) throws {
        #expect(try WebSocketURL(url).replacing(pathSuffix: "/live/v1", with: "/sync/v1").target == target)
    }
}
