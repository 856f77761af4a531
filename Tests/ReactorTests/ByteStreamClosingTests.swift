// Tests: FileDescriptor.swift

import CLinux
import Glibc
import TestHarness
import Testing

@testable import Reactor

@Suite struct ByteStreamClosingTests {
    @Test(arguments: everyBench)
    func `the peer finishes: what was queued still leaves, then the stream ends`(form: PollerForm, link: Link) throws {
        let bench = try StreamBench(form, link)
        bench.with { $0.onReceived = { owner, _ in owner.stream.write([7, 8, 9]) } }
        bench.peer.send([1])
        bench.peer.finishSending()
        #expect(bench.peer.receive(10) == [7, 8, 9])
        #expect(bench.waitForEnd() == .peerClosed)
    }

    @Test(arguments: everyBench)
    func `a half that is kept open can still be written to`(form: PollerForm, link: Link) throws {
        let bench = try StreamBench(form, link)
        bench.with { $0.onPeerFinished = { _ in true } }
        bench.peer.finishSending()
        #expect(waitUntil { bench.seen.value.peerFinished == 1 })
        #expect(!bench.loop.spins(), "the end is told once")
        bench.with { $0.stream.write([4, 5]) }
        #expect(bench.peer.receive(2) == [4, 5])
        bench.with { $0.stream.close(afterFlush: true, limitMilliseconds: 60_000) }
        #expect(bench.peer.receiveEnd() == 0)
        #expect(bench.waitForEnd() == .peerClosed)
    }

    @Test(arguments: everyBench)
    func `a close after a flush sends everything, and ends when the peer has finished too`(
        form: PollerForm, link: Link
    ) throws {
        let bench = try StreamBench(form, link, smallBuffers: true)
        let bytes = (0..<500_000).map { UInt8(truncatingIfNeeded: $0) }
        bench.with { owner in
            owner.stream.write(bytes)
            owner.stream.close(afterFlush: true, limitMilliseconds: 60_000)
            owner.stream.write([1, 2, 3])
        }
        #expect(bench.peer.receive(1_000_000) == bytes)
        #expect(bench.peer.receiveEnd() == 0)
        #expect(bench.ends == [])
        bench.peer.close()
        #expect(bench.waitForEnd() == .closed)
    }

    /// Without the wait for the peer's end, the kernel would answer its unread bytes with a reset, and the reset would
    /// destroy the refusal in the peer's buffer.
    @Test(arguments: everyBench)
    func `a refusal reaches a peer that is still sending`(form: PollerForm, link: Link) throws {
        let bench = try StreamBench(form, link)
        let refusal = [UInt8](repeating: 0x52, count: 900)
        bench.with { owner in
            owner.onReceived = { owner, _ in
                owner.stream.write(refusal)
                owner.stream.close(afterFlush: true, limitMilliseconds: 60_000)
            }
        }
        bench.peer.send([UInt8](repeating: 1, count: 100))
        #expect(waitUntil { !bench.with { $0.stream.isOpen } })
        bench.peer.send([UInt8](repeating: 2, count: 100_000))
        bench.peer.finishSending()
        #expect(bench.peer.receive(2000) == refusal)
        #expect(bench.peer.receiveEnd() == 0)
        #expect(bench.waitForEnd() == .closed)
        #expect(bench.seen.value.reads == 1, "what comes after the close is thrown away")
    }

    @Test(arguments: everyBench)
    func `a peer that sends without end after a close is cut off at the bound`(form: PollerForm, link: Link) throws {
        let bench = try StreamBench(form, link)
        bench.with { $0.stream.close(afterFlush: true, limitMilliseconds: 1_000_000) }
        let chunk = [UInt8](repeating: 1, count: 65_536)
        var sent = 0
        while bench.ends.isEmpty, sent < 100_000_000 {
            sent += bench.peer.sendWithoutWaiting(chunk)
        }
        #expect(bench.waitForEnd() == .closed)
    }

    @Test(arguments: everyBench)
    func `a peer that neither reads nor finishes is let go at the limit`(form: PollerForm, link: Link) throws {
        let bench = try StreamBench(form, link, smallBuffers: true)
        bench.with { owner in
            owner.stream.write([UInt8](repeating: 1, count: 1_000_000))
            owner.stream.close(afterFlush: true, limitMilliseconds: 30)
        }
        guard case .lingerExpired(let unsent)? = bench.waitForEnd() else {
            Issue.record("\(bench.ends)")
            return
        }
        #expect((1..<1_000_000).contains(unsent))
    }

    @Test func `a peer that has read all but does not finish is let go at the limit`() throws {
        let bench = try StreamBench()
        bench.with { $0.stream.close(afterFlush: true, limitMilliseconds: 20) }
        #expect(bench.waitForEnd() == .lingerExpired(unsentBytes: 0))
    }

    @Test(arguments: everyBench)
    func `a close without a flush drops what is queued`(form: PollerForm, link: Link) throws {
        let bench = try StreamBench(form, link)
        bench.with { owner in
            owner.stream.write([1, 2, 3])
            owner.stream.close(afterFlush: false)
        }
        #expect(bench.waitForEnd() == .aborted(unsentBytes: 3))
        #expect(bench.peer.receive(10) == [])
    }

    @Test func `a second close can only shorten the first`() throws {
        let bench = try StreamBench()
        bench.with { owner in
            owner.stream.close(afterFlush: true, limitMilliseconds: 1_000_000)
            owner.stream.close(afterFlush: true)
        }
        bench.loop.run {}
        #expect(bench.ends == [])
        bench.with { $0.stream.close(afterFlush: false) }
        #expect(bench.waitForEnd() == .aborted(unsentBytes: 0))
        bench.with { $0.stream.close(afterFlush: false) }
        bench.loop.run {}
        #expect(bench.ends.count == 1)
    }

    @Test(arguments: PollerForm.allCases)
    func `a reset is told with its reason`(form: PollerForm) throws {
        let bench = try StreamBench(form)
        bench.peer.resetOnClose()
        bench.peer.close()
        #expect(bench.waitForEnd() == .failed(SystemFailure(.receive, ECONNRESET)))
    }

    @Test(arguments: PollerForm.allCases)
    func `writing to a peer that is gone ends with its reason, and no signal kills the process`(
        form: PollerForm
    ) throws {
        let bench = try StreamBench(form, .unix)
        bench.with { $0.stream.pauseReading() }
        bench.peer.close()
        bench.with { $0.stream.write([1]) }
        #expect(bench.waitForEnd() == .failed(SystemFailure(.send, EPIPE)))
    }

    @Test func `a time-out of the kernel is told with its reason`() throws {
        let plan = FaultPlan(failing: [.receive], nth: 1, code: ETIMEDOUT)
        let bench = try StreamBench(faults: plan)
        bench.peer.send([1])
        #expect(bench.waitForEnd() == .failed(SystemFailure(.receive, ETIMEDOUT)))
    }

    @Test(arguments: PollerForm.allCases)
    func `stopping the loop ends its streams`(form: PollerForm) throws {
        let bench = try StreamBench(form)
        bench.loop.stop()
        #expect(bench.waitForEnd() == .loopStopped)
        #expect(bench.peer.receiveEnd() == 0)
    }

    @Test func `a stream that is started on a stopped loop ends at once`() throws {
        let loop = try EventLoop(label: "test")
        loop.stop()
        let (seen, pair) = (Shared(ProbeOwner.Record()), try StreamBench.pair(.unix))
        let peer = PlainPeer(owning: pair.peer)
        loop.run {
            let owner = ProbeOwner(FileDescriptor(owning: pair.ours), loop, seen)
            owner.stream.start(owner)
        }
        #expect(waitUntil { seen.value.ends == [.loopStopped] })
        #expect(peer.receiveEnd() == 0)
    }

    @Test func `a stream that is never started closes its descriptor`() throws {
        let loop = try EventLoop(label: "test")
        let pair = try StreamBench.pair(.unix)
        let peer = PlainPeer(owning: pair.peer)
        loop.run { _ = ProbeOwner(FileDescriptor(owning: pair.ours), loop) }
        #expect(peer.receiveEnd() == 0)
        loop.stop()
    }

    @Test(arguments: everyBench)
    func `stream and owner are freed after the end`(form: PollerForm, link: Link) throws {
        let bench = try StreamBench(form, link)
        let pair = try StreamBench.pair(link)
        let peer = PlainPeer(owning: pair.peer)
        let loop = bench.loop
        let (owner, stream) = loop.run {
            let made = ProbeOwner(FileDescriptor(owning: pair.ours), loop)
            made.stream.start(made)
            return (WeakReference(made), WeakReference(made.stream))
        }
        #expect(owner.isAlive && stream.isAlive, "the loop holds them")
        peer.close()
        #expect(waitUntil { !owner.isAlive && !stream.isAlive })
    }
}
