// Tests: StreamEnd.swift, WriteQueue.swift

import CLinux
import Glibc
import TestHarness
import Testing

@testable import Reactor

/// Every form of poller with every kind of connection.
let everyBench: [(PollerForm, Link)] = PollerForm.allCases.flatMap { form in Link.allCases.map { (form, $0) } }

@Suite struct ByteStreamTests {
    @Test(arguments: everyBench)
    func `bytes arrive as they were sent, in both directions`(form: PollerForm, link: Link) throws {
        let bench = try StreamBench(form, link)
        let sent = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        bench.with { $0.stream.write(sent) }
        #expect(bench.peer.receive(sent.count) == sent)
        bench.peer.send(Array(sent[..<70_000]))
        #expect(waitUntil { bench.seen.value.received.count == 70_000 })
        #expect(bench.seen.value.received == Array(sent[..<70_000]))
        #expect(bench.with { $0.stream.pendingBytes } == 0)
    }

    @Test func `what is written within a tick leaves in one send`() throws {
        let plan = FaultPlan()
        let bench = try StreamBench(faults: plan)
        bench.with { owner in
            for number in 0..<40 { owner.stream.write([UInt8(number), 1, 2]) }
            owner.stream.write([9, 8, 7, 6, 5], range: 1..<3)
            owner.stream.write([])
        }
        var expected: [UInt8] = []
        for number: UInt8 in 0..<40 { expected += [number, 1, 2] }
        expected += [8, 7]
        #expect(bench.peer.receive(expected.count) == expected)
        #expect(plan.count(of: .send) == 1)
        // The bytes are here before the loop has come back from the call that sent them.
        bench.loop.run {}
        #expect(bench.seen.value.drained == 1)
    }

    @Test func `more slices than one call takes leave in order, in few calls`() throws {
        let plan = FaultPlan()
        let bench = try StreamBench(faults: plan)
        let count = WriteQueue.maximumSlicesPerSend * 10 + 1
        bench.with { owner in for number in 0..<count { owner.stream.write([UInt8(truncatingIfNeeded: number)]) } }
        let expected: [UInt8] = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        #expect(bench.peer.receive(count) == expected)
        #expect(plan.count(of: .send) == 11)
    }

    @Test func `the array that is written is shared and not copied`() throws {
        let bench = try StreamBench()
        bench.with { owner in
            let bytes = [UInt8](repeating: 1, count: 100_000)
            let address = unsafe bytes.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
            owner.stream.write(bytes)
            let after = unsafe bytes.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
            #expect(address == after)
        }
        #expect(bench.peer.receive(100_000).count == 100_000)
    }

    @Test(arguments: everyBench)
    func `a peer that does not read leaves bytes pending, and the rest follows when it reads`(
        form: PollerForm, link: Link
    ) throws {
        let bench = try StreamBench(form, link, smallBuffers: true)
        let slices = (0..<200).map { number in (0..<5_000).map { UInt8(truncatingIfNeeded: $0 &+ number) } }
        let pending = bench.with { owner in
            for slice in slices { owner.stream.write(slice) }
            return owner.stream.pendingBytes
        }
        #expect(pending == 1_000_000)
        bench.loop.run {}
        #expect((1..<1_000_000).contains(bench.with { $0.stream.pendingBytes }))
        #expect(bench.seen.value.blocked >= 1)
        #expect(bench.seen.value.drained == 0)
        #expect(bench.peer.receive(1_000_000) == Array(slices.joined()))
        #expect(waitUntil { bench.seen.value.drained == 1 })
        #expect(bench.with { $0.stream.pendingBytes } == 0)
    }

    @Test func `a blocked stream makes no send until the kernel has room`() throws {
        let plan = FaultPlan()
        let bench = try StreamBench(smallBuffers: true, faults: plan)
        bench.with { $0.stream.write([UInt8](repeating: 1, count: 4_000_000)) }
        #expect(waitUntil { bench.seen.value.blocked >= 1 })
        let before = plan.count(of: .send)
        for _ in 0..<100 { bench.with { $0.stream.write([1]) } }
        bench.loop.run {}
        // What was on its way when the peer's kernel was full may make room a few times yet.
        #expect(plan.count(of: .send) < before + 50)
        #expect(bench.seen.value.blocked >= 100, "the owner can enforce its bound after each of them")
    }

    @Test func `one stream with much to say is read once a tick`() throws {
        let bench = try StreamBench()
        let ticks = Shared<[UInt64]>([])
        let loop = bench.loop
        bench.with { $0.onReceived = { _, _ in ticks.update { $0.append(loop.tickNumber) } } }
        bench.peer.send([UInt8](repeating: 1, count: 1_000_000))
        #expect(waitUntil { bench.seen.value.received.count == 1_000_000 })
        #expect(Set(ticks.value).count == ticks.value.count)
        #expect(ticks.value.count >= 1_000_000 / EventLoop.receiveBufferBytes)
    }

    @Test(arguments: everyBench)
    func `a paused stream reads nothing and does not spin, and goes on where it was`(
        form: PollerForm, link: Link
    ) throws {
        let bench = try StreamBench(form, link)
        bench.with { $0.stream.pauseReading() }
        bench.peer.send([1, 2, 3])
        bench.peer.close()
        #expect(!bench.loop.spins())
        #expect(bench.seen.value.received == [])
        bench.with { $0.stream.resumeReading() }
        #expect(waitUntil { bench.seen.value.received == [1, 2, 3] })
        #expect(bench.waitForEnd() == .peerClosed)
    }

    @Test func `a flush that is asked for comes once, before the send, and what it writes leaves with it`() throws {
        let plan = FaultPlan()
        let bench = try StreamBench(faults: plan)
        bench.with { owner in
            owner.onFlush = { $0.stream.write([3, 4]) }
            owner.stream.requestFlush()
            owner.stream.write([1, 2])
            owner.stream.requestFlush()
        }
        #expect(bench.peer.receive(4) == [1, 2, 3, 4])
        #expect(plan.count(of: .send) == 1)
        #expect(bench.seen.value.flushes == 1)
    }

    @Test func `a stream that always has more to write leaves the loop to others`() throws {
        let bench = try StreamBench()
        bench.with { owner in
            owner.onDrained = { $0.stream.write([1]) }
            owner.stream.write([1])
        }
        for _ in 0..<100 { bench.loop.run {} }
        #expect(bench.peer.receive(1000).count == 1000)
        bench.with { $0.stream.close(afterFlush: false) }
        #expect(bench.waitForEnd() != nil)
    }
}
