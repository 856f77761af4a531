// Tests: EpollPoller.swift, EventLoop+Flush.swift, Poller.swift, SourcePoller.swift

import CLinux
import Dispatch
import TestHarness
import Testing

@testable import Reactor

@Suite struct EventLoopTests {
    @Test(arguments: PollerForm.allCases)
    func `work runs in the order it was given`(form: PollerForm) throws {
        let loop = try EventLoop(label: "test", poller: form)
        let seen = Shared<[Int]>([])
        for number in 0..<1000 { loop.execute { seen.update { $0.append(number) } } }
        loop.run {}
        #expect(seen.value == Array(0..<1000))
        loop.stop()
    }

    @Test func `what is put off runs in the next tick, behind what was queued before`() throws {
        let loop = try EventLoop(label: "test")
        let done = Promise<[String]>()
        let seen = Shared<[String]>([])
        loop.run {
            let first = loop.tickNumber
            loop.execute { seen.update { $0.append("queued") } }
            loop.executeNextTick {
                seen.update { $0.append(loop.tickNumber > first ? "put off" : "same tick") }
                loop.executeNextTick { done.fulfil(seen.value + ["again"]) }
            }
        }
        #expect(Set(done.wait() ?? []) == ["queued", "put off", "again"])
        #expect(done.wait()?.last == "again")
        loop.stop()
    }

    @Test(arguments: PollerForm.allCases)
    func `what is put off again and again has one wake in line, whatever else wakes the loop`(form: PollerForm) throws {
        let loop = try EventLoop(label: "test", poller: form)
        let ticks = Promise<UInt64>()
        loop.run {
            func again() { if !loop.isStopped { loop.executeNextTick { again() } } }
            again()
            for _ in 0..<100 { loop.execute {} }
            loop.execute {
                // Whatever stands in line by now comes before this.
                let first = loop.tickNumber
                loop.execute { ticks.fulfil(loop.tickNumber - first) }
            }
        }
        #expect(ticks.wait() == 2)
        loop.stop()
    }

    @Test func `what is put off does not keep the loop for longer than a turn`() throws {
        let loop = try EventLoop(label: "test")
        let ran = Shared<[Int]>([])
        let others = Promise<Int>()
        let done = Promise<[Int]>()
        loop.run {
            for index in 0..<64 {
                loop.executeNextTick {
                    if index == 0 { loop.execute { others.fulfil(ran.value.count) } }
                    let end = linux_monotonic_microseconds() + EventLoop.turnMicroseconds
                    while linux_monotonic_microseconds() < end {}
                    ran.update { $0.append(index) }
                    if index == 63 { done.fulfil(ran.value) }
                }
            }
        }
        // A turn each.
        #expect(others.wait() == 1)
        #expect(done.wait() == Array(0..<64))
        loop.stop()
    }

    @Test func `work in slices does not keep the loop for longer than a slice, and others come in between`() throws {
        let loop = try EventLoop(label: "test")
        let steps = Shared<Int>(0)
        let others = Promise<Int>()
        let done = Promise<Int>()
        loop.run {
            func goOn() {
                let isMore = loop.runSlice {
                    let end = linux_monotonic_microseconds() + EventLoop.sliceMicroseconds
                    while linux_monotonic_microseconds() < end {}
                    steps.update { $0 += 1 }
                    return steps.value < 64
                }
                if isMore { loop.executeNextTick { goOn() } } else { done.fulfil(steps.value) }
            }
            loop.execute { others.fulfil(steps.value) }
            goOn()
        }
        // A slice each.
        #expect(others.wait() == 1)
        #expect(done.wait() == 64)
        loop.stop()
    }

    /// As a stream whose send takes its time.
    final class SlowTarget: PollTarget {
        let flushed: Shared<Int>
        let all: Promise<Int>

        init(_ loop: EventLoop, _ flushed: Shared<Int>, _ all: Promise<Int>) {
            (self.flushed, self.all) = (flushed, all)
            super.init(loop: loop)
        }

        override func tickEnds() {
            let end = linux_monotonic_microseconds() + EventLoop.flushMicroseconds
            while linux_monotonic_microseconds() < end {}
            flushed.update { $0 += 1 }
            if flushed.value == 64 { all.fulfil(64) }
        }
    }

    @Test func `what is flushed does not keep the loop for longer than its time, and all of it is flushed`() throws {
        let loop = try EventLoop(label: "test")
        let flushed = Shared<Int>(0)
        let others = Promise<Int>()
        let all = Promise<Int>()
        loop.run {
            for _ in 0..<64 { loop.markDirty(SlowTarget(loop, flushed, all)) }
            loop.execute { others.fulfil(flushed.value) }
        }
        // Each takes all of the time: one of what is new, and one of what is left.
        #expect(others.wait() == 2)
        #expect(all.wait() == 64)
        loop.stop()
    }

    @Test func `a loop that stops has flushed everything`() throws {
        let loop = try EventLoop(label: "test")
        let flushed = Shared<Int>(0)
        let all = Promise<Int>()
        let stopped = Promise<Int>()
        loop.run { for _ in 0..<64 { loop.markDirty(SlowTarget(loop, flushed, all)) } }
        loop.stop { stopped.fulfil(flushed.value) }
        #expect(stopped.wait() == 64)
    }

    @Test func `a loop that stops has run all that was put off when it says so`() throws {
        let loop = try EventLoop(label: "test")
        let ran = Shared<Int>(0)
        let stopped = Promise<Int>()
        loop.run {
            for _ in 0..<64 {
                loop.executeNextTick {
                    let end = linux_monotonic_microseconds() + EventLoop.turnMicroseconds / 2
                    while linux_monotonic_microseconds() < end {}
                    ran.update { $0 += 1 }
                }
            }
            loop.stop { stopped.fulfil(ran.value) }
        }
        #expect(stopped.wait() == 64)
    }

    @Test func `what is put off has a turn only when all that was in line had one`() throws {
        let loop = try EventLoop(label: "test")
        let done = Promise<[Int]>()
        let turns = Shared<[Int]>([])
        let gate = DispatchSemaphore(value: 0)
        loop.execute {
            gate.wait()
            loop.executeNextTick { done.fulfil(turns.value) }
        }
        // As a wake of the poller has it: several ticks in one turn of the queue.
        loop.queue.async { for turn in 0..<3 { loop.tick { turns.update { $0.append(turn) } } } }
        for turn in 3..<6 { loop.execute { turns.update { $0.append(turn) } } }
        gate.signal()
        #expect(done.wait() == Array(0..<6))
        loop.stop()
    }

    @Test func `timers fire in order, and none early`() throws {
        let loop = try EventLoop(label: "test")
        let done = Promise<[UInt64]>()
        loop.run {
            let start = loop.now
            var late: [UInt64] = []
            for delay: UInt64 in [30, 5, 1, 20, 5] {
                loop.schedule(afterMilliseconds: delay) {
                    late.append(delay)
                    if loop.now < start + delay { late.append(.max) }
                    if late.count == 5 { done.fulfil(late) }
                }
            }
        }
        #expect(done.wait() == [1, 5, 5, 20, 30])
        loop.stop()
    }

    @Test func `a timer can be cancelled, also from a timer of the same tick`() throws {
        let loop = try EventLoop(label: "test")
        let done = Promise<[String]>()
        loop.run {
            var fired: [String] = []
            var victim: Timer?
            loop.schedule(afterMilliseconds: 2) {
                fired.append("first")
                loop.cancel(victim!)
            }
            victim = loop.schedule(afterMilliseconds: 2) { fired.append("victim") }
            loop.cancel(loop.schedule(afterMilliseconds: 1) { fired.append("cancelled") })
            loop.schedule(afterMilliseconds: 10) { done.fulfil(fired) }
        }
        #expect(done.wait() == ["first"])
        loop.stop()
    }

    @Test func `timers that ask for timers already due do not keep the loop from other work`() throws {
        let loop = try EventLoop(label: "test")
        let count = Shared(0)
        loop.run {
            func again() {
                count.update { $0 += 1 }
                loop.schedule(at: 0) { again() }
            }
            again()
        }
        for _ in 0..<10 { loop.run {} }
        loop.stop()
        loop.run {}
    }

    @Test func `more timers than one tick takes all fire`() throws {
        let loop = try EventLoop(label: "test")
        let done = Promise<Bool>()
        let total = EventLoop.maximumTimersPerTick * 3 + 1
        loop.run {
            var fired = 0
            var ticks: Set<UInt64> = []
            for _ in 0..<total {
                loop.schedule(afterMilliseconds: 1) {
                    fired += 1
                    ticks.insert(loop.tickNumber)
                    if fired == total { done.fulfil(ticks.count >= 4) }
                }
            }
        }
        #expect(done.wait() == true)
        loop.stop()
    }

    @Test(arguments: PollerForm.allCases)
    func `stop tells when nothing of the loop runs any more, to each who asks`(form: PollerForm) throws {
        let loop = try EventLoop(label: "test", poller: form)
        let seen = Shared<[String]>([])
        loop.run {
            loop.schedule(afterMilliseconds: 1) { seen.update { $0.append("timer") } }
            loop.executeNextTick { seen.update { $0.append("put off") } }
        }
        let stopped = Promise<[String]>()
        let again = Promise<[String]>()
        loop.stop { stopped.fulfil(seen.value) }
        loop.stop { again.fulfil(seen.value) }
        let atTheEnd = try #require(stopped.wait())
        #expect(atTheEnd.contains("put off"))
        #expect(again.wait() == atTheEnd)
        let ticks = loop.run { loop.tickNumber }
        #expect(loop.run { loop.tickNumber } == ticks + 1)
        let late = Promise<Bool>()
        loop.stop { late.fulfil(true) }
        #expect(late.wait() == true)
        #expect(seen.value == atTheEnd)
    }

    @Test func `timers of a target fire with their number, are cancelled, and hold it until then`() throws {
        final class Target: TimerTarget {
            let fired = Shared<[UInt8]>([])
            func timerFired(_ kind: UInt8) { fired.update { $0.append(kind) } }
        }
        let loop = try EventLoop(label: "test")
        let done = Promise<Bool>()
        let (fired, probe, last) = loop.run {
            let target = Target()
            _ = loop.schedule(afterMilliseconds: 2, target, 2)
            _ = loop.schedule(at: 0, target, 1)
            loop.cancel(loop.schedule(afterMilliseconds: 1, target, 9))
            loop.schedule(afterMilliseconds: 5) { done.fulfil(true) }
            let last = loop.schedule(afterMilliseconds: 1_000_000, target, 3)
            return (target.fired, WeakReference(target), last)
        }
        #expect(done.wait() == true)
        #expect(fired.value == [1, 2])
        #expect(probe.isAlive)
        loop.run { loop.cancel(last) }
        #expect(waitUntil { !probe.isAlive })
        loop.stop()
    }

    @Test(arguments: PollerForm.allCases)
    func `a stopped loop is freed, and work given to it before it is freed still runs`(form: PollerForm) throws {
        let (probe, ran) = try {
            let loop = try EventLoop(label: "test", poller: form)
            _ = loop.run { loop.schedule(afterMilliseconds: 1_000_000) {} }
            loop.stop()
            let ran = loop.run { loop.isStopped }
            return (WeakReference(loop), ran)
        }()
        #expect(ran)
        #expect(waitUntil { !probe.isAlive })
    }

    @Test func `a bound value is opened on its loop`() throws {
        let loop = try EventLoop(label: "test")
        let bound = loop.run { LoopBound([1, 2, 3], loop: loop) }
        #expect(loop.run { bound.value } == [1, 2, 3])
        loop.stop()
    }

    @Test func `a loop without a descriptor for its poller says so`() {
        let plan = FaultPlan(failing: [.epollCreate], nth: 1, code: 24)
        #expect(throws: ReactorError.system(SystemFailure(.epollCreate, 24))) {
            try EventLoop(label: "test", poller: .epoll, syscalls: Syscalls(faults: plan))
        }
    }
}
