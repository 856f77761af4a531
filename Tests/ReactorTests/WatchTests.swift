// Tests: Reactor/Process.swift, WakePipe.swift

import CLinux
import Glibc
import TestHarness
import Testing

@testable import Reactor

@Suite struct WatchTests {
    @Test(arguments: PollerForm.allCases)
    func `a pipe wakes a loop from C, also when the pipe is full, and many wakes are one`(form: PollerForm) throws {
        let loop = try EventLoop(label: "test", poller: form)
        let pipe = try WakePipe()
        let woken = Shared(0)
        let watch = loop.run { LoopBound(try! pipe.watch(on: loop) { woken.update { $0 += 1 } }, loop: loop) }
        loop.run {
            let bytes = [UInt8](repeating: 1, count: 4096)
            for _ in 0..<100 { _ = unsafe linux_write(pipe.writeDescriptor, bytes, 4096) }
        }
        #expect(waitUntil { woken.value >= 1 })
        #expect(waitUntil { !loop.spins() }, "the pipe is empty at last")
        let before = woken.value
        pipe.wake()
        #expect(waitUntil { woken.value > before })
        loop.run { watch.value.cancel() }
        let after = woken.value
        pipe.wake()
        #expect(!loop.spins())
        #expect(woken.value == after)
        loop.stop()
    }

    @Test(arguments: PollerForm.allCases)
    func `a watch tells as long as something is unread, and the descriptor may close before it`(
        form: PollerForm
    ) throws {
        let loop = try EventLoop(label: "test", poller: form)
        let pair = try StreamBench.pair(.unix)
        let (ours, peer) = (FileDescriptorBox(pair.ours), PlainPeer(owning: pair.peer))
        let told = Shared(0)
        let watch = loop.run {
            LoopBound(try! DescriptorWatch(pair.ours, loop: loop) { told.update { $0 += 1 } }, loop: loop)
        }
        peer.send([1])
        #expect(waitUntil { told.value >= 3 })
        _ = consume ours
        let now = told.value
        #expect(waitUntil { told.value > now }, "the watch has a descriptor of its own")
        loop.run { watch.value.cancel() }
        loop.stop()
    }

    @Test func `slow events of one batch leave others their turn, and each of them has its own`() throws {
        let loop = try EventLoop(label: "test", poller: .epoll)
        let pipes = try (0..<24).map { _ in try WakePipe() }
        /// The events, by their pipe, and the ticks they came in; `nil` is the work of somebody else.
        let seen = Shared<[(pipe: Int?, tick: UInt64)]>([])
        let watches = loop.run {
            let watches = pipes.indices.map { index in
                try! pipes[index].watch(on: loop) {
                    if seen.value.isEmpty { loop.execute { seen.update { $0.append((nil, loop.tickNumber)) } } }
                    seen.update { $0.append((index, loop.tickNumber)) }
                    let end = linux_monotonic_microseconds() + EventLoop.turnMicroseconds
                    while linux_monotonic_microseconds() < end {}
                }
            }
            // Ready all at once, before the poller looks.
            for pipe in pipes { pipe.wake() }
            return LoopBound(watches, loop: loop)
        }
        #expect(waitUntil { Set(seen.value.map(\.pipe)).count == pipes.count + 1 })
        let events = seen.value
        let perTick = Dictionary(grouping: events, by: \.tick).mapValues(\.count)
        #expect(perTick.values.max()! <= EventLoop.eventsPerClockReading)
        let turn = try #require(events.firstIndex { $0.pipe == nil })
        #expect(turn <= EventLoop.eventsPerClockReading)
        loop.run { for watch in watches.value { watch.cancel() } }
        loop.stop()
    }

    @Test func `a descriptor that cannot be watched is refused`() throws {
        let loop = try EventLoop(label: "test")
        let file = unsafe open("/etc/passwd", O_RDONLY)
        let errors = loop.run {
            [file, 1_000_000].map { (descriptor: Int32) in
                errorOf { _ = try DescriptorWatch(descriptor, loop: loop) {} }
            }
        }
        let expected = [SystemFailure(.epollControl, EPERM), SystemFailure(.duplicate, EBADF)]
        #expect(errors == expected.map { ReactorError.system($0) })
        linux_close(file)
        loop.stop()
    }

    /// SIGWINCH and SIGURG: nobody else in the process cares for them.
    @Test(arguments: [SIGWINCH, SIGURG])
    func `a signal is told on the loop`(number: Int32) throws {
        let loop = try EventLoop(label: "test")
        let told = Promise<Bool>()
        let watch = SignalWatch(number, loop: loop) {
            loop.preconditionOnLoop()
            told.fulfil(true)
        }
        kill(getpid(), number)
        #expect(told.wait() == true)
        watch.cancel()
        loop.stop()
    }

    @Test func `a signal is told each time that it comes, to all who watch it`() throws {
        let loop = try EventLoop(label: "test")
        let told = (0..<2).map { _ in (0..<3).map { _ in Promise<Bool>() } }
        let watches = told.map { promises in
            var rest = promises[...]
            return SignalWatch(SIGIO, loop: loop) { rest.popFirst()?.fulfil(true) }
        }
        for round in 0..<3 {
            kill(getpid(), SIGIO)
            #expect(told.allSatisfy { $0[round].wait() == true })
        }
        for watch in watches { watch.cancel() }
        loop.stop()
    }

    @Test func `a signal is watched by sixteen at a time`() {
        let taken = (0..<16).map { _ in linux_watch_signal(SIGPWR) }
        #expect(taken.allSatisfy { $0 >= 0 } && Set(taken).count == 16)
        #expect(linux_watch_signal(SIGPWR) == -EBUSY)
        linux_leave_signal(SIGPWR, taken[7])
        #expect(linux_watch_signal(SIGPWR) == taken[7])
        for descriptor in taken { linux_leave_signal(SIGPWR, descriptor) }
        // No such signal, and one that cannot be caught.
        #expect([0, 65, SIGKILL].map { linux_watch_signal($0) } == [-EINVAL, -EINVAL, -EINVAL])
    }

    @Test func `the process's limits are known`() throws {
        #expect(ProcessLimits.usableCores >= 1)
        let limit = try ProcessLimits.raiseDescriptorLimit()
        #expect(limit >= 256)
        #expect(try ProcessLimits.raiseDescriptorLimit() == limit)
    }
}
