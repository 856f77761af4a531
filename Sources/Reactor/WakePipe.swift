import CLinux

/// A pipe by which code that knows nothing of loops (a C library with its own threads) wakes a loop.
///
/// Neither end blocks: a full pipe means that the loop has been woken already.
package final class WakePipe: Sendable {
    /// How many bytes one read removes: far more wakes than gather while a loop is busy.
    private static let drainBytes = 512

    private let reading: FileDescriptor
    private let writing: FileDescriptor
    private let syscalls: Syscalls

    /// Opens the pipe.
    ///
    /// - Throws: ``ReactorError/system(_:)`` if there are no descriptors left.
    package init(syscalls: Syscalls = .real) throws(ReactorError) {
        var (readEnd, writeEnd) = (Int32(-1), Int32(-1))
        let answer = syscalls.pipe(&readEnd, &writeEnd)
        guard answer >= 0 else { throw .system(SystemFailure(.pipe, -answer)) }
        reading = FileDescriptor(owning: readEnd)
        writing = FileDescriptor(owning: writeEnd)
        self.syscalls = syscalls
    }

    /// The descriptor that the other side writes to: any bytes, one is enough. Valid as long as this pipe.
    package var writeDescriptor: Int32 { writing.raw }

    /// Wakes the loop from Swift. From any thread.
    package func wake() {
        var byte: UInt8 = 1
        _ = unsafe linux_write(writing.raw, &byte, 1)
    }

    /// Calls `woken` on the loop after one or more wakes. The pipe is already empty then, so that any later
    /// write wakes again. Only on the loop.
    package func watch(on loop: EventLoop, woken: @escaping () -> Void) throws(ReactorError) -> DescriptorWatch {
        try DescriptorWatch(reading.raw, loop: loop) {
            self.drain()
            woken()
        }
    }

    private func drain() {
        unsafe withUnsafeTemporaryAllocation(byteCount: Self.drainBytes, alignment: 1) { room in
            // The poller reports again the bytes that are left.
            _ = unsafe syscalls.read(reading.raw, into: room)
        }
    }
}

/// Calls a closure when a descriptor of another owner is readable. Confined to its loop.
///
/// It watches a duplicate, so the owner may close the original at any time. Level-triggered: if a callback leaves
/// unread bytes, it is called again with the next tick.
package final class DescriptorWatch: PollTarget {
    private let readable: () -> Void

    /// Begins to watch. Only on the loop.
    ///
    /// - Throws: ``ReactorError/system(_:)`` if there is no descriptor left, or the poller refuses it (files);
    ///   ``ReactorError/cancelled`` if the loop has stopped.
    package init(_ descriptor: Int32, loop: EventLoop, readable: @escaping () -> Void) throws(ReactorError) {
        loop.assertOnLoop()
        self.readable = readable
        super.init(loop: loop)
        if loop.isStopped { throw .cancelled }
        let copy = loop.syscalls.duplicate(descriptor)
        guard copy >= 0 else { throw .system(SystemFailure(.duplicate, -copy)) }
        if let failure = loop.register(self, FileDescriptor(owning: copy), .readable) { throw .system(failure) }
    }

    /// Ends the watch; the closure is not called afterwards.
    package func cancel() { loop.unregister(self) }

    override func ready(_ events: PollEvents) { readable() }

    override func loopStops() { cancel() }
}
