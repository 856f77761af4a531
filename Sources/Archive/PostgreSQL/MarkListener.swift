import PostgreSQL
import SQLite
import Synchronization

/// Waits, on a session and a thread of its own, for marks that other nodes have moved. Marks that they move while it has no
/// connection are read from the tables once it has one again.
final class MarkListener: Sendable {
    /// The longest time between two checks whether it is closed.
    static let waitMilliseconds: UInt64 = 200
    private static let shortestPause = 250
    private static let longestPause = 5_000

    private let thread: ThreadBound<MarkSession>
    private let interruption: Interruption
    private let reported = Mutex(ReportedMarks())
    private let moved: @Sendable (MarkMessage) -> Void

    /// - Parameter moved: called for each mark, from any thread.
    init(interruption: Interruption, moved: @escaping @Sendable (MarkMessage) -> Void) throws(SQLiteError) {
        thread = try ThreadBound()
        self.interruption = interruption
        self.moved = moved
    }

    func start(_ make: @escaping @Sendable () -> MarkSession) async throws {
        try await thread.open(make)
        Task { await listen() }
    }

    func close() async { await thread.close() }

    // MARK: - Marks of this node

    /// This node moves a mark. The caller notifies its streams, unless it is unknown whether the mark has moved.
    func begin(_ message: MarkMessage) { reported.withLock { $0.begin(message) } }

    /// Its outcome; nil: unknown.
    func end(_ message: MarkMessage, _ outcome: MarkOutcome?) {
        if reported.withLock({ $0.end(message, hasMoved: outcome == .moved) }) { moved(message) }
    }

    private func listen() async {
        var pause = Self.shortestPause
        while !interruption.isSet {
            do {
                guard let messages = try await thread.run({ try $0.wait() }) else { return }
                pause = Self.shortestPause
                for message in messages where reported.withLock({ $0.isNews(message) }) { moved(message) }
            } catch {
                try? await Task.sleep(for: .milliseconds(pause))
                pause = min(2 * pause, Self.longestPause)
            }
        }
    }
}

/// The marks that a node has reported to its streams of late, so that it reports none twice. It may receive one again from
/// another session, from its own, or from a table.
///
/// A mark of this node may arrive before its transaction has answered. Then it waits for that: if it has moved, its caller
/// reports it. If the answer was lost, or another attempt had moved it, it is reported as one of another node.
struct ReportedMarks {
    /// Those of some minutes, on a busy node. The older half is forgotten when there are more.
    static let maximum = 20_000

    private struct Flight {
        var count = 0
        var isReceived = false
    }

    private var reported: Set<MarkMessage> = []
    private var order: [MarkMessage] = []
    private var flights: [MarkMessage: Flight] = [:]

    /// Whether it is to be reported; from now on it counts as reported. A table does not keep the last bits of an id.
    mutating func isNews(_ message: MarkMessage) -> Bool {
        let message = message.withoutCheck
        guard flights[message] == nil else {
            flights[message]?.isReceived = true
            return false
        }
        return insert(message)
    }

    mutating func begin(_ message: MarkMessage) { flights[message.withoutCheck, default: Flight()].count += 1 }

    /// Returns whether it is to be reported as one of another node.
    mutating func end(_ message: MarkMessage, hasMoved: Bool) -> Bool {
        let message = message.withoutCheck
        guard var flight = flights[message] else { preconditionFailure("a mark that ends before it has begun") }
        flight.count -= 1
        if hasMoved { _ = insert(message) }
        // While another attempt is running, that one may have moved it.
        flights[message] = flight.count > 0 ? flight : nil
        return flight.count == 0 && flight.isReceived && insert(message)
    }

    private mutating func insert(_ message: MarkMessage) -> Bool {
        guard reported.insert(message).inserted else { return false }
        order.append(message)
        if order.count > Self.maximum {
            for old in order.prefix(Self.maximum / 2) { reported.remove(old) }
            order.removeFirst(Self.maximum / 2)
        }
        return true
    }
}
