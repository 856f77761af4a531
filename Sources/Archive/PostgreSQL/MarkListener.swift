import PostgreSQL
import SQLite
import Synchronization

/// Waits, on a session and a thread of its own, for marks that other nodes have moved. What they tell while it has no
/// connection is read from the tables once it has one again.
final class MarkListener: Sendable {
    /// At most between two looks at whether it is closed.
    static let waitMilliseconds: UInt64 = 200
    private static let shortestPause = 250
    private static let longestPause = 5_000

    private let thread: ThreadBound<MarkSession>
    private let interruption: Interruption
    private let sender: String
    private let told = Mutex(ToldMarks())
    private let moved: @Sendable (MarkMessage) -> Void

    /// - Parameter moved: is told of each, from any thread.
    init(
        sender: String, interruption: Interruption, moved: @escaping @Sendable (MarkMessage) -> Void
    ) throws(SQLiteError) {
        thread = try ThreadBound()
        self.sender = sender
        self.interruption = interruption
        self.moved = moved
    }

    func start(_ make: @escaping @Sendable () -> MarkSession) async throws {
        try await thread.open(make)
        Task { await listen() }
    }

    func close() async { await thread.close() }

    /// This node has told its own streams already.
    func note(_ message: MarkMessage) { told.withLock { _ = $0.isNews(message) } }

    private func listen() async {
        var pause = Self.shortestPause
        while !interruption.isSet {
            do {
                guard let messages = try await thread.run({ try $0.wait() }) else { return }
                pause = Self.shortestPause
                for (from, message) in messages where from != sender {
                    if told.withLock({ $0.isNews(message) }) { moved(message) }
                }
            } catch {
                try? await Task.sleep(for: .milliseconds(pause))
                pause = min(2 * pause, Self.longestPause)
            }
        }
    }
}

/// What a node has told its streams of late, so that it tells nothing again that stands in a table besides.
struct ToldMarks {
    /// Those of some minutes, on a busy node. The older half is forgotten when there are more.
    static let maximum = 20_000

    private var told: Set<MarkMessage> = []
    private var order: [MarkMessage] = []

    /// Whether it was not told, which it is from now on.
    mutating func isNews(_ message: MarkMessage) -> Bool {
        // A table does not keep the last bits of an id.
        let message = message.withoutCheck
        guard told.insert(message).inserted else { return false }
        order.append(message)
        if order.count > Self.maximum {
            for old in order.prefix(Self.maximum / 2) { told.remove(old) }
            order.removeFirst(Self.maximum / 2)
        }
        return true
    }
}
