// Tests: ConnectionMachine.swift, ConnectionMachine+Endings.swift, ConnectionMachine+Stream.swift,
//   ConnectionMachine+Surroundings.swift, ConnectionMachine+Words.swift, ConnectionState.swift, TransportFallback.swift
import LiveState
import Testing

struct ConnectionTests {
    @Test(arguments: Scenario.all("connection"))
    func `the connection does as its scenario says`(_ scenario: Scenario) throws {
        try scenario.run(ConnectionMachine.self)
    }
}
