import CLinux
import Glibc
import Synchronization

/// A line that is still to be written: its facts and its format. The thread that writes it makes its text.
struct LogEntry: Sendable {
    let record: LogRecord
    let format: LogFormat

    /// About the bytes that it uses in memory, which are about those of its line.
    var byteCount: Int {
        var sum = Self.fixedBytes + record.facts.count * Self.factBytes
        for (_, value) in record.facts { sum += value.textBytes }
        return sum
    }

    /// Time, level, part and sentence.
    static let fixedBytes = 100
    /// A key, and a value that is not a text.
    static let factBytes = 24
}

/// Lines that wait for the thread that writes them. Callers of `append` never wait for the descriptor.
final class LogQueue: Sendable {
    struct Limits: Sendable {
        /// A burst of a few thousand lines is kept; more lines would give no more information.
        var maximumLines = 8_192
        /// The writer can hold as many bytes again.
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
        /// Lines over the limits since the last batch.
        var dropped = 0
        /// The writer waits, or is about to.
        var isIdle = true
        var isStopped = false
        /// The writer has noticed the stop, and uses nothing any more.
        var hasEnded = false
        /// Threads in `waitUntilWritten` and `waitUntilEnded`.
        var waiting = 0
    }

    private let limits: Limits
    private let state = Mutex(State())
    private let lost = Atomic<Int>(0)
    /// Its count increases when the writer must check the queue: an eventfd.
    private let wake: Int32
    /// One count for each thread in `waitUntilWritten` that may continue: an eventfd as a semaphore.
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

    /// Counts lines that left the queue and could not be written.
    func countLost(_ lines: Int) {
        lost.add(lines, ordering: .relaxed)
    }

    func stop() {
        state.withLock { $0.isStopped = true }
        signal(wake, 1)
    }

    /// All collected lines, for the writer.
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

    /// Blocks the writer until there may be lines.
    func waitForLines() {
        var count: UInt64 = 0
        // Interrupted or not: the caller checks again.
        _ = unsafe read(wake, &count, MemoryLayout<UInt64>.size)
    }

    /// Blocks the caller until everything appended before is written, or the time is over.
    /// - Returns: whether everything is written.
    func waitUntilWritten(milliseconds: Int32) -> Bool {
        wait(milliseconds: milliseconds) { $0.isIdle }
    }

    /// Like `waitUntilWritten`, after ``stop()``: until the writer has written everything and has ended.
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

    /// Waits for a count, up to this time. A signal in the meantime does not shorten the wait.
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
