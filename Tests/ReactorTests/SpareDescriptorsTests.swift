import Glibc
import Testing

@testable import Reactor

@Suite struct SpareDescriptorsTests {
    @Test func `a spare descriptor that another loop's accept took is taken back from that connection`() {
        // Two opens of those who join; then, after the lending and before the connection is closed, none.
        let plan = FaultPlan(failing: [.open], nth: 3, code: EMFILE, repeats: 2)
        let syscalls = Syscalls(faults: plan)
        let spares = SpareDescriptors()
        spares.join(syscalls)
        spares.join(syscalls)
        #expect(spares.lend(syscalls) { 7 } == 7)
        var closed = 0
        #expect(spares.reclaim(syscalls) { closed += 1 })
        #expect(closed == 1)
        #expect(!spares.reclaim(syscalls) { closed += 1 }, "all are back")
        #expect(closed == 1)
    }

    @Test func `a connection is let in as long as no accept has failed for want of a descriptor`() {
        let spares = SpareDescriptors()
        spares.join(Syscalls(faults: FaultPlan(failing: [.open], nth: 1, code: EMFILE)))
        #expect(!spares.reclaim(.real) { Issue.record("closed") })
    }

    @Test func `what one loop has lost, another lends`() {
        let plan = FaultPlan(failing: [.open], nth: 3, code: EMFILE)
        let syscalls = Syscalls(faults: plan)
        let spares = SpareDescriptors()
        spares.join(syscalls)
        spares.join(syscalls)
        #expect(spares.lend(syscalls) { true } == true)
        #expect(spares.lend(syscalls) { true } == true)
    }

    @Test func `with none left there is nothing to lend, until one can be had again`() {
        let spares = SpareDescriptors()
        spares.join(Syscalls(faults: FaultPlan(failing: [.open], nth: 1, code: EMFILE)))
        #expect(spares.lend(.real) { true } == nil)
        spares.refill(.real)
        #expect(spares.lend(.real) { true } == true)
    }
}
