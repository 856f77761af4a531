// Tests: ListKeeper.swift, ListStore.swift, LiveMachine+Requests.swift
import LiveClient
import Testing

@Suite(.timeLimit(.minutes(5))) struct KeptListsTests {
    @Test func `lists are kept by the commits of the state, and never stand beside another finger`() async throws {
        try await ListKeeperTests.withPath { path in
            let server = ModelServer()
            let visit = try await Visit(path, server)
            await visit.machine.start()
            try #require(try await visit.settle(["A", "B"]))
            var fingers: Set<String> = []
            for version in 2...30 {
                await server.change(.update)
                var isStored = false
                while !isStored {
                    let rows = try await visit.store.transaction { transaction in
                        try transaction.rows(
                            """
                            SELECT live_areas.finger, live_list_areas.finger, CAST(value AS TEXT) FROM live_areas
                            JOIN live_list_areas USING (area) JOIN live_list_items USING (area) WHERE id = 'A'
                            """)
                    }
                    let row = try #require(rows.first).map(\.text)
                    #expect(row[0] == row[1] && row[0] != nil)
                    fingers.insert(row[0] ?? "")
                    isStored = row[2] == "A\(version)"
                    await Task.yield()
                }
            }
            #expect(fingers.count >= 29)
            await visit.end()
        }
    }
}
