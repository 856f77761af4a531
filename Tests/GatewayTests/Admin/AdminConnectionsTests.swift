import Testing

@testable import Gateway

@Suite struct AdminConnectionsTests {
    @Test(
        arguments: [
            ([.answering, .answering], 0), ([.answering, .unfinished, .answering], 1),
            ([.unfinished, .silent, .silent, .answering], 1), ([.unfinished, .silent, .writing, .idle, .idle], 3),
            ([.answering, .writing, .writing], 1), ([.idle, .lingering, .silent, .lingering], 1), ([], nil),
        ] as [([AdminConnection.Patience], Int?)])
    func `one always gives way, who has its answer first, then who asks nothing, and the oldest of each`(
        _ connections: [AdminConnection.Patience], _ index: Int?
    ) {
        #expect(AdminConnections.indexToClose(connections) == index)
    }

    @Test(arguments: [(1, 3_000), (31, 3_000), (32, 200), (64, 200)] as [(Int, UInt64)])
    func `whoever has its answer is waited for at length only where there is room`(
        _ connections: Int, _ milliseconds: UInt64
    ) {
        #expect(AdminConnections.lingerMilliseconds(connections: connections) == milliseconds)
    }
}
