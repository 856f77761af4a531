import TestHarness
import Testing

@testable import Gateway

/// In virtual time, for each form: nothing that is pending or unsent lies before a cursor that was sent, whatever the order
/// of events, pages, answers, resets, timers and the socket.
struct StreamPropertyTests {
    static let forms: [(target: String, carrier: StreamForm.Carrier)] = [
        ("/live/v1", .webSocket), ("/live/v1?ent=note", .deflated), ("/live/v1?with=at", .webSocket),
        ("/live/v1?with=at,ts&ent=note", .deflated), ("/live/v1?beat=5", .webSocket),
        ("/live/v1?since=1.0", .webSocket), ("/live/v1?since=1.0&ent=note", .deflated),
        ("/live/v1?since=9.4", .webSocket), ("/live/v1", .eventStream), ("/live/v1?ent=note&since=1.0", .eventStream),
        ("/live/v1?mode=changed", .webSocket), ("/live/v1?mode=changed&beat=5", .webSocket),
        ("/live/v1?mode=changed&beat=5&ent=note&since=1.0", .eventStream),
        ("/sync/v1?since=1.0&wait=10", .webSocket), ("/sync/v1?since=1.0&wait=10&ent=note", .webSocket),
        ("/sync/v1?since=1.0&wait=10&ent=note&limit=1", .webSocket), ("/sync/v1", .webSocket),
    ]

    private func judge(_ node: ModelNode, _ target: String) {
        node.settleDown()
        // A stream is owed all there is, a poll one answer.
        if target.hasPrefix("/sync/v1") { #expect(node.client.answers == 1) } else { node.client.expectNothingOwed() }
    }

    @Test(arguments: forms) func `random walks lose nothing`(_ form: (target: String, carrier: StreamForm.Carrier))
        throws
    {
        for seed in 1...UInt64(150) {
            var random = SeededGenerator(seed: seed)
            let node = try ModelNode(form.target, form.carrier)
            // Resets and blocks are rarer than what goes on between them.
            var steps =
                ModelNode.Step.allCases + [.event, .otherEvent, .serve, .serve, .deliver, .deliver, .send, .wait]
            if random.isOne(in: 2) { steps.removeAll { $0 == .reset } }
            for _ in 0..<(5 + random.below(80)) { node.happen(steps[random.below(steps.count)]) }
            judge(node, form.target)
        }
    }

    /// A stream that has joined, and five things that may happen then: in every order.
    @Test(arguments: forms) func `every order of a few happenings`(
        _ form: (target: String, carrier: StreamForm.Carrier)
    ) throws {
        let scripts: [[ModelNode.Step]] = [
            [.event, .block, .send, .serve, .deliverAll], [.event, .otherEvent, .reset, .deliverAll, .send],
            [.burst, .burst, .block, .send, .deliverAll], [.event, .event, .wait, .wait, .serve],
            [.event, .reset, .block, .serve, .walk], [.event, .stall, .wait, .deliver, .send],
            [.event, .deliver, .reset, .answer, .deliverAll], [.event, .event, .deliverAll, .answer, .wait],
        ]
        for script in scripts {
            try forEachOrder(script) { order in
                let node = try ModelNode(form.target, form.carrier)
                node.happen(.serve)
                node.happen(.deliverAll)
                for step in order { node.happen(step) }
                judge(node, form.target)
            }
        }
    }

    /// Heap's algorithm.
    private func forEachOrder(_ steps: [ModelNode.Step], _ body: ([ModelNode.Step]) throws -> Void) throws {
        var order = steps
        var counts = [Int](repeating: 0, count: order.count)
        try body(order)
        var index = 0
        while index < order.count {
            guard counts[index] < index else {
                counts[index] = 0
                index += 1
                continue
            }
            order.swapAt(index.isMultiple(of: 2) ? 0 : counts[index], index)
            try body(order)
            counts[index] += 1
            index = 0
        }
    }
}
