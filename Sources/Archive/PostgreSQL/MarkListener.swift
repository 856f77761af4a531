import PostgreSQL
import SQLite

/// Waits, on a session and a thread of its own, for marks that other nodes have moved. What they tell while it has no
/// connection is lost: clients fetch their inbox anew.
final class MarkListener: Sendable {
    /// At most between two looks at whether it is closed.
    private static let waitMilliseconds: UInt64 = 200
    private static let shortestPause = 250
    private static let longestPause = 5_000

    private let thread: ThreadBound<Session>
    private let interruption: Interruption
    private let sender: String
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

    func start(_ make: @escaping @Sendable () -> Session) async throws {
        try await thread.open(make)
        Task { await listen() }
    }

    func close() async { await thread.close() }

    private func listen() async {
        var pause = Self.shortestPause
        while !interruption.isSet {
            do {
                guard let messages = try await thread.run({ try Self.wait($0) }) else { return }
                pause = Self.shortestPause
                // This node has told its own streams already.
                for (from, message) in messages where from != sender { moved(message) }
            } catch {
                try? await Task.sleep(for: .milliseconds(pause))
                pause = min(2 * pause, Self.longestPause)
            }
        }
    }

    private static func wait(_ session: Session) throws -> [(String, MarkMessage)] {
        try session.run { connection in
            try connection.notifications(waitingMilliseconds: waitMilliseconds).compactMap { notification in
                MarkMessage.read(notification.payload).map { ($0.sender, $0.message) }
            }
        }
    }
}
