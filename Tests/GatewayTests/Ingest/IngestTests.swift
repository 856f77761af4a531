// Tests: SkipLog.swift

import GatewaySettings
import LiveUpdates
import Logging
import Reactor
import Synchronization
import Testing

@testable import Gateway

/// A record made by hand.
struct PlainRecord: RecordReading {
    var topic = "incidents"
    var value: String?

    static func event(_ account: String, _ id: String) -> PlainRecord {
        PlainRecord(
            value: #"{"account_id":"\#(account)","entity":"incidents::incident","id":"\#(id)","type":"created"}"#)
    }

    func readValue(_ body: (Span<UInt8>) -> Void) -> Bool {
        guard let value else { return false }
        body(value.utf8Span.span)
        return true
    }
    func readKey(_ body: (Span<UInt8>) -> Void) -> Bool { false }
    func readHeader(_ name: String, _ body: (Span<UInt8>) -> Void) -> Bool { false }
}

/// An ingest whose loops write down what they get: `joined N`, `ACCOUNT:ID,ID`.
final class IngestBench {
    let ingest: Ingest
    let backlogs: [LoopBacklog]
    private let loops: [EventLoop]
    private let heard: [Heard]

    final class Heard: Sendable {
        let lines = Mutex<[String]>([])
        /// Of the last reset of each account.
        let cursors = Mutex<[Account: CursorText]>([:])
    }

    init(loops count: Int = 2, preset: String = "rails") throws {
        let loops = try (0..<count).map { try EventLoop(label: "test \($0)") }
        let heard = loops.map { _ in Heard() }
        let backlogs = loops.map { _ in LoopBacklog() }
        var outlets: [Ingest.Outlet] = []
        for (index, loop) in loops.enumerated() {
            let heard = heard[index]
            let mailbox = Mailbox<FanOutMessage>(loop: loop) { messages in
                for case .reset(_, _, let cursors) in messages {
                    heard.cursors.withLock { $0.merge(cursors) { $1 } }
                }
                let lines = messages.flatMap { message -> [String] in
                    switch message {
                    case .joined(let id, let answer): ["joined \(id.number)" + answer.outcome.word]
                    case .events(let batch, _):
                        batch.map { "\($0.account.text):" + $0.events.map(\.event.id).joined(separator: ",") }
                    case .page(let id, let page):
                        ["page \(id.number) " + page.answer.words + (page.reach == .unasked ? "" : " \(page.reach)")]
                    case .fresh(let id, _): ["fresh \(id.number)"]
                    case .reset(let why, _, let cursors): ["reset \(why) \(cursors.keys.map(\.text).sorted())"]
                    case .source(let state): ["source \(state)"]
                    case .snapshotCursor(let id, let answer):
                        [
                            "cursor \(id.number)" + (answer.isBehind ? " behind" : "")
                                + (Cursor(answer.cursor.bytes)?.positions.map { " \($0.partition.number):\($0.offset)" }
                                ?? [])
                                .joined()
                        ]
                    case .archive, .read: []
                    }
                }
                heard.lines.withLock { $0 += lines }
            }
            outlets.append(Ingest.Outlet(mailbox: mailbox, backlog: backlogs[index]))
        }
        self.loops = loops
        self.heard = heard
        self.backlogs = backlogs
        ingest = Ingest(
            mapper: EventMapper(try EventMapping(.init(preset: preset))), limits: HistoryLimits(Settings().history),
            outlets: outlets,
            skipped: SkipLog(logger: Logger("test", to: SilentLog())))
        ingest.begin(Epoch(number: 1))
        open()
    }

    /// Reads the partition from its beginning; again after a reset.
    func open() {
        offset = 0
        ingest.history.apply(Self.partition, LogFacts(start: 0, liveFrom: 0, born: 0, known: 0, next: 0))
    }

    static let partition = PartitionName(topic: 0, number: 0)
    private var offset: Int64 = 0

    func take(_ records: PlainRecord...) {
        ingest.beginWake(wallClock: 1_000)
        for record in records {
            ingest.take(record, Self.partition, offset: offset, timestamp: 1_000, now: 0)
            offset += 1
        }
        ingest.endWake(now: 0)
    }

    func subscribe(_ account: String, loop: Int, _ number: UInt64) {
        take(.subscribe(Self.subscriber(account, loop: loop, number), JoinRequest(page: Self.page)))
    }

    @discardableResult
    func take(_ message: IngestMessage, now: UInt64 = 0) -> Int { ingest.handle(message, now: now, wallClock: 1_000) }

    static let page = PageRequest(limit: 9, entities: nil, withCursors: false)

    static func subscriber(_ account: String, loop: Int = 0, _ number: UInt64) -> Subscriber {
        Subscriber(account: Account(account), loop: loop, connection: ConnectionID(number: number))
    }

    /// What a loop has heard, once everything posted has arrived.
    func lines(ofLoop index: Int) async -> [String] {
        // The mailbox's bell and this both queue on the loop; a second round is behind whatever the first woke.
        for _ in 0..<2 { await loops[index].perform {} }
        return heard[index].lines.withLock { $0 }
    }

    /// The same, each line once.
    func takeLines(ofLoop index: Int) async -> [String] {
        let lines = await lines(ofLoop: index)
        heard[index].lines.withLock { $0.removeFirst(lines.count) }
        return lines
    }

    /// The cursor that the account's last reset brought to a loop, once everything posted has arrived.
    func cursor(of account: String, onLoop index: Int) async -> CursorText? {
        _ = await lines(ofLoop: index)
        return heard[index].cursors.withLock { $0[Account(account)] }
    }

    deinit { for loop in loops { loop.stop() } }
}

extension JoinAnswer.Outcome {
    /// Nothing for a join from now on.
    var word: String {
        switch self {
        case .now: ""
        case .resumed(let page, _): " resumed " + page.answer.words + (page.fresh.bytes.isEmpty ? "" : " fresh")
        case .refused(let why): " \(why)"
        }
    }
}

extension ReadAnswer {
    var words: String {
        switch self {
        case .page(let events, _, let isComplete):
            events.map(\.event.id).joined(separator: ",") + (isComplete ? "." : "…")
        case .lost: "lost"
        }
    }
}

final class SilentLog: LogDestination {
    let level = LogLevel.critical
    let dropped = 0
    func setLevel(_ level: LogLevel) {}
    func accept(_ record: LogRecord) {}
    func now() -> Int64 { 0 }
}

struct IngestTests {
    @Test func `only loops that hold a subscriber of the account hear of an event`() async throws {
        let bench = try IngestBench()
        bench.subscribe("A", loop: 0, 1)
        bench.subscribe("B", loop: 1, 2)
        bench.take(.event("A", "1"), .event("B", "2"), .event("C", "3"))
        #expect(await bench.lines(ofLoop: 0) == ["joined 1", "A:1"])
        #expect(await bench.lines(ofLoop: 1) == ["joined 2", "B:2"])
    }

    @Test func `what comes before the answer to a subscription is not for it, what comes after is`() async throws {
        let bench = try IngestBench(loops: 1)
        bench.take(.event("A", "early"))
        bench.subscribe("A", loop: 0, 7)
        bench.take(.event("A", "late"))
        #expect(await bench.lines(ofLoop: 0) == ["joined 7", "A:late"])
    }

    @Test func `a record that the history takes for one of before is not left out in silence`() async throws {
        let bench = try IngestBench(loops: 1)
        bench.subscribe("A", loop: 0, 1)
        bench.take(.event("A", "1"), .event("A", "2"))
        #expect(bench.ingest.takePassedOver() == nil)
        for record in [PlainRecord.event("A", "3"), PlainRecord(value: nil)] {
            bench.ingest.take(record, IngestBench.partition, offset: 1, timestamp: 1_000, now: 0)
            bench.ingest.endWake(now: 0)
            #expect(bench.ingest.takePassedOver() == [IngestBench.partition])
            #expect(bench.ingest.takePassedOver() == nil)
        }
        #expect(await bench.lines(ofLoop: 0) == ["joined 1", "A:1,2"])
    }

    @Test func `events of one account leave a wake together and in order`() async throws {
        let bench = try IngestBench(loops: 1)
        bench.subscribe("A", loop: 0, 1)
        bench.take(.event("A", "1"), .event("B", "x"), .event("A", "2"), .event("A", "3"))
        bench.take(.event("A", "4"))
        #expect(await bench.lines(ofLoop: 0) == ["joined 1", "A:1,2,3", "A:4"])
    }

    @Test func `a row that moves to another account is an event of both, once, and one record`() async throws {
        let bench = try IngestBench(loops: 1, preset: "debezium")
        bench.subscribe("A", loop: 0, 1)
        bench.subscribe("B", loop: 0, 2)
        func update(_ before: String, _ after: String) -> PlainRecord {
            let source = #""source":{"table":"incident"},"op":"u""#
            return PlainRecord(
                value:
                    #"{"before":{"id":7,"account_id":"\#(before)"},"after":{"id":7,"account_id":"\#(after)"},\#(source)}"#
            )
        }
        bench.take(update("A", "B"), update("B", "B"), update("B", "C"))
        #expect(await bench.lines(ofLoop: 0) == ["joined 1", "joined 2", "B:7,7,7", "A:7"])
        let counters = bench.ingest.counters
        #expect(counters.records == 3 && counters.events == 4 && counters.skipped == [:])
        // Read once more, they are nobody's news; a log that somebody resumes from has each of them.
        bench.open()
        bench.take(update("A", "B"))
        #expect(bench.ingest.counters.events == 4)
        let (a, b) = (Account("A"), Account("B"))
        #expect(bench.ingest.history.size.events == 5 && bench.ingest.history.size.accounts == 3)
        let ids = [a, b].map {
            ArchiveID.hash(of: ThinEvent(entity: "incident", id: "7", type: "updated"), account: $0)
        }
        #expect(ids[0] != ids[1])
    }

    @Test func `after the last unsubscription a loop hears nothing more`() async throws {
        let bench = try IngestBench(loops: 1)
        bench.subscribe("A", loop: 0, 1)
        _ = bench.take(.unsubscribe(IngestBench.subscriber("A", 1), withCursors: false))
        bench.take(.event("A", "1"))
        #expect(await bench.lines(ofLoop: 0) == ["joined 1"])
    }

    @Test func `a record that yields no event is counted and stops nothing`() async throws {
        let bench = try IngestBench(loops: 1)
        bench.subscribe("A", loop: 0, 1)
        bench.take(
            PlainRecord(value: nil), PlainRecord(value: "[]"), PlainRecord(value: "\u{0}"), .event("", "1"),
            .event("A", "2"))
        #expect(await bench.lines(ofLoop: 0) == ["joined 1", "A:2"])
        #expect(bench.ingest.counters.skipped == [.tombstone: 1, .notJSON: 2, .noAccount: 1])
        #expect(bench.ingest.counters.records == 5)
        #expect(bench.ingest.counters.events == 1)
    }

    @Test func `ingest must wait when one loop owes as much as it may`() throws {
        let bench = try IngestBench()
        #expect(!bench.ingest.mustWait())
        bench.backlogs[1].add(LoopBacklog.maximumEvents)
        #expect(bench.ingest.mustWait())
        #expect(bench.backlogs[1].remove(LoopBacklog.maximumEvents))
        #expect(!bench.ingest.mustWait())
    }
}
