import CLinux
import Glibc
import Synchronization

package enum LoggingError: Error, Equatable, CustomStringConvertible {
    /// No descriptor for the queue; the payload is the error number.
    case descriptor(Int32)
    /// No thread to write; the payload is the error number.
    case thread(Int32)

    package var description: String {
        switch self {
        case .descriptor(let number): "the log cannot start: no file descriptor (error \(number))"
        case .thread(let number): "the log cannot start: no thread (error \(number))"
        }
    }
}

/// Writes lines to a descriptor from a thread of its own.
///
/// A stalled reader stalls only that thread. The queue fills, further lines are dropped and counted, and the first line after the
/// stall reports how many.
package final class LogWriter: LogDestination {
    private let queue: LogQueue
    private let form: LogForm

    /// - Parameters:
    ///   - descriptor: stays open as long as the process; it may be a file, a terminal or a pipe, blocking or not.
    ///   - format: nil for text on a terminal and JSON otherwise.
    package convenience init(
        descriptor: Int32 = STDERR_FILENO, format: LogFormat? = nil, level: LogLevel = .info
    ) throws(LoggingError) {
        try self.init(descriptor: descriptor, format: format, level: level, limits: .init(), now: Timestamp.now)
    }

    init(
        descriptor: Int32, format: LogFormat?, level: LogLevel, limits: LogQueue.Limits,
        now: @escaping @Sendable () -> Int64
    ) throws(LoggingError) {
        queue = try LogQueue(limits: limits)
        form = LogForm(descriptor: descriptor, now: now)
        configure(format: format, level: level)
        try LogThread(queue: queue, form: form, descriptor: descriptor).start()
    }

    deinit {
        queue.stop()
    }

    /// Takes effect with the next line.
    /// - Parameter format: nil for text on a terminal and JSON otherwise.
    package func configure(format: LogFormat?, level: LogLevel) {
        form.set(format: format, level: level)
    }

    package var level: LogLevel { form.level }

    package func setLevel(_ level: LogLevel) { form.setLevel(level) }

    /// How many lines were dropped since the start.
    package var dropped: Int { queue.droppedTotal }

    package func now() -> Int64 { form.now() }

    package func accept(_ record: LogRecord) {
        queue.append(LogEntry(record: record.shortened, format: form.format))
    }

    /// Writes the log to its end and ends its thread, waiting up to this limit. It is the last call of a process, when nothing
    /// logs any more. What is logged afterwards is dropped.
    /// - Returns: false when lines were left.
    @discardableResult
    package func finish(within limit: Duration = .seconds(1)) -> Bool {
        queue.stop()
        return queue.waitUntilEnded(milliseconds: Int32(clamping: Int64(limit / .milliseconds(1))))
    }

    /// Waits until all lines logged so far are written, up to this limit. Never call it on a loop.
    /// - Returns: false when lines were left.
    @discardableResult
    package func flush(within limit: Duration = .seconds(1)) -> Bool {
        queue.waitUntilWritten(milliseconds: Int32(clamping: Int64(limit / .milliseconds(1))))
    }
}

/// The present format of lines, shared by the threads that log and the thread that reports drops.
final class LogForm: Sendable {
    private let isTerminal: Bool
    private let currentLevel = Atomic<UInt8>(LogLevel.info.rawValue)
    private let currentFormat = Atomic<UInt8>(LogFormat.json.rawValue)
    let now: @Sendable () -> Int64

    init(descriptor: Int32, now: @escaping @Sendable () -> Int64) {
        isTerminal = isatty(descriptor) == 1
        self.now = now
    }

    var level: LogLevel { LogLevel(rawValue: currentLevel.load(ordering: .relaxed)) ?? .info }
    var format: LogFormat { LogFormat(rawValue: currentFormat.load(ordering: .relaxed)) ?? .json }

    func setLevel(_ level: LogLevel) { currentLevel.store(level.rawValue, ordering: .relaxed) }

    func set(format: LogFormat?, level: LogLevel) {
        currentLevel.store(level.rawValue, ordering: .relaxed)
        currentFormat.store((format ?? (isTerminal ? .text : .json)).rawValue, ordering: .relaxed)
    }
}
