import Testing

@testable import Gateway

@Suite struct AdminConnectionsTests {
    @Test(
        arguments: [
            ([nil, nil], nil), ([nil, .unfinished, nil], 1), ([.unfinished, .silent, .silent, nil], 1),
            ([.unfinished, .silent, nil, .idle, .idle], 3), ([], nil),
        ] as [([AdminConnection.Patience?], Int?)])
    func `who is not being answered gives way, the idle first and the oldest of each`(
        _ connections: [AdminConnection.Patience?], _ index: Int?
    ) {
        #expect(AdminConnections.givingWay(connections) == index)
    }
}
