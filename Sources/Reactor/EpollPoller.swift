import CLinux
import Dispatch

/// The poller over an epoll descriptor of the loop's own, which is itself watched by one Dispatch source.
@safe final class EpollPoller: Poller {
    /// The events of one tick: at 2 µs an event a tick of half a millisecond, after which what was written leaves.
    static let maximumEventsPerTick = 256
    /// The ticks of one wake, before mailboxes and other work queued on the loop get their turn. Looking once more
    /// costs one system call, being woken again by Dispatch about eight, so a loop looks until nothing has come, but
    /// not for ever.
    static let maximumTicksPerWake = 4

    private let syscalls: Syscalls
    private let epoll: Int32
    private var source: DispatchSourceRead?
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
        // Dispatch asks that a descriptor stays open until its source has been cancelled.
        source.setCancelHandler { _ = FileDescriptor(owning: epoll) }
        self.source = source
        source.activate()
    }

    private func drain(_ loop: EventLoop) {
        for _ in 0..<Self.maximumTicksPerWake {
            let count = unsafe syscalls.epollTake(epoll, tokens, events, maximum: Self.maximumEventsPerTick)
            guard count > 0 else { return }
            loop.tick {
                for index in 0..<count {
                    loop.deliver(
                        unsafe PollEvents(rawValue: UInt8(truncatingIfNeeded: events[index])), to: unsafe tokens[index])
                }
            }
        }
    }

    override func add(_ descriptor: Int32, _ interest: PollEvents, token: UInt64) -> SystemFailure? {
        interest.isEmpty ? nil : control(LINUX_EPOLL_ADD, descriptor, interest, token)
    }

    override func change(
        _ descriptor: Int32, from old: PollEvents, to new: PollEvents, token: UInt64
    ) -> SystemFailure? {
        // epoll tells errors and hang-ups even when asked for nothing, again and again: a stream that is paused would
        // spin. So with no interest the descriptor leaves the set.
        let operation = old.isEmpty ? LINUX_EPOLL_ADD : new.isEmpty ? LINUX_EPOLL_REMOVE : LINUX_EPOLL_MODIFY
        return old == new ? nil : control(operation, descriptor, new, token)
    }

    override func remove(_ descriptor: consuming FileDescriptor, _ interest: PollEvents, token: UInt64) {
        // Closing alone would not do for a descriptor that has a duplicate: epoll watches the open file.
        if !interest.isEmpty { _ = control(LINUX_EPOLL_REMOVE, descriptor.raw, [], token) }
    }

    override func handOver(
        _ descriptor: consuming FileDescriptor, _ interest: PollEvents, token: UInt64, _ syscalls: Syscalls
    ) -> FileDescriptor {
        if !interest.isEmpty { _ = control(LINUX_EPOLL_REMOVE, descriptor.raw, [], token) }
        return descriptor
    }

    override func stop() {
        source?.cancel()
    }

    private func control(
        _ operation: Int, _ descriptor: Int32, _ interest: PollEvents, _ token: UInt64
    ) -> SystemFailure? {
        let answer = syscalls.epollControl(epoll, operation, descriptor, UInt32(interest.rawValue), token)
        return answer < 0 ? SystemFailure(.epollControl, -answer) : nil
    }
}
