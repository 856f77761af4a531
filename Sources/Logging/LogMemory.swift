import Synchronization

/// Keeps lines instead of writing them: for tests of what the operator is told.
package final class LogMemory: LogDestination {
    package let level: LogLevel
    private let kept = Mutex<[LogRecord]>([])
    /// So that a test that logs for ever ends by itself.
    private let maximumLines = 100_000

    package init(level: LogLevel = .trace) {
        self.level = level
    }

    package var records: [LogRecord] { kept.withLock { $0 } }

    package func accept(_ record: LogRecord) {
        kept.withLock { if $0.count < maximumLines { $0.append(record) } }
    }

    package func now() -> Int64 { Timestamp.now() }
}
