import Testing

@testable import Gateway

struct NodeReadinessTests {
    @Test func `a node is not ready until everything has answered, and says what is missing`() {
        let readiness = NodeReadiness(graceMilliseconds: 100)
        readiness.wait(for: "the topic incidents")
        #expect(readiness.verdict(now: 0) == .notReady(.window, why: "the topic incidents"))
        #expect(!readiness.hasBeenReady)
        #expect(readiness.becomeReady())
        #expect(readiness.verdict(now: 0) == .ready)
        #expect(!readiness.becomeReady())
    }

    @Test func `a loss refuses nobody and turns the verdict when the grace is over`() {
        let readiness = NodeReadiness(graceMilliseconds: 100)
        _ = readiness.becomeReady()
        readiness.lose("the broker", now: 1000)
        readiness.lose("the broker", now: 1050)
        #expect(readiness.hasBeenReady)
        #expect(readiness.verdict(now: 1099) == .ready)
        #expect(readiness.verdict(now: 1100) == .notReady(.broker, why: "the broker"))
        #expect(!readiness.becomeReady())
        #expect(readiness.verdict(now: 1100) == .ready)
    }

    @Test func `another grace counts for a loss that lasts`() {
        let readiness = NodeReadiness(graceMilliseconds: 100)
        _ = readiness.becomeReady()
        readiness.lose("the broker", now: 1000)
        readiness.setGrace(milliseconds: 200)
        #expect(readiness.verdict(now: 1199) == .ready)
        #expect(readiness.verdict(now: 1200) == .notReady(.broker, why: "the broker"))
        readiness.setGrace(milliseconds: nil)
        #expect(readiness.verdict(now: .max) == .ready)
    }

    @Test func `without a grace a loss never turns the verdict`() {
        let readiness = NodeReadiness(graceMilliseconds: nil)
        _ = readiness.becomeReady()
        readiness.lose("the broker", now: 0)
        #expect(readiness.verdict(now: .max) == .ready)
    }

    @Test func `with a control topic a node is ready when that was read back too, whichever comes last`() {
        for isControlLast in [true, false] {
            let readiness = NodeReadiness(graceMilliseconds: 100, awaitsControl: true)
            readiness.wait(for: "the topic incidents")
            readiness.noteControl("the topic control", now: 0)
            #expect(readiness.verdict(now: 0) == .notReady(.window, why: "the topic incidents"))
            if isControlLast {
                #expect(!readiness.becomeReady() && !readiness.hasBeenReady)
                #expect(readiness.verdict(now: 0) == .notReady(.control, why: "the topic control"))
                readiness.lose("the broker", now: 0)
                readiness.noteBroker(isReached: false)
                #expect(readiness.verdict(now: 0) == .notReady(.broker, why: "the broker"))
                readiness.noteBroker(isReached: true)
                readiness.noteControl(nil, now: 0)
                // Nobody is sent to a node that would still refuse.
                #expect(readiness.verdict(now: 0) == .notReady(.control, why: "the topic control"))
            } else {
                readiness.noteControl(nil, now: 0)
                #expect(readiness.verdict(now: 0) == .notReady(.window, why: "the topic incidents"))
                #expect(!readiness.hasBeenReady)
            }
            #expect(readiness.becomeReady())
            #expect(!readiness.becomeReady())
            #expect(readiness.verdict(now: 0) == .ready && readiness.hasBeenReady)
        }
    }

    @Test func `the loss of the control topic refuses nobody, and turns the verdict when the grace is over`() {
        let readiness = NodeReadiness(graceMilliseconds: 100, awaitsControl: true)
        readiness.noteControl(nil, now: 0)
        _ = readiness.becomeReady()
        readiness.noteControl("the topic control", now: 1000)
        readiness.noteControl("the topic control is gone", now: 1050)
        #expect(readiness.verdict(now: 1099) == .ready && readiness.hasBeenReady)
        #expect(readiness.verdict(now: 1100) == .notReady(.control, why: "the topic control is gone"))
        readiness.noteControl(nil, now: 1200)
        #expect(readiness.verdict(now: 1200) == .ready)
    }

    @Test func `a draining node is draining whatever else it is`() {
        let readiness = NodeReadiness(graceMilliseconds: nil)
        readiness.setDraining(true)
        #expect(readiness.verdict(now: 0) == .draining)
        _ = readiness.becomeReady()
        #expect(readiness.verdict(now: 0) == .draining)
        #expect(!readiness.refusesRequests)
        readiness.setDraining(false)
        #expect(readiness.verdict(now: 0) == .ready)
    }

    @Test func `each part has a line, and those that clients do not feel leave the node ready`() {
        typealias Part = NodeReadiness.Part
        let readiness = NodeReadiness(graceMilliseconds: 100)
        func failing(_ now: UInt64 = 0) -> [Part] { readiness.parts(now: now).filter { $0.why != nil }.map(\.part) }
        #expect(readiness.parts(now: 0).map(\.part) == Part.allCases)
        #expect(failing() == [.window])
        readiness.noteBroker(isReached: false)
        #expect(failing() == [.window, .broker])
        readiness.noteBroker(isReached: true)
        _ = readiness.becomeReady()
        #expect(failing().isEmpty)
        let rows: [(Part, Bool)] = [
            (.loops, false), (.keys, false), (.control, false), (.archive, true), (.reload, true),
        ]
        for (part, isReady) in rows {
            readiness.report(part, "why")
            #expect(failing() == [part])
            #expect(readiness.verdict(now: 0) == (isReady ? .ready : .notReady(part, why: "why")))
            readiness.report(part, nil)
            #expect(failing().isEmpty && readiness.verdict(now: 0) == .ready)
        }
        readiness.lose("the broker", now: 0)
        #expect(failing(99).isEmpty && failing(100) == [.broker])
        readiness.setDraining(true)
        #expect(failing(99) == [.draining])
    }

    @Test func `a partition that stands still has a line, and leaves the node ready`() {
        let readiness = NodeReadiness(graceMilliseconds: 100)
        _ = readiness.becomeReady()
        func lines() -> [String] {
            readiness.lines(now: 0).compactMap { line in line.why.map { "\(line.part) \($0)" } }
        }
        #expect(lines() == [] && readiness.lines(now: 0).map(\.part) == NodeReadiness.Part.allCases)
        readiness.warn(.broker, "stands still")
        #expect(lines() == ["broker stands still"] && readiness.verdict(now: 0) == .ready)
        // What keeps clients away is said first.
        readiness.report(.broker, "why")
        #expect(lines() == ["broker why"])
        readiness.report(.broker, nil)
        readiness.warn(.broker, nil)
        readiness.warn(.keys, "the issuer a has no keys that count")
        #expect(lines() == [])
    }

    /// What happens to a node that has been ready, and what somebody is to know of it at once.
    static let troubles: [(name: String, happens: @Sendable (NodeReadiness) -> Void, part: NodeReadiness.Part)] = [
        ("brokers are out of reach", { $0.lose("why", now: 5) }, .broker),
        ("a partition stands still", { $0.warn(.broker, "why") }, .broker),
        ("the control topic is lost", { $0.noteControl("why", now: 5) }, .control),
        ("an issuer has no keys that count", { $0.warn(.keys, "why") }, .keys),
        ("the archive cannot be written", { $0.report(.archive, "why") }, .archive),
        ("the settings could not be read again", { $0.report(.reload, "why") }, .reload),
    ]

    @Test(arguments: troubles.indices) func `what is wrong is told at once, though the node is ready`(_ index: Int) {
        let row = Self.troubles[index]
        for grace in [nil, 1_000] as [UInt64?] {
            let readiness = NodeReadiness(graceMilliseconds: grace, awaitsControl: true)
            readiness.noteControl(nil, now: 0)
            _ = readiness.becomeReady()
            #expect(readiness.problems(now: 0).isEmpty, "\(row.name)")
            row.happens(readiness)
            #expect(readiness.verdict(now: 5) == .ready, "\(row.name)")
            #expect(readiness.problems(now: 5).map(\.part) == [row.part], "\(row.name)")
            #expect(readiness.problems(now: 5).first?.why == "why", "\(row.name)")
        }
    }

    @Test func `what is over is told no more`() {
        let readiness = NodeReadiness(graceMilliseconds: nil, awaitsControl: true)
        readiness.noteControl(nil, now: 0)
        _ = readiness.becomeReady()
        for row in Self.troubles { row.happens(readiness) }
        #expect(readiness.readsControl == false)
        // The graver of two things about one part.
        #expect(readiness.problems(now: 5).map(\.part) == [.broker, .keys, .control, .archive, .reload])
        _ = readiness.becomeReady()
        readiness.noteControl(nil, now: 6)
        for part in NodeReadiness.Part.allCases {
            readiness.warn(part, nil)
            readiness.report(part, nil)
        }
        #expect(readiness.problems(now: 6).isEmpty && readiness.readsControl == true)
        #expect(NodeReadiness(graceMilliseconds: nil).readsControl == nil)
    }

    @Test func `of several parts the first one is given`() {
        let readiness = NodeReadiness(graceMilliseconds: nil)
        readiness.report(.keys, "keys")
        readiness.report(.reload, "reload")
        #expect(readiness.verdict(now: 0) == .notReady(.window, why: "the broker has not answered yet"))
        _ = readiness.becomeReady()
        #expect(readiness.verdict(now: 0) == .notReady(.keys, why: "keys"))
    }
}
