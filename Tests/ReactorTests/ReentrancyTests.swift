// Tests: PollTarget.swift

import Glibc
import TestHarness
import Testing

@testable import Reactor

/// A stream may be closed, written to or paused from inside any of its callbacks, and from those of another stream.
@Suite struct ReentrancyTests {
    @Test(arguments: everyBench, [true, false])
    func `a stream is closed from inside what it received`(bench form: (PollerForm, Link), afterFlush: Bool) throws {
        let bench = try StreamBench(form.0, form.1)
        bench.with { owner in
            owner.onReceived = { owner, _ in
                owner.stream.write([5])
                owner.stream.close(afterFlush: afterFlush)
                owner.stream.close(afterFlush: false)
                owner.stream.write([6])
                owner.stream.pauseReading()
                owner.stream.resumeReading()
                owner.stream.requestFlush()
            }
        }
        bench.peer.send([1, 2, 3])
        #expect(bench.waitForEnd() == .aborted(unsentBytes: 1))
    }

    @Test(arguments: everyBench)
    func `a stream is closed from inside its drained, blocked and flush calls`(form: PollerForm, link: Link) throws {
        let drained = try StreamBench(form, link)
        drained.with { owner in
            owner.onDrained = { $0.stream.close(afterFlush: false) }
            owner.stream.write([1])
        }
        #expect(drained.waitForEnd() == .aborted(unsentBytes: 0))

        let blocked = try StreamBench(form, link, smallBuffers: true)
        blocked.with { owner in
            owner.onBlocked = { $0.stream.close(afterFlush: false) }
            owner.stream.write([UInt8](repeating: 1, count: 1_000_000))
        }
        guard case .aborted? = blocked.waitForEnd() else {
            Issue.record("\(blocked.ends)")
            return
        }

        let flush = try StreamBench(form, link)
        flush.with { owner in
            owner.onFlush = { $0.stream.close(afterFlush: false) }
            owner.stream.write([1])
            owner.stream.requestFlush()
        }
        #expect(flush.waitForEnd() == .aborted(unsentBytes: 1))
        #expect(flush.peer.receive(1) == [])
    }

    @Test(arguments: everyBench)
    func `a stream is closed from inside the news that its peer has finished`(form: PollerForm, link: Link) throws {
        let bench = try StreamBench(form, link)
        bench.with { owner in
            owner.onPeerFinished = { owner in
                owner.stream.write([1])
                owner.stream.close(afterFlush: true)
                return true
            }
        }
        bench.peer.finishSending()
        #expect(bench.peer.receive(5) == [1])
        #expect(bench.waitForEnd() == .peerClosed)
    }

    /// Both have something to read when the loop looks, so one of them has an event that was taken from the kernel
    /// before its descriptor was closed; and the number of that descriptor belongs to a third stream by then.
    @Test(arguments: PollerForm.allCases)
    func `an event that came before a close does not reach the stream that gets the same descriptor`(
        form: PollerForm
    ) throws {
        for _ in 0..<50 {
            let loop = try EventLoop(label: "test", poller: form)
            let seen = [Shared(ProbeOwner.Record()), Shared(ProbeOwner.Record()), Shared(ProbeOwner.Record())]
            let pairs = try (0..<3).map { _ in try StreamBench.pair(.unix) }
            let peers = pairs.map { PlainPeer(owning: $0.peer) }
            loop.run {
                let third = FileDescriptor(owning: pairs[2].ours)
                var owners: [ProbeOwner] = []
                for index in 0..<2 {
                    let owner = ProbeOwner(FileDescriptor(owning: pairs[index].ours), loop, seen[index])
                    owners.append(owner)
                    owner.stream.start(owner)
                }
                var replacement = Optional(third)
                for index in 0..<2 {
                    owners[index].onReceived = { _, _ in
                        guard let descriptor = replacement.take() else { return }
                        owners[1 - index].stream.close(afterFlush: false)
                        // The lowest free number: the one that was just closed, where the poller closes at once.
                        guard let copy = try? descriptor.duplicate() else { return }
                        let successor = ProbeOwner(copy, loop, seen[2])
                        successor.stream.start(successor)
                        owners = [owners[index]]
                    }
                }
                peers[0].send([1])
                peers[1].send([1])
            }
            #expect(waitUntil { seen[0].value.reads + seen[1].value.reads >= 1 })
            loop.run {}
            loop.run {}
            #expect(seen[0].value.reads + seen[1].value.reads == 1)
            #expect(seen[2].value.reads == 0)
            #expect(seen[2].value.ends == [])
            loop.stop()
            loop.run {}
        }
    }

    @Test func `an entry of the table that is used again answers only to its new token`() throws {
        let loop = try EventLoop(label: "test")
        loop.run {
            var table = Registrations()
            let (first, second) = (PollTarget(loop: loop), PollTarget(loop: loop))
            let old = table.insert(first)
            table.remove(old)
            let new = table.insert(second)
            #expect(old != new)
            #expect(UInt32(truncatingIfNeeded: old) == UInt32(truncatingIfNeeded: new))
            #expect(table[old] == nil)
            #expect(table[new] === second)
            #expect(table[Registrations.noToken] == nil)
            #expect(table[.max] == nil)
        }
        loop.stop()
    }
}
