// Tests: LoopFanOut+Receiving.swift, Ingest+Joins.swift, RequestQueue.swift, SubscriptionTable.swift, CatchUp.swift, Audience.swift, PollLine.swift

import TestHarness
import Testing

@testable import Gateway

/// Loops, mailboxes and fan-out around the real ingest: two clients and two wakes in every order of what happens to them, and
/// more of all of it at random.
struct DeliverySimulationTests {
    typealias Step = DeliveryNode.Step
    typealias Route = DeliveryNode.Route

    /// Two clients at a time: of one account and of two, on one loop and on two.
    static let pairs: [[Route]] = [
        [
            Route(account: 0, loop: 0, target: "/live/v1"),
            Route(account: 0, loop: 0, target: "/live/v1"),
        ],
        [
            Route(account: 0, loop: 0, target: "/live/v1"),
            Route(account: 0, loop: 1, target: "/live/v1?with=at"),
        ],
        [
            Route(account: 0, loop: 0, target: "/live/v1?ent=note"),
            Route(account: 1, loop: 0, target: "/live/v1?since=@", carrier: .deflated),
        ],
        [
            Route(account: 0, loop: 0, target: "/live/v1", carrier: .deflated),
            Route(account: 0, loop: 0, target: "/live/v1?ent=note&since=@", carrier: .eventStream),
        ],
        [
            Route(account: 0, loop: 0, target: "/live/v1"),
            Route(account: 0, loop: 0, target: "/sync/v1?since=@&wait=10"),
        ],
    ]

    static let depth = 3

    /// What may happen to two clients that have joined. Orders that come to the same are left to the judge.
    static let alphabet: [Step] = [
        .wake(.one), .wake(.both), .serve, .deliver(0), .deliver(1), .block(0), .send(0), .leave(0), .come(0), .trim,
        .lose(0), .walk(0),
    ]

    @Test(arguments: pairs) func `nothing is lost in any order of a few steps`(_ routes: [Route]) throws {
        let problem = try Self.problem(routes, Self.alphabet, depth: Self.depth)
        #expect(problem == nil)
    }

    /// What moves a client between its group and being behind: of these a step more.
    static let narrow: [Step] = [
        .wake(.one), .serve, .deliver(0), .block(0), .send(0), .come(0), .lose(0), .walk(0),
    ]

    @Test func `nothing is lost in any order of one step more`() throws {
        let problem = try Self.problem(Self.pairs[3], Self.narrow, depth: Self.depth + 1)
        #expect(problem == nil)
    }

    /// The first problem of all orders of so many steps.
    private static func problem(
        _ routes: [Route], _ alphabet: [Step], depth: Int, mutant: DeliveryMutant? = nil
    ) throws -> String? {
        var (steps, problem): ([Step], String?) = ([], nil)
        func extend() throws {
            guard problem == nil else { return }
            if steps.count == depth {
                problem = try play(routes, steps, mutant).map { "\(steps): \($0)" }
                return
            }
            for step in alphabet {
                // Only what comes first decides how two steps that have nothing to do with each other go on.
                if let last = steps.last, last == step, isIdle(step) { continue }
                steps.append(step)
                try extend()
                steps.removeLast()
            }
        }
        try extend()
        return problem
    }

    /// Whether the step changes nothing when it comes a second time at once.
    private static func isIdle(_ step: Step) -> Bool {
        switch step {
        case .block, .send, .leave, .come, .trim, .lose, .walk: true
        default: false
        }
    }

    /// Clients of every kind that come and go.
    static let crowd: [Route] = [
        Route(account: 0, loop: 0, target: "/live/v1"),
        Route(account: 0, loop: 0, target: "/live/v1"),
        Route(account: 0, loop: 1, target: "/live/v1", carrier: .deflated),
        Route(account: 0, loop: 0, target: "/live/v1?with=at"),
        Route(account: 0, loop: 0, target: "/live/v1?ent=note"),
        Route(account: 0, loop: 1, target: "/live/v1?since=@&ent=note", carrier: .deflated),
        Route(account: 0, loop: 0, target: "/live/v1?since=@", carrier: .eventStream),
        Route(account: 1, loop: 0, target: "/live/v1"),
        Route(account: 1, loop: 1, target: "/live/v1?since=@"),
        Route(account: 0, loop: 0, target: "/sync/v1?since=@&wait=10"),
        Route(account: 0, loop: 0, target: "/sync/v1?since=@&wait=10&ent=note"),
        Route(account: 1, loop: 0, target: "/sync/v1?since=@&wait=10&limit=1"),
        Route(account: 0, loop: 1, target: "/live/v1?beat=5&ent=note"),
    ]

    @Test(arguments: 1...8) func `nothing is lost in a crowd`(_ seed: UInt64) throws {
        let problem = try Self.problem(seed)
        #expect(problem == nil)
    }

    /// What cannot fail proves nothing.
    @Test(arguments: DeliveryMutant.allCases) func `a rule that is turned round is found`(_ mutant: DeliveryMutant)
        throws
    {
        for routes in Self.pairs {
            if let problem = try Self.problem(routes, Self.alphabet, depth: 2, mutant: mutant) {
                return print("\(mutant): \(problem)")
            }
        }
        for seed in 1...8 {
            if let problem = try Self.problem(UInt64(seed), mutant: mutant) {
                return print("\(mutant), seed \(seed): \(problem)")
            }
        }
        Issue.record("nobody notices \(mutant)")
    }

    /// The first problem of a crowd's histories.
    private static func problem(_ seed: UInt64, mutant: DeliveryMutant? = nil) throws -> String? {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<40 {
            let node = try DeliveryNode(crowd, mutant: mutant)
            // Resets are rare, or few clients would stay.
            let isQuiet = random.isOne(in: 2)
            for _ in 0..<(20 + random.below(150)) { node.happen(step(&random, isQuiet)) }
            node.settleDown()
            if let problem = node.problem { return problem }
        }
        return nil
    }

    private static func step(_ random: inout SeededGenerator, _ isQuiet: Bool) -> Step {
        let route = random.below(crowd.count)
        let loop = random.below(DeliveryNode.loops)
        return switch random.below(24) {
        case 0...3: .wake(DeliveryNode.Wake.allCases[random.below(DeliveryNode.Wake.allCases.count)])
        case 4...7: .serve
        case 8...12: .deliver(loop)
        case 13...15: .come(route)
        case 16: .leave(route)
        case 17, 18: .block(route)
        case 19, 20: .send(route)
        case 21: .walk(loop)
        case 22: .answer(loop)
        default:
            switch random.below(isQuiet ? 1 : 4) {
            case 0: .pass
            case 1: .trim
            case 2: .lose(random.below(DeliveryNode.partitions))
            default: .recreate
            }
        }
    }

    private static func play(_ routes: [Route], _ steps: [Step], _ mutant: DeliveryMutant?) throws -> String? {
        let node = try DeliveryNode(routes, mutant: mutant)
        for route in routes.indices { node.happen(.come(route)) }
        for step in [Step.serve, .serve, .deliver(0), .deliver(0), .deliver(1)] { node.happen(step) }
        for step in steps { node.happen(step) }
        node.settleDown()
        return node.problem
    }
}
