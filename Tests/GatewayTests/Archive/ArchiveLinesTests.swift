import Archive
import LiveUpdates
import Testing

@testable import Gateway

struct ArchiveLinesTests {
    private func question(_ account: String, _ number: UInt64) -> ArchiveQuestion {
        ArchiveQuestion(
            wish: .page(PageQuery(account: Account(account))), account: Account(account), loop: 0,
            connection: ConnectionID(number: number))
    }

    private func lines(_ questions: [(String, ClosedRange<UInt64>)]) -> ArchiveLines {
        var lines = ArchiveLines()
        for (account, numbers) in questions {
            for number in numbers { lines.add(question(account, number)) }
        }
        return lines
    }

    private func order(_ lines: inout ArchiveLines) -> [UInt64] {
        var order: [UInt64] = []
        while let item = lines.next() {
            order.append(item.question.connection.number)
            _ = lines.end(item)
        }
        return order
    }

    @Test func `accounts have their turns, one question each`() {
        var lines = lines([("A", 1...5), ("B", 6...7), ("C", 8...8)])
        #expect(lines.count == 8 && lines.count(of: Account("A")) == 5)
        #expect(order(&lines) == [1, 6, 8, 2, 7, 3, 4, 5])
        #expect(lines.count == 0 && lines.count(of: Account("A")) == 0)
    }

    @Test func `what is taken back is not asked, and its permit is free at once`() {
        var lines = lines([("A", 1...3), ("B", 4...4)])
        lines.remove(loop: 0, ConnectionID(number: 2))
        lines.remove(loop: 0, ConnectionID(number: 4))
        lines.remove(loop: 1, ConnectionID(number: 1))
        #expect(lines.count == 2 && lines.count(of: Account("B")) == 0)
        lines.add(question("B", 5))
        #expect(order(&lines) == [1, 5, 3])
    }

    @Test func `what is taken back while it is asked is not answered`() throws {
        var lines = lines([("A", 1...1)])
        let next = lines.next()
        let item = try #require(next)
        lines.remove(loop: 0, ConnectionID(number: 1))
        #expect(lines.count == 0)
        #expect(lines.end(item) == false)
        // The connection's next question is another one.
        lines.add(question("A", 1))
        #expect(lines.end(item) == false)
        #expect(lines.count == 1)
    }

    @Test func `all end together`() throws {
        var lines = lines([("A", 1...3), ("B", 4...4)])
        let first = lines.next()
        let asked = try #require(first)
        let ended = lines.removeAll()
        #expect(Set(ended.map(\.connection.number)) == [2, 3, 4])
        #expect(lines.count == 1)
        #expect(lines.end(asked) == true)
        #expect(lines.next() == nil)
    }
}
