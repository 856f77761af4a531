import Synchronization

@testable import Logging

/// Keeps lines instead of writing them: for tests of what the operator is told.
final class LogMemory: LogDestination {
    private let current: Mutex<LogLevel>
    private let kept = Mutex<[LogRecord]>([])
    /// So that a test that logs for ever ends by itself.
    private let maximumLines = 100_000

    init(level: LogLevel = .trace) {
        current = Mutex(level)
    }

    var level: LogLevel { current.withLock { $0 } }
    var dropped: Int { 0 }

    func setLevel(_ level: LogLevel) { current.withLock { $0 = level } }

    var records: [LogRecord] { kept.withLock { $0 } }

    func accept(_ record: LogRecord) {
        kept.withLock { if $0.count < maximumLines { $0.append(record) } }
    }

    func now() -> Int64 { Timestamp.now() }
}
