// Tests: ConnectionLoop+Reporting.swift, LoopCounters.swift

import TestHarness
import Testing

@testable import Gateway

/// What a turn of a loop does for a scrape: it copies counters, and looks at no connection.
struct LoopReportTests {
    /// Every number and text in a value.
    private static func values(_ value: Any) -> Int {
        let children = Mirror(reflecting: value).children
        return children.isEmpty ? 1 : children.reduce(0) { $0 + values($1.value) }
    }

    /// A dictionary's buckets are copied when it is written to, not when it is read: a scrape shares them.
    private static let most = 150

    @Test func `a scrape copies as much of a loop with many connections as of one with few`() async throws {
        var counts: [Int] = []
        for clients in [1, 150] {
            let rig = try await ConnectionRig.start(ConnectionEndingTests.eventStream, clients: clients)
            #expect(
                try await eventually { rig.seen.value.components("HTTP/1.1 200") == clients }, "\(clients) connections")
            counts.append(
                await rig.loop.perform { [rig] in
                    let node = rig.rig.value.node
                    node.receive(ConnectionRig.events(1...3))
                    #expect(node.counters.open.reduce(0, +) == clients)
                    return Self.values(node.report)
                })
            await rig.loop.stopped()
        }
        #expect(counts[0] == counts[1] && counts[0] <= Self.most, "\(counts) values")
    }

    /// What asks for each connection does so in slices: one turn visits no more than this, and says from where to go on.
    @Test func `a listing of connections is made in slices`() async throws {
        let clients = ConnectionLoop.reportedConnections + 44
        let rig = try await ConnectionRig.start(ConnectionEndingTests.eventStream, clients: clients)
        #expect(try await eventually { rig.seen.value.components("HTTP/1.1 200") == clients })
        var (slot, found, turns): (Int?, Int, Int) = (0, 0, 0)
        while let first = slot {
            let (reports, next) = await rig.loop.perform { [rig] in
                rig.rig.value.node.reports(fromSlot: first, of: nil, limit: 100_000)
            }
            #expect(reports.count <= ConnectionLoop.reportedConnections)
            (slot, found, turns) = (next, found + reports.count, turns + 1)
        }
        #expect(found == clients && turns >= 2)
        await rig.loop.stopped()
    }
}

extension String {
    /// How often a text stands in it.
    fileprivate func components(_ text: String) -> Int { ranges(of: text).count }
}
