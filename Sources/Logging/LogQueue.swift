import CLinux
import Glibc
import Synchronization

/// A line that is still to be written: the facts, and how it shall look. Its text is made where it is written.
struct LogEntry: Sendable {
    let record: LogRecord
    let format: LogFormat

    /// About the bytes that it holds in memory, which are about those that it will have as a line.
    var byteCount: Int {
        var sum = Self.fixedBytes + record.facts.count * Self.factBytes
        for (_, value) in record.facts { sum += value.textBytes }
        return sum
    }

    /// Time, level, part and sentence.
    static let fixedBytes = 100
    /// A key, and a value that is no text.
    static let factBytes = 24
}

/// Lines on their way to the thread that writes them. Nobody who appends ever waits for the descriptor.
final class LogQueue: Sendable {
    struct Limits: Sendable {
        /// A burst of a few thousand lines is kept; more tell nobody more.
        var maximumLines = 8_192
        /// As many bytes again can be in the writer's hands.
        var maximumBytes = 1 << 20
    }

    enum Batch {
        case lines([LogEntry], dropped: Int)
        /// Nothing for now: wait for `wake`.
        case none
        case end
    }

    private struct State {
        var lines: [LogEntry] = []
        var bytes = 0
        /// Lines that found no place since the last batch.
        var dropped = 0
        /// The writer waits, or is about to.
        var isIdle = true
        var isStopped = false
        /// The writer has seen the stop, and touches nothing any more.
        var hasEnded = false
        /// Threads in `waitUntilWritten` and `waitUntilEnded`.
        var waiting = 0
    }

    private let limits: Limits
    private let state = Mutex(State())
    private let lost = Atomic<Int>(0)
    /// Counts up when the writer is to look: an eventfd.
    private let wake: Int32
    /// One count for each thread in `waitUntilWritten` that may go on: an eventfd as a semaphore.
    private let written: Int32

    init(limits: Limits) throws(LoggingError) {
        self.limits = limits
        wake = eventfd(0, Int32(EFD_CLOEXEC))
        guard wake >= 0 else { throw .descriptor(errno) }
        written = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE))
        guard written >= 0 else {
            let number = errno
            close(wake)
            throw .descriptor(number)
        }
    }

    deinit {
        close(wake)
        close(written)
    }

    /// All lines that were dropped since the start.
    var droppedTotal: Int { lost.load(ordering: .relaxed) }

    func append(_ line: LogEntry) {
        let byteCount = line.byteCount
        let wasIdle = state.withLock { state in
            guard state.lines.count < limits.maximumLines, state.bytes + byteCount <= limits.maximumBytes,
                !state.isStopped
            else {
                state.dropped += 1
                lost.add(1, ordering: .relaxed)
                return false
            }
            state.lines.append(line)
            state.bytes += byteCount
            defer { state.isIdle = false }
            return state.isIdle
        }
        if wasIdle { signal(wake, 1) }
    }

    /// Lines that were taken and could not be written.
    func countLost(_ lines: Int) {
        lost.add(lines, ordering: .relaxed)
    }

    func stop() {
        state.withLock { $0.isStopped = true }
        signal(wake, 1)
    }

    /// All that has gathered, for the writer.
    func take() -> Batch {
        state.withLock { state in
            if !state.lines.isEmpty || state.dropped > 0 {
                let batch = Batch.lines(state.lines, dropped: state.dropped)
                state.lines = []
                state.bytes = 0
                state.dropped = 0
                return batch
            }
            state.isIdle = true
            state.hasEnded = state.isStopped
            if state.waiting > 0 {
                signal(written, UInt64(state.waiting))
                state.waiting = 0
            }
            return state.isStopped ? .end : .none
        }
    }

    /// Blocks the writer until there may be something to take.
    func waitForLines() {
        var count: UInt64 = 0
        // Interrupted or not: the caller looks again.
        _ = unsafe read(wake, &count, MemoryLayout<UInt64>.size)
    }

    /// Blocks the caller until everything appended before is written, at most so long.
    /// - Returns: whether it is.
    func waitUntilWritten(milliseconds: Int32) -> Bool {
        wait(milliseconds: milliseconds) { $0.isIdle }
    }

    /// As `waitUntilWritten`, after ``stop()``: until the writer has written everything and is gone.
    func waitUntilEnded(milliseconds: Int32) -> Bool {
        wait(milliseconds: milliseconds) { $0.hasEnded }
    }

    private func wait(milliseconds: Int32, until isOver: (borrowing State) -> Bool) -> Bool {
        let isWritten = state.withLock { state in
            let isWritten = isOver(state)
            if !isWritten { state.waiting += 1 }
            return isWritten
        }
        if isWritten { return true }
        if isCounted(within: milliseconds) { return takeCount() }
        // Too late. The writer may have counted this thread in the meantime.
        let isCounted = state.withLock { state in
            if state.waiting > 0 { state.waiting -= 1 } else { return true }
            return false
        }
        return isCounted ? takeCount() : false
    }

    /// Waits for a count, at most so long; a signal that comes meanwhile costs none of it.
    private func isCounted(within milliseconds: Int32) -> Bool {
        let end = linux_monotonic_milliseconds() + UInt64(max(0, milliseconds))
        while true {
            var watch = pollfd(fd: written, events: Int16(POLLIN), revents: 0)
            let now = linux_monotonic_milliseconds()
            let answer = unsafe poll(&watch, 1, Int32(clamping: end - min(now, end)))
            if answer >= 0 || errno != EINTR { return answer == 1 }
        }
    }

    private func takeCount() -> Bool {
        var count: UInt64 = 0
        return unsafe read(written, &count, MemoryLayout<UInt64>.size) == MemoryLayout<UInt64>.size
    }

    private func signal(_ descriptor: Int32, _ count: UInt64) {
        var count = count
        _ = unsafe write(descriptor, &count, MemoryLayout<UInt64>.size)
    }
}
