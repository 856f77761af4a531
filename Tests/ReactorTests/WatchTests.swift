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

    @Test func `the process's limits are known`() throws {
        #expect(ProcessLimits.usableCores >= 1)
        let limit = try ProcessLimits.raiseDescriptorLimit()
        #expect(limit >= 256)
        #expect(try ProcessLimits.raiseDescriptorLimit() == limit)
    }
}
