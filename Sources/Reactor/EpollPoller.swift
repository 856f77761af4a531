import CLinux
import Dispatch

/// The poller over an epoll descriptor of its loop. One Dispatch source watches that descriptor.
@safe final class EpollPoller: Poller {
    /// The events of one tick: at 2 µs an event, half a millisecond. After it the written bytes leave.
    static let maximumEventsPerTick = 256
    /// The ticks of one wake, before mailboxes and other work queued on the loop run. Another poll costs one system call; being
    /// woken again by Dispatch costs about eight. So a loop polls until nothing is ready, up to this limit.
    static let maximumTicksPerWake = 4

    private let syscalls: Syscalls
    private let epoll: Int32
    private var source: DispatchSourceRead?
    private var stopped: () -> Void = {}
    /// The events that the kernel has reported and that are not delivered yet: from `next` to before `count`.
    private var next = 0
    private var count = 0
    private let tokens: UnsafeMutablePointer<UInt64>
    private let events: UnsafeMutablePointer<UInt32>

    init(_ syscalls: Syscalls) throws(ReactorError) {
        let descriptor = syscalls.epollCreate()
        guard descriptor >= 0 else { throw .system(SystemFailure(.epollCreate, -descriptor)) }
        self.syscalls = syscalls
        self.epoll = descriptor
        unsafe tokens = .allocate(capacity: Self.maximumEventsPerTick)
        unsafe events = .allocate(capacity: Self.maximumEventsPerTick)
    }

    deinit {
        unsafe tokens.deallocate()
        unsafe events.deallocate()
        if source == nil { _ = FileDescriptor(owning: epoll) }
    }

    override func start(_ loop: EventLoop) {
        let source = DispatchSource.makeReadSource(fileDescriptor: epoll, queue: loop.queue)
        let epoll = epoll
        source.setEventHandler { self.drain(loop) }
        // Dispatch requires that a descriptor stays open until its source has been cancelled.
        source.setCancelHandler {
            _ = FileDescriptor(owning: epoll)
            self.stopped()
            self.stopped = {}
        }
        self.source = source
        source.activate()
    }

    private func drain(_ loop: EventLoop) {
        let end = linux_monotonic_microseconds() + EventLoop.turnMicroseconds
        for _ in 0..<Self.maximumTicksPerWake {
            if next == count {
                next = 0
                count = max(0, unsafe syscalls.epollWait(epoll, tokens, events, maximum: Self.maximumEventsPerTick))
                guard count > 0 else { return }
            }
            loop.tick { deliver(loop, until: end) }
            if linux_monotonic_microseconds() >= end { return }
        }
    }

    /// Delivers events until the turn's time is over. The events that are left are still ready, so the loop is woken again.
    /// Then they come first; otherwise the last of a batch might never be delivered.
    private func deliver(_ loop: EventLoop, until end: UInt64) {
        var delivered = 0
        while next < count {
            let (token, flags) = unsafe (tokens[next], events[next])
            next += 1
            loop.deliver(PollEvents(rawValue: UInt8(truncatingIfNeeded: flags)), to: token)
            delivered += 1
            let readsClock = delivered % EventLoop.eventsPerClockReading == 0
            if readsClock, linux_monotonic_microseconds() >= end { return }
        }
    }

    override func add(_ descriptor: Int32, _ interest: PollEvents, token: UInt64) -> SystemFailure? {
        interest.isEmpty ? nil : control(LINUX_EPOLL_ADD, descriptor, interest, token)
    }

    override func change(
        _ descriptor: Int32, from old: PollEvents, to new: PollEvents, token: UInt64
    ) -> SystemFailure? {
        // epoll reports errors and hang-ups even without any interest, again and again: a paused stream would cause a busy
        // loop. So without interest the descriptor leaves the set.
        let operation = old.isEmpty ? LINUX_EPOLL_ADD : new.isEmpty ? LINUX_EPOLL_REMOVE : LINUX_EPOLL_MODIFY
        return old == new ? nil : control(operation, descriptor, new, token)
    }

    override func remove(_ descriptor: consuming FileDescriptor, _ interest: PollEvents, token: UInt64) {
        // Closing is not enough for a descriptor that has a duplicate: epoll watches the open file.
        if !interest.isEmpty { _ = control(LINUX_EPOLL_REMOVE, descriptor.raw, [], token) }
    }

    override func handOver(
        _ descriptor: consuming FileDescriptor, _ interest: PollEvents, token: UInt64, _ syscalls: Syscalls
    ) -> FileDescriptor {
        if !interest.isEmpty { _ = control(LINUX_EPOLL_REMOVE, descriptor.raw, [], token) }
        return descriptor
    }

    override func stop(_ done: @escaping () -> Void) {
        stopped = done
        source?.cancel()
    }

    private func control(
        _ operation: Int, _ descriptor: Int32, _ interest: PollEvents, _ token: UInt64
    ) -> SystemFailure? {
        let answer = syscalls.epollControl(epoll, operation, descriptor, UInt32(interest.rawValue), token)
        return answer < 0 ? SystemFailure(.epollControl, -answer) : nil
    }
}
