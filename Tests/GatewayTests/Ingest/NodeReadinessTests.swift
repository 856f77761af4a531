import Testing

@testable import Gateway

struct NodeReadinessTests {
    @Test func `a node is not ready until everything has answered, and says what is missing`() {
        let readiness = NodeReadiness(graceMilliseconds: 100)
        readiness.wait(for: "the topic incidents")
        #expect(readiness.verdict(now: 0) == .notReady(why: "the topic incidents"))
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
        #expect(readiness.verdict(now: 1100) == .notReady(why: "the broker"))
        #expect(!readiness.becomeReady())
        #expect(readiness.verdict(now: 1100) == .ready)
    }

    @Test func `another grace counts for a loss that lasts`() {
        let readiness = NodeReadiness(graceMilliseconds: 100)
        _ = readiness.becomeReady()
        readiness.lose("the broker", now: 1000)
        readiness.setGrace(milliseconds: 200)
        #expect(readiness.verdict(now: 1199) == .ready)
        #expect(readiness.verdict(now: 1200) == .notReady(why: "the broker"))
        readiness.setGrace(milliseconds: nil)
        #expect(readiness.verdict(now: .max) == .ready)
    }

    @Test func `without a grace a loss never turns the verdict`() {
        let readiness = NodeReadiness(graceMilliseconds: nil)
        _ = readiness.becomeReady()
        readiness.lose("the broker", now: 0)
        #expect(readiness.verdict(now: .max) == .ready)
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
}
