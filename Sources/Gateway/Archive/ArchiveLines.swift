import LiveUpdates

/// Questions that wait for the archive: a line for each account, in the order of arrival. Accounts have turns, one question
/// each.
struct ArchiveLines {
    struct Item: Sendable {
        fileprivate let number: UInt64
        let question: ArchiveQuestion
    }

    private struct Asker: Hashable {
        let loop: Int
        let connection: ConnectionID

        init(loop: Int, _ connection: ConnectionID) { (self.loop, self.connection) = (loop, connection) }

        init(_ question: ArchiveQuestion) { self.init(loop: question.loop, question.connection) }
    }

    private var lines: [Account: [Item]] = [:]
    /// The accounts that have a line; those before ``turn`` had their turns.
    private var turns: [Account] = []
    private var turn = 0
    /// All that are awaited, including those that the store is answering.
    private var awaited: [Asker: (number: UInt64, account: Account)] = [:]
    private var counts: [Account: Int] = [:]
    private var lastNumber: UInt64 = 0

    var count: Int { awaited.count }

    func count(of account: Account) -> Int { counts[account] ?? 0 }

    /// A connection asks one question at a time.
    mutating func add(_ question: ArchiveQuestion) {
        lastNumber += 1
        let item = Item(number: lastNumber, question: question)
        guard awaited.updateValue((item.number, question.account), forKey: Asker(question)) == nil else {
            preconditionFailure("a connection asks the archive while it waits for it")
        }
        counts[question.account, default: 0] += 1
        let account = question.account
        if lines[account] == nil { turns.append(account) }
        lines[account, default: []].append(item)
    }

    /// Removes the next question from its line: the caller sends it to the store.
    mutating func next() -> Item? {
        while turn < turns.count {
            let account = turns[turn]
            turn += 1
            if turn > turns.count / 2 {
                turns.removeFirst(turn)
                turn = 0
            }
            guard let item = lines[account]?.first else {
                lines[account] = nil
                continue
            }
            lines[account]?.removeFirst()
            if lines[account]?.isEmpty == true { lines[account] = nil } else { turns.append(account) }
            return item
        }
        return nil
    }

    /// The question is answered. Returns whether it is still awaited.
    mutating func end(_ item: Item) -> Bool {
        guard isAwaited(item) else { return false }
        forget(Asker(item.question))
        return true
    }

    private func isAwaited(_ item: Item) -> Bool { awaited[Asker(item.question)]?.number == item.number }

    /// The question of this connection is no longer awaited.
    mutating func remove(loop: Int, _ connection: ConnectionID) {
        let asker = Asker(loop: loop, connection)
        guard let (number, account) = awaited[asker] else { return }
        forget(asker)
        if let index = lines[account]?.firstIndex(where: { $0.number == number }) {
            lines[account]?.remove(at: index)
        }
    }

    /// Ends all of them, and returns those that were not sent to the store.
    mutating func removeAll() -> [ArchiveQuestion] {
        let questions = lines.values.flatMap { $0.map(\.question) }
        for question in questions { forget(Asker(question)) }
        (lines, turns, turn) = ([:], [], 0)
        return questions
    }

    private mutating func forget(_ asker: Asker) {
        guard let (_, account) = awaited.removeValue(forKey: asker), let count = counts[account] else { return }
        counts[account] = count > 1 ? count - 1 : nil
    }
}
