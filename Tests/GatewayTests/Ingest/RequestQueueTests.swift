// Tests: IngestRequests.swift

import LiveUpdates
import TestHarness
import Testing

@testable import Gateway

/// What stands between two drains of Kafka, however many ask.
struct RequestQueueTests {
    private func read(
        _ number: UInt64, limit: Int, entities: EntityFilter? = nil, account: String = "A"
    ) -> IngestMessage {
        .read(
            IngestBench.subscriber(account, number),
            ReadRequest(
                position: StreamPosition(sequence: 0),
                page: PageRequest(limit: limit, entities: entities, withCursors: false)))
    }

    /// The connections whose requests each slice answers.
    private func slices(_ requests: inout RequestQueue, work: (IngestMessage) -> Int) -> [[UInt64]] {
        var slices: [[UInt64]] = []
        while !requests.isEmpty {
            var served: [UInt64] = []
            requests.serveSlice { message in
                served.append(message.number)
                return work(message)
            }
            slices.append(served)
        }
        return slices
    }

    @Test func `whoever asks of another account waits for one page, however many readers there are`() {
        var requests = RequestQueue()
        _ = requests.add((0..<1_000).map { read($0, limit: 500) })
        _ = requests.add([read(1_000, limit: 500, account: "B")])
        var before = 0
        var answered: Int?
        while !requests.isEmpty {
            requests.serveSlice { message in
                if message.number == 1_000 { answered = before }
                before += 500
                return 500
            }
        }
        #expect(answered == 500)
        #expect(before == 1_001 * 500)
    }

    @Test func `whoever leaves takes back what it asked, and a join with its end is nothing`() {
        var requests = RequestQueue()
        let page = PageRequest(limit: 500, entities: nil, withCursors: false)
        func join(_ number: UInt64) -> IngestMessage {
            .subscribe(IngestBench.subscriber("A", number), JoinRequest(page: page))
        }
        func leave(_ number: UInt64) -> IngestMessage {
            .unsubscribe(IngestBench.subscriber("A", number), withCursors: false)
        }
        // Served before it leaves: its reads go, its end is noted.
        _ = requests.add([join(0)])
        requests.serveSlice { _ in 1 }
        _ = requests.add([read(0, limit: 9), .freshCursor(IngestBench.subscriber("A", 0))])
        _ = requests.add((1...1_000).map(join))
        _ = requests.add((1...1_000).filter { $0 != 500 }.map(leave) + [leave(0)])
        #expect(requests.count == 2)
        var served: [UInt64] = []
        requests.serveSlice { message in
            served.append(message.number)
            return 1
        }
        #expect(served == [500, 0])
        #expect(requests.isEmpty)
        // The same connection may ask again.
        _ = requests.add([join(1), read(1, limit: 1)])
        #expect(requests.count == 2)
    }

    @Test(arguments: 0..<20 as Range<UInt64>) func `each request is served once and in its account's order`(
        seed: UInt64
    ) {
        var generator = SeededGenerator(seed: seed)
        var requests = RequestQueue()
        var expected: [String: [UInt64]] = [:]
        var accounts: [UInt64: String] = [:]
        var number: UInt64 = 0
        for _ in 0..<400 {
            for _ in 0..<generator.below(8) {
                let account = "A\(generator.below(5))"
                if generator.isOne(in: 3), let gone = accounts.keys.min(), let owner = accounts[gone] {
                    // A waiting read goes, and the end takes its place at the end of the line.
                    _ = requests.add([.unsubscribe(IngestBench.subscriber(owner, gone), withCursors: false)])
                    expected[owner]?.removeAll { $0 == gone }
                    expected[owner, default: []].append(gone)
                    accounts[gone] = nil
                } else {
                    _ = requests.add([read(number, limit: 1, account: account)])
                    expected[account, default: []].append(number)
                    accounts[number] = account
                    number += 1
                }
            }
            guard generator.isOne(in: 2) else { continue }
            requests.serveSlice { message in
                let account = message.subscriber?.account.text ?? ""
                #expect(expected[account]?.first == message.number)
                expected[account]?.removeFirst()
                accounts[message.number] = nil
                return 1 + generator.below(RequestQueue.maximumWork)
            }
        }
        while !requests.isEmpty {
            requests.serveSlice { message in
                let account = message.subscriber?.account.text ?? ""
                #expect(expected[account]?.first == message.number)
                expected[account]?.removeFirst()
                return 1
            }
        }
        #expect(expected.values.allSatisfy { $0.isEmpty })
    }

    @Test func `a slice ends with the request that fills it, and the rest waits in order`() {
        var requests = RequestQueue()
        _ = requests.add((0..<7).map { read($0, limit: 1) })
        let half = RequestQueue.maximumWork / 2
        let served1 = slices(&requests) { _ in half }
        #expect(served1 == [[0, 1], [2, 3], [4, 5], [6]])
        _ = requests.add([read(7, limit: 1)])
        let served2 = slices(&requests) { _ in half }
        #expect(served2 == [[7]])
    }

    @Test func `what comes while others wait stands behind them, whatever it costs`() {
        var requests = RequestQueue()
        _ = requests.add((0..<3).map { read($0, limit: 1) })
        var served: [UInt64] = []
        for number in 3..<8 as Range<UInt64> {
            requests.serveSlice { message in
                served.append(message.number)
                return RequestQueue.maximumWork
            }
            _ = requests.add([read(number, limit: 1)])
        }
        served += slices(&requests) { _ in 1 }.flatMap(\.self)
        #expect(served == Array(0..<8))
    }

    @Test func `the leave to read on waits for nobody`() {
        var requests = RequestQueue()
        let before = requests.add([read(0, limit: 1)])
        let mayReadOn = requests.add([read(1, limit: 1), .caughtUp])
        #expect(!before && mayReadOn)
        let served3 = slices(&requests) { _ in 0 }
        #expect(served3 == [[0, 1]])
    }

    @Test func `pages count by the events that they hold, joins with theirs, and whoever leaves costs little`() throws {
        let bench = try IngestBench(loops: 1)
        let since = bench.ingest.freshCursor(Account("A")).bytes
        for number in 0..<100 { bench.take(.event("A", "\(number)")) }
        let small = bench.take(read(1, limit: 10))
        #expect(bench.take(read(1, limit: 60)) == small + 50)
        #expect(bench.take(read(1, limit: 1_000)) == small + 90)
        let subscriber = IngestBench.subscriber("A", 2)
        var join = JoinRequest(since: since, page: PageRequest(limit: 10, entities: nil, withCursors: false))
        let first = bench.take(.subscribe(subscriber, join))
        join.page.limit = 60
        #expect(bench.take(.subscribe(subscriber, join)) == first + 50)
        #expect(bench.take(.unsubscribe(subscriber, withCursors: false)) < 10)
    }

    @Test func `what a filter leaves out counts an eighth, so that an empty page is not free`() throws {
        let bench = try IngestBench(loops: 1)
        for number in 0..<800 { bench.take(.event("A", "\(number)")) }
        let nothing = bench.take(read(1, limit: 10, entities: EntityFilter(["never"])))
        let none = bench.take(
            .read(
                IngestBench.subscriber("B", 2),
                ReadRequest(
                    position: StreamPosition(sequence: 800),
                    page: PageRequest(limit: 10, entities: EntityFilter(["never"]), withCursors: false))))
        #expect(nothing == none + 100)
    }

    @Test func `records of others are read between the pages of a thousand readers`() async throws {
        let bench = try IngestBench(loops: 1)
        for number in 0..<1_000 { bench.take(.event("A", "\(number)")) }
        bench.subscribe("B", loop: 0, 9_999)
        var requests = RequestQueue()
        _ = requests.add((0..<1_000).map { read($0, limit: 500) })
        var most = 0
        var slices = 0
        while !requests.isEmpty {
            var events = 0
            requests.serveSlice { message in
                let work = bench.take(message)
                events += work
                return work
            }
            most = max(most, events)
            slices += 1
            bench.take(.event("B", "between"))
        }
        #expect(most < RequestQueue.maximumWork + 504)
        #expect(slices >= 1_000 * 500 / (RequestQueue.maximumWork + 504))
        let lines = await bench.lines(ofLoop: 0)
        #expect(lines.filter { $0 == "B:between" }.count == slices)
    }
}

extension IngestMessage {
    /// The connection that it comes from.
    fileprivate var number: UInt64 {
        switch self {
        case .subscribe(let subscriber, _), .unsubscribe(let subscriber, _), .read(let subscriber, _),
            .readNow(let subscriber), .freshCursor(let subscriber), .snapshotCursor(let subscriber, _):
            subscriber.connection.number
        case .caughtUp: .max
        }
    }
}
