import Foundation
import LiveState
import Testing

/// Swift and JavaScript do the same beyond the scenarios that somebody thought of: JavaScript draws histories and writes what
/// its machines did (Tests/JavaScript/histories.js), and Swift's have to do that too.
///
/// A difference is a fault in one of them: `node Tests/JavaScript/histories.js MACHINE 1 SEED` gives the history again, and it
/// becomes a scenario. Other histories: LIVEGATE_HISTORIES_SEED and LIVEGATE_HISTORIES.
struct HistoryTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let seed = environment["LIVEGATE_HISTORIES_SEED"].flatMap { Int($0) } ?? 1
    private static let count = environment["LIVEGATE_HISTORIES"].flatMap { Int($0) } ?? 150

    /// The machine whose table is Tests/JavaScript/histories/NAME.js.
    private func compare<Machine: StateMachine>(_ name: String, _ type: Machine.Type) throws {
        for history in try Scenario.drawn(name, count: Self.count, seed: Self.seed) {
            try history.run(type)
        }
    }

    @Test func `connections do the same in both languages`() throws {
        try compare("connection", ConnectionMachine.self)
    }

    @Test func `update machines do the same in both languages`() throws { try compare("update", UpdateMachine.self) }

    @Test func `lists do the same in both languages`() throws { try compare("intervals", PartialList.self) }

    @Test func `relevance is the same in both languages`() throws { try compare("relevance", Relevance.self) }

    @Test func `fetches do the same in both languages`() throws { try compare("fetches", FetchQueue.self) }

    @Test func `gates do the same in both languages`() throws { try compare("gate", APIGate.self) }

    @Test func `actions do the same in both languages`() throws { try compare("actions", ActionQueue.self) }

    @Test func `counts do the same in both languages`() throws { try compare("counting", RefreshCounts.self) }
}
