// Tests: LiveArchive.swift, LiveArchive+Lists.swift, ArchiveRequest.swift, ArchivePage.swift
import LiveState
import TestHarness
import Testing

@testable import LiveClient

/// Pages and inboxes, against a server that answers as it is told.
struct LiveArchiveTests {
    typealias Server = `The connection of an application`

    static func answer(_ status: String, _ body: String) -> [Step] {
        [.awaitHead, Server.answer(status, "application/json", body), .close]
    }

    static func line(_ aid: String, _ more: String = "") -> String {
        #"{"ent":"incident","id":"P\#(aid)","type":"created","ts":1795240000000,"aid":"\#(aid)"\#(more)}"#
    }

    static func past(_ aids: String..., more: Bool = false, rest: String = #","gaps":[]"#) -> String {
        #"{"events":[\#(aids.map { line($0) }.joined(separator: ","))],"more":\#(more)\#(rest)}"#
    }

    static func refused(_ status: String, _ retryAfter: String) -> [Step] {
        let head = "HTTP/1.1 \(status)\r\nRetry-After: \(retryAfter)\r\nContent-Length: 0\r\n\r\n"
        return [.awaitHead, .send(head), .close]
    }

    /// A server with these answers, the last of them for all further requests.
    static func serve(_ scripts: [[Step]]) throws -> ScriptedServer {
        let at = { (index: Int) in scripts[min(index, scripts.count - 1)] }
        return try ScriptedServer(at(0), at(1), at(2), at(3), at(4))
    }

    static func client(_ server: ScriptedServer, _ tokens: Shared<Int> = Shared(0)) throws -> LiveClient {
        try `The client of an application`.client(server) {
            tokens.update { $0 += 1 }
            return "t\(tokens.value)"
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `pages lead backwards until the end, and the first says where to be live from`() async throws {
        let first = Self.past(
            "e", "d", more: true, rest: #","at":"here","gaps":[{"from":5,"to":9},{"to":3},{"from":7}]"#)
        let server = try Self.serve([
            Self.answer("200 OK", first), Self.answer("200 OK", Self.past("c", "b", more: true)),
            Self.answer("200 OK", Self.past("a")), Self.answer("500 No", ""),
        ])
        let request = ArchiveRequest(thing: Thing(entity: "incident", id: "a b"), limit: 2)
        var pages: [ArchivePage] = []
        for try await page in try Self.client(server).archive.pages(request) { pages.append(page) }
        #expect(pages.map { $0.events.map(\.aid?.text) } == [["e", "d"], ["c", "b"], ["a"]])
        #expect(pages.map(\.more) == [true, true, false])
        #expect(pages.map(\.at) == [LiveCursor("here"), nil, nil])
        let gaps = [ArchiveGap(from: 5, to: 9), ArchiveGap(from: 0, to: 3), ArchiveGap(from: 7, to: nil)]
        #expect(pages.map(\.gaps) == [gaps, [], []])
        #expect(pages[0].events[0].ts == 1_795_240_000_000)
        let targets = Server.targets(server)
        #expect(targets.count == 3)
        #expect(targets.allSatisfy { $0.hasPrefix("/archive/v1?") && $0.contains("ent=incident&id=a%20b") })
        #expect(targets.map { $0.contains("before=d") } == [false, true, false])
        #expect(targets.map { $0.contains("before=b") } == [false, false, true])
    }

    @Test(.timeLimit(.minutes(5))) func `a page that failed is asked for again, and none is left out`() async throws {
        let server = try Self.serve([
            Self.answer("200 OK", Self.past("a", more: true)), Self.answer("500 No", ""),
            Self.answer("200 OK", Self.past("b")),
        ])
        var pages = try Self.client(server).archive.pages(ArchiveRequest(order: .oldestFirst)).makeAsyncIterator()
        #expect(try await pages.next()?.events.map(\.aid?.text) == ["a"])
        await #expect(throws: ArchiveError.unavailable(status: 500, retryAfter: nil)) { try await pages.next() }
        #expect(try await pages.next()?.events.map(\.aid?.text) == ["b"])
        #expect(try await pages.next() == nil)
        #expect(
            Server.targets(server).map { $0.contains("order=asc") && $0.contains("after=a") } == [false, true, true])
    }

    struct Row: Sendable {
        let scripts: [[Step]]
        /// Nil: a page.
        let error: ArchiveError?
        var requests = 1
        var waits = 0
    }

    private static let good = answer("200 OK", past("a"))
    private static let unreachable = ArchiveError.unreachable("")

    static let rows: [Row] = [
        Row(scripts: [good], error: nil),
        Row(scripts: [answer("200 OK", "<html>")], error: unreachable),
        Row(scripts: [answer("200 OK", #"{"events":[],"more":false}"#)], error: unreachable),
        Row(scripts: [answer("200 OK", #"{"events":[{"ent":"a"}],"more":false,"gaps":[]}"#)], error: unreachable),
        Row(scripts: [answer("200 OK", past("a").replacing(#","aid":"a""#, with: ""))], error: unreachable),
        Row(
            scripts: [[.awaitHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n" + past("a")), .close]],
            error: unreachable),
        Row(scripts: [[.awaitHead, .close]], error: unreachable),
        Row(scripts: [answer("401 No", ""), good], error: nil, requests: 2),
        Row(scripts: [answer("401 No", "")], error: .unauthorized, requests: 2),
        Row(scripts: [answer("403 No", "")], error: .forbidden),
        Row(scripts: [answer("404 No", #"{"code":"not_found"}"#)], error: .off),
        Row(scripts: [answer("410 No", #"{"code":"resync"}"#)], error: .refused(status: 410, code: "resync")),
        Row(scripts: [answer("503 No", "")], error: .unavailable(status: 503, retryAfter: nil)),
        Row(scripts: [refused("503 No", "1"), refused("429 No", "2"), good], error: nil, requests: 3, waits: 2),
        Row(scripts: [refused("503 No", "60")], error: .unavailable(status: 503, retryAfter: 60_000)),
        Row(scripts: [refused("503 No", "0")], error: .unavailable(status: 503, retryAfter: 0), requests: 5, waits: 4),
    ]

    @Test(.timeLimit(.minutes(5)), arguments: rows.indices)
    func `each answer is a page, or says why there is none`(_ index: Int) async throws {
        let row = Self.rows[index]
        let (waits, tokens, server) = (Shared<[Milliseconds]>([]), Shared(0), try Self.serve(row.scripts))
        var archive = try Self.client(server, tokens).archive
        archive.sleep = { wait in waits.update { $0.append(wait) } }
        do {
            let page = try await archive.page()
            #expect(row.error == nil && page.events.map(\.aid?.text) == ["a"])
        } catch .unreachable {
            #expect(row.error == Self.unreachable)
        } catch {
            #expect(error == row.error)
        }
        #expect(Server.targets(server).count == row.requests && waits.value.count == row.waits)
        // Each request shows the token that the app has then.
        let heads = server.received.map { String(decoding: $0, as: UTF8.self) }
        #expect(
            heads.indices.allSatisfy { heads[$0].contains("Bearer t\($0 + 1)\r\n") } && tokens.value == row.requests)
    }

    @Test func `a page that was cut at the limit is none`() {
        let body = Array(Self.past("a").utf8)
        let answers = [false, true].map { isTruncated in
            ServerAnswer(status: 200, reason: [], headers: .init(), body: body, isTruncated: isTruncated)
        }
        #expect(answers.map { ArchivePage.read($0) != nil } == [true, false])
    }

    @Test(.timeLimit(.minutes(5))) func `an inbox has its things, what is unread of each, and the badge`() async throws
    {
        func inbox(_ lines: String, more: Bool) -> [Step] {
            Self.answer("200 OK", #"{"things":[\#(lines)],"unread_things":17,"more":\#(more),"at":"here"}"#)
        }
        let server = try Self.serve([
            inbox(Self.line("c", #","unread":3"#) + "," + Self.line("b", #","unread":999"#), more: true),
            inbox(Self.line("a", #","unread":0"#), more: false), inbox(Self.line("a"), more: false),
        ])
        let archive = try Self.client(server).archive
        var pages: [InboxPage] = []
        for try await page in archive.inboxPages(InboxRequest(isUnreadOnly: true, limit: 2)) { pages.append(page) }
        #expect(pages.map { $0.things.map(\.unread) } == [[3, 999], [0]])
        #expect(pages.map { $0.things.map(\.thing.id) } == [["Pc", "Pb"], ["Pa"]])
        #expect(pages.map(\.unreadThings) == [17, 17] && pages[0].at == LiveCursor("here"))
        #expect(Server.targets(server).map { $0.contains("unread=1&limit=2") } == [true, true])
        #expect(Server.targets(server).map { $0.contains("before=b") } == [false, true])
        // A line that does not say what is unread is none.
        await #expect(throws: ArchiveError.self) { try await archive.inbox() }
    }

    @Test func `a list asks from its ends, and at an item with it or without`() async throws {
        let server = try Self.serve([Self.good])
        let source = ArchivePageSource(try Self.client(server).archive)
        func asked(_ end: ListEnd, _ direction: ListDirection, _ isInclusive: Bool = false) -> ArchiveRequest {
            source.asking(PageRequest(from: end, direction: direction, limit: 7, isInclusive: isInclusive))
        }
        let item = ListEnd.at(key: ListKey(EventID("a-")))
        #expect(asked(.end, .backward) == ArchiveRequest(limit: 7))
        #expect(asked(.beginning, .forward) == ArchiveRequest(order: .oldestFirst, limit: 7))
        #expect(asked(item, .backward).before == EventID("a-"))
        #expect(asked(item, .backward, true).before == EventID("a0"))
        #expect(asked(item, .forward).after == EventID("a-"))
        #expect(asked(item, .forward, true).after == EventID("_z"))
        let page = try await source.page(PageRequest(from: .end, direction: .backward, limit: 7, isInclusive: false))
        #expect(page.items.map(\.id) == ["a"] && page.isLast)
    }

    @Test(.timeLimit(.minutes(5)))
    func `an item is its event, which is asked for unless it came live, and gaps are told`() async throws {
        let server = try Self.serve([
            Self.answer("200 OK", Self.past("b", rest: #","gaps":[{"from":5,"to":9}]"#)),
            Self.answer("200 OK", Self.past("b")),
            Self.answer("200 OK", Self.past()), Self.answer("404 No", ""),
        ])
        let gaps = Shared<[ArchiveGap]>([])
        let wanted = ArchiveRequest(thing: Thing(entity: "incident", id: "Pb"))
        let source = ArchivePageSource(try Self.client(server).archive, wanted) { found in gaps.update { $0 += found } }
        let page = PageRequest(from: .end, direction: .backward, limit: 7, isInclusive: false)
        #expect(try await source.page(of: "any", page).items.map(\.id) == ["b"])
        #expect(gaps.value == [ArchiveGap(from: 5, to: 9)])
        func found(_ aid: String) async throws -> EventID? {
            try await source.reload(Thing(entity: "past", id: aid)).value?.aid
        }
        #expect(try await found("b") == EventID("b"))
        #expect(Server.targets(server).last?.contains("ent=incident&id=Pb") == true)
        #expect(Server.targets(server).last?.contains("before=c&after=a") == true)
        #expect(try await found("b") == nil)
        await #expect(throws: RequestError(status: 404)) { try await found("b") }
        for number in 0...1000 {
            source.keep(LiveEvent(entity: "incident", id: "Pb", type: "made", aid: EventID("\(number)")))
        }
        #expect(try await found("1000") == EventID("1000"))
        #expect(try await found("1") == EventID("1"))
        // What is not asked for is none of the list's.
        #expect(!source.keep(LiveEvent(entity: "incident", id: "P", type: "made", aid: EventID("1001"))))
        #expect(!source.keep(LiveEvent(entity: "incident", id: "Pb", type: "made")))
        #expect(Server.targets(server).count == 4)
        // The oldest of them has given way.
        await #expect(throws: RequestError(status: 404)) { try await found("0") }
    }

    @Test func `a page whose gaps could not be kept has failed, and counts when they are`() async throws {
        let server = try Self.serve([Self.answer("200 OK", Self.past("b", rest: #","gaps":[{"from":5,"to":9}]"#))])
        let kept = Shared<[ArchiveGap]>([])
        let isFull = Shared(true)
        let source = ArchivePageSource(try Self.client(server).archive) { found in
            if isFull.value { throw StoreError.failed(code: 13, message: "database or disk is full") }
            await Task.yield()
            kept.update { $0 += found }
        }
        let request = PageRequest(from: .end, direction: .backward, limit: 7, isInclusive: false)
        await #expect(throws: StoreError.self) { try await source.page(request) }
        isFull.update { $0 = false }
        #expect(try await source.page(request).items.map(\.id) == ["b"])
        #expect(kept.value == [ArchiveGap(from: 5, to: 9)])
    }

    @Test(.timeLimit(.minutes(5)), arguments: [("am", 0), ("an", 1), ("ao", 0)])
    func `an item outside of the limits is none of the list's`(aid: String, asked: Int) async throws {
        let server = try Self.serve([Self.answer("200 OK", Self.past(aid))])
        let limits = ArchiveRequest(before: EventID("ao"), after: EventID("am"))
        let source = ArchivePageSource(try Self.client(server).archive, limits)
        let found = try await source.reload(Thing(entity: "past", id: aid)).value
        #expect(found?.aid == (asked == 0 ? nil : EventID(aid)))
        #expect(Server.targets(server).count == asked)
    }

    /// What came live, what a page of the archive has besides, and what the list gets of both.
    struct Late: Sendable {
        let kept: [String]
        let request: PageRequest
        let answer: String
        let items: [String]
        var isLast = false
        var wanted = ArchiveRequest()
    }

    private static let behindM = PageRequest(
        from: .at(key: ListKey(EventID("m"))), direction: .backward, limit: 3, isInclusive: false)
    private static let fromStart = PageRequest(from: .beginning, direction: .forward, limit: 3, isInclusive: false)

    static let lates: [Late] = [
        Late(kept: ["g"], request: behindM, answer: past("h", "f", more: true), items: ["h", "g", "f"]),
        // Beyond the ends of the page.
        Late(kept: ["m", "z", "e"], request: behindM, answer: past("h", "f", more: true), items: ["h", "f"]),
        // Nothing is behind it: whatever is older belongs to it.
        Late(kept: ["e"], request: behindM, answer: past("h", "f"), items: ["h", "f", "e"], isLast: true),
        Late(kept: ["e"], request: behindM, answer: past(), items: ["e"], isLast: true),
        // More than were asked for: the rest comes by the next page.
        Late(kept: ["g", "e"], request: behindM, answer: past("h", "f"), items: ["h", "g", "f"]),
        Late(kept: ["h"], request: behindM, answer: past("h", "f"), items: ["h", "f"], isLast: true),
        Late(kept: ["b", "y"], request: fromStart, answer: past("a", "c", more: true), items: ["a", "b", "c"]),
        // Another thing, another entity, another time.
        Late(
            kept: ["g"], request: behindM, answer: past("h"), items: ["h"], isLast: true,
            wanted: ArchiveRequest(thing: Thing(entity: "incident", id: "Ph"))),
        Late(
            kept: ["g"], request: behindM, answer: past("h"), items: ["h"], isLast: true,
            wanted: ArchiveRequest(entities: ["note"])),
        Late(
            kept: ["g"], request: behindM, answer: past("h"), items: ["h"], isLast: true,
            wanted: ArchiveRequest(to: 1_795_240_000_000)),
        Late(
            kept: ["g"], request: behindM, answer: past("h"), items: ["h", "g"], isLast: true,
            wanted: ArchiveRequest(from: 1_795_240_000_000, entities: ["incident"])),
    ]

    @Test(.timeLimit(.minutes(5)), arguments: lates.indices)
    func `an event that came late is not lost to a page which the archive gave before it had it`(
        _ index: Int
    ) async throws {
        let row = Self.lates[index]
        let server = try Self.serve([Self.answer("200 OK", row.answer)])
        let source = ArchivePageSource(try Self.client(server).archive, row.wanted)
        for aid in row.kept {
            source.keep(
                LiveEvent(entity: "incident", id: "P\(aid)", type: "created", ts: 1_795_240_000_000, aid: EventID(aid)))
        }
        let page = try await source.page(row.request)
        #expect(page.items.map(\.id) == row.items && page.isLast == row.isLast)
        // What was erased does not come back.
        source.forget()
        let later = try await source.page(row.request)
        #expect(later.items.map(\.id) == row.items.filter { row.answer.contains("\"aid\":\"\($0)\"") })
    }
}
