import CLinux
import Glibc
import Synchronization

/// Lines on their way to the thread that writes them. Nobody who appends ever waits for the descriptor.
final class LogQueue: Sendable {
    struct Limits: Sendable {
        /// A burst of a few thousand lines is kept; more tell nobody more.
        var maximumLines = 8_192
        /// As many bytes again can be in the writer's hands.
        var maximumBytes = 1 << 20
    }

    enum Batch {
        case lines([[UInt8]], dropped: Int)
        /// Nothing for now: wait for `wake`.
        case none
        case end
    }

    private struct State {
        var lines: [[UInt8]] = []
        var bytes = 0
        /// Lines that found no place since the last batch.
        var dropped = 0
        /// The writer waits, or is about to.
        var isIdle = true
        var isStopped = false
        /// Threads in `waitUntilWritten`.
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

    func append(_ line: [UInt8]) {
        let wasIdle = state.withLock { state in
            guard state.lines.count < limits.maximumLines, state.bytes + line.count <= limits.maximumBytes,
                !state.isStopped
            else {
                state.dropped += 1
                lost.add(1, ordering: .relaxed)
                return false
            }
            state.lines.append(line)
            state.bytes += line.count
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
        let isWritten = state.withLock { state in
            if !state.isIdle { state.waiting += 1 }
            return state.isIdle
        }
        if isWritten { return true }
        var watch = pollfd(fd: written, events: Int16(POLLIN), revents: 0)
        if unsafe poll(&watch, 1, milliseconds) == 1 { return takeCount() }
        // Too late, or interrupted. The writer may have counted this thread in the meantime.
        let isCounted = state.withLock { state in
            if state.waiting > 0 { state.waiting -= 1 } else { return true }
            return false
        }
        return isCounted ? takeCount() : false
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
