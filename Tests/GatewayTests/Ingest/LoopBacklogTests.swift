import Testing

@testable import Gateway

struct LoopBacklogTests {
    @Test func `a loop that owes less than the limit holds nobody up`() {
        let backlog = LoopBacklog()
        backlog.add(LoopBacklog.maximumEvents - 1)
        #expect(!backlog.isFull())
        backlog.add(1)
        #expect(backlog.isFull())
    }

    @Test func `ingest is told once, when the loop has come down to the lower mark`() {
        let backlog = LoopBacklog()
        backlog.add(LoopBacklog.maximumEvents)
        #expect(backlog.isFull())
        #expect(!backlog.remove(LoopBacklog.maximumEvents - LoopBacklog.resumeEvents - 1))
        #expect(backlog.remove(1))
        #expect(!backlog.remove(1))
        #expect(!backlog.isFull())
    }

    @Test func `a loop that nobody waits for tells nobody`() {
        let backlog = LoopBacklog()
        backlog.add(10)
        #expect(!backlog.remove(10))
    }
}
