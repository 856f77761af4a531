import CLinux
import Dispatch

/// The portable poller: a Dispatch source for each descriptor and direction.
final class SourcePoller: Poller {
    /// The sources of one descriptor. The writing source is created when it is first needed: most streams never block.
    private final class Sources {
        let descriptor: Int32
        var reading: DispatchSourceRead?
        var writing: DispatchSourceWrite?
        var readingIsSuspended = false
        var writingIsSuspended = false
        /// Dispatch reported a hang-up. It reports nothing more of this descriptor.
        var isHungUp = false
        /// Is in the list of work for the loop's next tick.
        var willRepeat = false

        init(_ descriptor: Int32) { self.descriptor = descriptor }
    }

    private var watched: [UInt64: Sources] = [:]
    private var loop: EventLoop?

    override func start(_ loop: EventLoop) { self.loop = loop }

    override func add(_ descriptor: Int32, _ interest: PollEvents, token: UInt64) -> SystemFailure? {
        watched[token] = Sources(descriptor)
        return change(descriptor, from: [], to: interest, token: token)
    }

    override func change(
        _ descriptor: Int32, from old: PollEvents, to new: PollEvents, token: UInt64
    ) -> SystemFailure? {
        guard let loop, let sources = watched[token] else { return nil }
        setReading(new.contains(.readable), sources, loop, token)
        setWriting(new.contains(.writable), sources, loop, token)
        return nil
    }

    private func setReading(_ wanted: Bool, _ sources: Sources, _ loop: EventLoop, _ token: UInt64) {
        guard let source = sources.reading else {
            guard wanted else { return }
            let source = DispatchSource.makeReadSource(fileDescriptor: sources.descriptor, queue: loop.queue)
            source.setEventHandler {
                // No bytes follow: the end, or a hang-up.
                if sources.reading?.data == 0, linux_is_hung_up(sources.descriptor) != 0 { sources.isHungUp = true }
                loop.tick {
                    loop.deliver(.readable, to: token)
                    self.repeatAfterHangUp(sources, loop, token)
                }
            }
            sources.reading = source
            return source.activate()
        }
        guard wanted == sources.readingIsSuspended else { return }
        if wanted { source.resume() } else { source.suspend() }
        sources.readingIsSuspended = !wanted
        repeatAfterHangUp(sources, loop, token)
    }

    /// Dispatch reports a hang-up once and then drops the descriptor, even with unread bytes. From then on the descriptor
    /// counts as readable in every tick, as with epoll, until it is removed or nothing reads from it.
    private func repeatAfterHangUp(_ sources: Sources, _ loop: EventLoop, _ token: UInt64) {
        guard sources.isHungUp, !sources.willRepeat, !sources.readingIsSuspended, watched[token] === sources else {
            return
        }
        sources.willRepeat = true
        loop.executeNextTick {
            sources.willRepeat = false
            loop.deliver(.readable, to: token)
            self.repeatAfterHangUp(sources, loop, token)
        }
    }

    private func setWriting(_ wanted: Bool, _ sources: Sources, _ loop: EventLoop, _ token: UInt64) {
        guard let source = sources.writing else {
            guard wanted else { return }
            let source = DispatchSource.makeWriteSource(fileDescriptor: sources.descriptor, queue: loop.queue)
            source.setEventHandler { loop.tick { loop.deliver(.writable, to: token) } }
            sources.writing = source
            return source.activate()
        }
        guard wanted == sources.writingIsSuspended else { return }
        if wanted { source.resume() } else { source.suspend() }
        sources.writingIsSuspended = !wanted
    }

    override func remove(_ descriptor: consuming FileDescriptor, _ interest: PollEvents, token: UInt64) {
        guard let sources = watched.removeValue(forKey: token) else { return }
        // Dispatch keeps using the descriptor until both sources have been cancelled, so that the last of them
        // closes it. A suspended source must be resumed first, or it would never run its cancel handler.
        let raw = descriptor.release()
        let count = (sources.reading == nil ? 0 : 1) + (sources.writing == nil ? 0 : 1)
        guard count > 0 else {
            _ = FileDescriptor(owning: raw)
            return
        }
        let remaining = Countdown(count)
        if let source = sources.reading {
            source.setCancelHandler { if remaining.reachesZero() { _ = FileDescriptor(owning: raw) } }
            source.cancel()
            if sources.readingIsSuspended { source.resume() }
        }
        if let source = sources.writing {
            source.setCancelHandler { if remaining.reachesZero() { _ = FileDescriptor(owning: raw) } }
            source.cancel()
            if sources.writingIsSuspended { source.resume() }
        }
    }

    override func handOver(
        _ descriptor: consuming FileDescriptor, _ interest: PollEvents, token: UInt64, _ syscalls: Syscalls
    ) throws(ReactorError) -> FileDescriptor {
        // Dispatch may use the number until the cancel handlers have run, so the next owner gets another one.
        let copy = Result { () throws(ReactorError) in try descriptor.duplicate(syscalls) }
        remove(descriptor, interest, token: token)
        return try copy.get()
    }

    override func stop(_ done: @escaping () -> Void) {
        loop = nil
        done()
    }

    /// Counts the cancel handlers, which all run on the loop's queue.
    private final class Countdown {
        private var count: Int

        init(_ count: Int) { self.count = count }

        func reachesZero() -> Bool {
            count -= 1
            return count == 0
        }
    }
}
