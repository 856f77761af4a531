import LiveUpdates
import Testing

@testable import Gateway

/// Joins after a cursor, reads, and the order in which they are answered.
struct IngestJoinTests {
    private func join(_ bench: IngestBench, _ number: UInt64, since: [UInt8]?, now: UInt64 = 0) {
        bench.take(
            .subscribe(
                IngestBench.subscriber("A", number),
                JoinRequest(since: since, withCursors: true, page: IngestBench.page)), now: now)
    }

    /// A cursor of the account, from which nothing was missed.
    private func cursor(_ bench: IngestBench) -> [UInt8] { bench.ingest.freshCursor(Account("A")).bytes }

    @Test func `the first page rides on the answer to a join, with a fresh cursor if it is the last`() async throws {
        let bench = try IngestBench(loops: 1)
        let since = cursor(bench)
        bench.take(.event("A", "1"), .event("B", "x"), .event("A", "2"))
        var request = JoinRequest(since: since, page: PageRequest(limit: 1, entities: nil, withCursors: false))
        bench.take(.subscribe(IngestBench.subscriber("A", 1), request))
        request.page.limit = 2
        bench.take(.subscribe(IngestBench.subscriber("A", 2), request))
        bench.take(.event("A", "3"))
        request.page.limit = 1
        request.page.alwaysFresh = true
        bench.take(.subscribe(IngestBench.subscriber("A", 3), request))
        #expect(
            await bench.lines(ofLoop: 0)
                == ["joined 1 resumed 1…", "joined 2 resumed 1,2. fresh", "A:3", "joined 3 resumed 1… fresh"])
    }

    @Test func `a position is read on from page by page`() async throws {
        let bench = try IngestBench(loops: 1)
        let since = cursor(bench)
        bench.take(.event("A", "1"), .event("B", "x"), .event("A", "2"), .event("A", "3"))
        guard
            case .accepted(let position, _) = bench.ingest.history.resume(
                since, account: Account("A"), now: 1_000, ends: .earlier)
        else {
            Issue.record("refused")
            return
        }
        let subscriber = IngestBench.subscriber("A", 1)
        bench.take(
            .read(
                subscriber,
                ReadRequest(position: position, page: PageRequest(limit: 2, entities: nil, withCursors: false))))
        bench.take(.event("A", "4"))
        bench.take(
            .read(subscriber, ReadRequest(position: position, page: IngestBench.page)))
        #expect(await bench.lines(ofLoop: 0) == ["page 1 1,2…", "page 1 1,2,3,4."])
    }

    @Test func `a cursor that cannot be read is refused with its reason`() async throws {
        let bench = try IngestBench(loops: 1)
        join(bench, 1, since: Array("nonsense".utf8))
        join(bench, 2, since: Array(cursor(bench).dropLast()))
        #expect(await bench.lines(ofLoop: 0) == ["joined 1 invalid", "joined 2 invalid"])
    }

    /// Another node that has read further.
    private func ahead() throws -> [UInt8] {
        let other = try IngestBench(loops: 1)
        other.take(.event("A", "1"), .event("A", "2"))
        return cursor(other)
    }

    @Test func `a cursor beyond the end that was seen waits, and is served when the records have come`() async throws {
        let bench = try IngestBench(loops: 1)
        join(bench, 1, since: try ahead())
        #expect(await bench.lines(ofLoop: 0) == [])
        bench.take(.event("A", "1"))
        #expect(await bench.lines(ofLoop: 0) == ["A:1"])
        bench.take(.event("A", "2"))
        #expect(await bench.lines(ofLoop: 0) == ["A:1", "A:2", "joined 1 resumed . fresh"])
    }

    /// A read that waits until the node has read as far as `upTo`.
    private func readUpTo(_ upTo: [UInt8], _ number: UInt64) -> IngestMessage {
        var page = IngestBench.page
        page.upTo = upTo
        return .read(
            IngestBench.subscriber("A", number),
            ReadRequest(position: StreamPosition(sequence: 0), page: page, waits: true))
    }

    @Test func `a read waits until the node has read as far as another one, and then has all of it`() async throws {
        let bench = try IngestBench(loops: 1)
        let far = try ahead()
        bench.take(readUpTo(far, 1))
        bench.take(.event("A", "1"))
        #expect(await bench.lines(ofLoop: 0) == [])
        bench.take(.event("A", "2"))
        bench.take(readUpTo(far, 2))
        #expect(await bench.lines(ofLoop: 0) == ["page 1 1,2. reached", "page 2 1,2. reached"])
    }

    @Test func `a read that waits no longer has what there is, and who goes has nothing`() async throws {
        let bench = try IngestBench(loops: 1)
        let far = try ahead()
        for number in [1, 2] as [UInt64] { bench.take(readUpTo(far, number)) }
        bench.take(.event("A", "1"))
        bench.take(.readNow(IngestBench.subscriber("A", 1)))
        bench.take(.readNow(IngestBench.subscriber("A", 1)))
        bench.take(.subscribe(IngestBench.subscriber("A", 2), JoinRequest(page: IngestBench.page)))
        bench.take(.unsubscribe(IngestBench.subscriber("A", 2), withCursors: false))
        bench.take(.event("A", "2"))
        #expect(await bench.lines(ofLoop: 0) == ["page 1 1. behind", "joined 2"])
    }

    @Test func `a cursor of another node that says nothing here is not waited for`() async throws {
        let bench = try IngestBench(loops: 1)
        bench.take(readUpTo(Array("nonsense".utf8), 1))
        #expect(await bench.lines(ofLoop: 0) == ["page 1 ."])
    }

    /// A look, in which the leader answered unless it was silent.
    private func look(_ bench: IngestBench, began: UInt64, now: UInt64? = nil, end: Int64? = 0) {
        if let end {
            bench.ingest.history.apply(
                IngestBench.partition,
                LogFacts(start: 0, liveFrom: 0, born: 0, known: 0, next: 0, end: end, endAsked: began))
        }
        bench.ingest.decide(now: now ?? began + 50, wallClock: 1_000)
    }

    @Test func `only two looks in a row that began after the cursor came can call it ahead`() async throws {
        let bench = try IngestBench(loops: 1)
        join(bench, 1, since: try ahead(), now: 100)
        look(bench, began: 99)
        look(bench, began: 100)
        #expect(await bench.lines(ofLoop: 0) == [])
        look(bench, began: 101)
        #expect(await bench.lines(ofLoop: 0) == ["joined 1 ahead"])
    }

    @Test func `a broker that told an old end, as one does that was paused, makes nobody ahead`() async throws {
        let bench = try IngestBench(loops: 1)
        join(bench, 1, since: try ahead(), now: 100)
        look(bench, began: 200, end: 1)
        #expect(await bench.lines(ofLoop: 0) == [])
        look(bench, began: 2_200, end: 2)
        #expect(await bench.lines(ofLoop: 0) == ["joined 1 resumed . fresh"])
    }

    @Test func `whoever seemed ahead once is served when nobody answers any more, but not sooner`() async throws {
        let bench = try IngestBench(loops: 1)
        join(bench, 1, since: try ahead(), now: 100)
        look(bench, began: 200)
        // The wait begins anew with the look that raised the doubt.
        look(bench, began: 4_200, now: 200 + UndecidedJoins<Ingest.Joiner>.patienceMilliseconds, end: nil)
        #expect(await bench.lines(ofLoop: 0) == [])
        look(bench, began: 6_200, now: 201 + UndecidedJoins<Ingest.Joiner>.patienceMilliseconds, end: nil)
        #expect(await bench.lines(ofLoop: 0) == ["joined 1 resumed . fresh"])
    }

    @Test func `a look in which the leader was silent makes nobody ahead`() async throws {
        let bench = try IngestBench(loops: 1)
        look(bench, began: 50)
        join(bench, 1, since: try ahead(), now: 100)
        look(bench, began: 200, end: nil)
        look(bench, began: 2_200, end: nil)
        #expect(await bench.lines(ofLoop: 0) == [])
        look(bench, began: 4_200, now: 100 + UndecidedJoins<Ingest.Joiner>.patienceMilliseconds, end: nil)
        #expect(await bench.lines(ofLoop: 0) == ["joined 1 resumed . fresh"])
    }

    /// No refresh ends, and no record comes: the wait is over all the same.
    @Test func `where the broker cannot be asked nobody is refused for being ahead`() async throws {
        let bench = try IngestBench(loops: 1)
        join(bench, 1, since: try ahead(), now: 100)
        bench.ingest.endWaits(now: 100 + UndecidedJoins<Ingest.Joiner>.patienceMilliseconds - 1, wallClock: 1_000)
        #expect(bench.ingest.undecided.count == 1)
        bench.ingest.endWaits(now: 100 + UndecidedJoins<Ingest.Joiner>.patienceMilliseconds, wallClock: 1_000)
        #expect(await bench.lines(ofLoop: 0) == ["joined 1 resumed . fresh"])
    }

    @Test func `whoever goes while its cursor is undecided gets no answer`() async throws {
        let bench = try IngestBench(loops: 1)
        join(bench, 1, since: try ahead())
        bench.take(.unsubscribe(IngestBench.subscriber("A", 1), withCursors: true))
        bench.take(.event("A", "1"), .event("A", "2"))
        #expect(await bench.lines(ofLoop: 0) == [])
    }

    @Test func `a reset tells each loop the cursors of its accounts, and positions from before are lost`() async throws
    {
        let bench = try IngestBench(loops: 2)
        bench.subscribe("A", loop: 0, 1)
        bench.subscribe("B", loop: 1, 2)
        bench.take(.event("A", "1"))
        bench.ingest.reset([.topic(0)], wallClock: 1_000)
        bench.take(
            .read(
                IngestBench.subscriber("A", 1),
                ReadRequest(position: StreamPosition(sequence: 0), page: IngestBench.page)))
        #expect(await bench.lines(ofLoop: 0) == ["joined 1", "A:1", "reset epoch [\"A\"]", "page 1 lost"])
        #expect(await bench.lines(ofLoop: 1) == ["joined 2", "reset epoch [\"B\"]"])
    }

    /// Of several reasons the first is given. Records that were removed, or could not be read, give positions no other meaning.
    @Test(arguments: [
        ([LostLogs.topic(0)], "epoch"), ([.partition(.init(topic: 0, number: 0))], "expired"),
        ([.partition(.init(topic: 0, number: 0)), .topic(1)], "epoch"),
        ([.topic(1), .partition(.init(topic: 0, number: 0))], "epoch"),
    ])
    func `why all clients resync`(_ lost: [LostLogs], _ why: String) async throws {
        let bench = try IngestBench(loops: 1)
        bench.subscribe("A", loop: 0, 1)
        bench.ingest.reset(lost, wallClock: 1_000)
        #expect(await bench.lines(ofLoop: 0) == ["joined 1", "reset \(why) [\"A\"]"])
    }
}
