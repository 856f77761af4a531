// Tests: PageCatchUp.swift

import LiveUpdates
import Testing

@testable import Gateway

/// What becomes of a page whose store was behind the node.
struct PageCatchUpTests {
    enum Event {
        /// A page that held so much, and whether it lacked what had been read.
        case page(Int, isBehind: Bool)
        /// One of which no cursor is made: it would be refused.
        case refused
        /// One that holds more than the node has read.
        case ahead
        /// The store refuses, or the time is up.
        case end
    }

    /// Each row: what comes in order, and what follows from it: a pause, the cursor of an answer, or a refusal.
    @Test(
        arguments: [
            ([.page(4, isBehind: false)], ["c4"]),
            ([.page(4, isBehind: true), .page(5, isBehind: false)], ["again 10", "c5"]),
            (
                [.page(4, isBehind: true), .page(5, isBehind: true), .page(6, isBehind: true)],
                ["again 10", "again 20", "c6"]
            ),
            // What was right stays so, whatever comes of reading it once more.
            ([.page(4, isBehind: true), .end], ["again 10", "c4"]),
            ([.page(4, isBehind: true), .page(5, isBehind: true), .end], ["again 10", "again 20", "c5"]),
            ([.page(4, isBehind: true), .ahead], ["again 10", "c4"]),
            // An older cursor of a log that is another one would be refused as well.
            ([.page(4, isBehind: true), .refused, .refused], ["again 10", "again 20", "refuse"]),
            ([.page(4, isBehind: true), .refused, .end], ["again 10", "again 20", "refuse"]),
            ([.page(4, isBehind: true), .refused, .page(1, isBehind: false)], ["again 10", "again 20", "c1"]),
            ([.refused, .page(4, isBehind: false)], ["again 10", "c4"]),
            ([.ahead], ["refuse"]), ([.end], ["refuse"]),
        ] as [([Event], [String])]) func `a page that is there is not given up for one that does not come`(
            row: (events: [Event], steps: [String])
        )
    {
        var catchUp = PageCatchUp(pauses: [10, 20])
        #expect(!catchUp.hasPage && catchUp.seen == nil)
        let steps = row.events.map { event in
            switch event {
            case .page(let next, let isBehind): Self.came(&catchUp, cursor: "c\(next)", isBehind: isBehind)
            case .refused: Self.came(&catchUp, cursor: "", isBehind: true)
            case .ahead: Self.came(&catchUp, cursor: "", isBehind: false)
            case .end: Self.text(catchUp.end())
            }
        }
        #expect(steps == row.steps)
    }

    private static func came(_ catchUp: inout PageCatchUp, cursor: String, isBehind: Bool) -> String {
        let body = ArchiveBody(start: Array("b\(cursor)".utf8))
        let step = catchUp.came(
            body, SnapshotAnswer(cursor: CursorText(bytes: Array(cursor.utf8)), isBehind: isBehind, seen: 7))
        #expect(catchUp.seen == 7)
        return text(step)
    }

    private static func text(_ step: PageCatchUp.Step) -> String {
        switch step {
        case .again(let pause): return "again \(pause)"
        case .answer(let body, let cursor):
            // Page and cursor are of one snapshot.
            #expect(body.start == Array("b".utf8) + cursor.bytes)
            return String(decoding: cursor.bytes, as: UTF8.self)
        case .refuse: return "refuse"
        }
    }
}
