import CLinux
import Glibc
import TestHarness

@testable import Reactor

/// Owns a stream for a test: remembers what it was told, and does what the test wants done in each callback.
final class ProbeOwner: ByteStreamOwner {
    let stream: ByteStream<ProbeOwner>
    var onReceived: (ProbeOwner, [UInt8]) -> Void = { _, _ in }
    var onDrained: (ProbeOwner) -> Void = { _ in }
    var onBlocked: (ProbeOwner) -> Void = { _ in }
    var onFlush: (ProbeOwner) -> Void = { _ in }
    var onPeerFinished: (ProbeOwner) -> Bool = { _ in false }
    let seen: Shared<Record>

    struct Record: Sendable {
        var received: [UInt8] = []
        var reads = 0
        var drained = 0
        var blocked = 0
        var flushes = 0
        var peerFinished = 0
        var ends: [StreamEnd] = []
        var callsAfterEnd = 0
    }

    init(_ descriptor: consuming FileDescriptor, _ loop: EventLoop, _ seen: Shared<Record> = Shared(Record())) {
        stream = ByteStream(descriptor, loop: loop)
        self.seen = seen
    }

    func streamReceived(_ bytes: Span<UInt8>) {
        let copy = unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }
        note {
            $0.received += copy
            $0.reads += 1
        }
        onReceived(self, copy)
    }

    func streamDrained() {
        note { $0.drained += 1 }
        onDrained(self)
    }

    func streamBlocked() {
        note { $0.blocked += 1 }
        onBlocked(self)
    }

    func streamWillFlush() {
        note { $0.flushes += 1 }
        onFlush(self)
    }

    func streamPeerFinished() -> Bool {
        note { $0.peerFinished += 1 }
        return onPeerFinished(self)
    }

    func streamEnded(_ reason: StreamEnd) { seen.update { $0.ends.append(reason) } }

    private func note(_ change: (inout Record) -> Void) {
        seen.update {
            change(&$0)
            if !$0.ends.isEmpty { $0.callsAfterEnd += 1 }
        }
    }
}

/// How the two ends of a test's connection are joined.
enum Link: CaseIterable, Sendable {
    case tcp, unix
}

/// A loop, a stream on it, and a plain socket at the other end.
final class StreamBench {
    let loop: EventLoop
    let peer: PlainPeer
    let seen = Shared(ProbeOwner.Record())
    let owner: LoopBound<ProbeOwner>

    /// With `smallBuffers` both kernels' buffers are as small as they get, so that a stream soon blocks.
    init(
        _ form: PollerForm = .epoll, _ link: Link = .tcp, smallBuffers: Bool = false, faults: FaultPlan? = nil,
        prepare: @escaping (ProbeOwner) -> Void = { _ in }
    ) throws {
        let loop = try EventLoop(label: "test", poller: form, syscalls: Syscalls(faults: faults))
        self.loop = loop
        let pair = try Self.pair(link, smallBuffers: smallBuffers)
        peer = PlainPeer(owning: pair.peer)
        let (ours, seen) = (pair.ours, seen)
        owner = loop.run {
            let owner = ProbeOwner(FileDescriptor(owning: ours), loop, seen)
            prepare(owner)
            owner.stream.start(owner)
            return LoopBound(owner, loop: loop)
        }
    }

    /// Does something with the owner on its loop.
    func with<Result: Sendable>(_ body: @escaping @Sendable (ProbeOwner) -> Result) -> Result {
        let owner = owner
        return loop.run { body(owner.value) }
    }

    var ends: [StreamEnd] { seen.value.ends }

    func waitForEnd() -> StreamEnd? {
        _ = waitUntil { !self.ends.isEmpty }
        // What would come after the end has its chance to.
        loop.run {}
        return ends.count == 1 && seen.value.callsAfterEnd == 0 ? ends[0] : nil
    }

    deinit { loop.stop() }

    /// Two connected sockets; ours does not block.
    static func pair(_ link: Link, smallBuffers: Bool = false) throws -> (ours: Int32, peer: Int32) {
        var ends: [Int32] = [-1, -1]
        switch link {
        case .unix:
            guard unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else { throw NoSocket() }
        case .tcp:
            let listening = try ListeningSocket.open(.loopback(port: 0))[0]
            let descriptor = listening.takeDescriptor()!
            if smallBuffers { _ = Syscalls.real.setOption(descriptor.raw, LINUX_OPTION_RECEIVE_BUFFER, 4096) }
            if smallBuffers { _ = Syscalls.real.setOption(descriptor.raw, LINUX_OPTION_SEND_BUFFER, 4096) }
            guard let peer = PlainPeer(listening.address, receiveBufferBytes: smallBuffers ? 4096 : nil) else {
                throw NoSocket()
            }
            ends[1] = peer.release()
            ends[0] = accept(descriptor.raw, nil, nil)
        }
        if smallBuffers {
            for end in ends {
                _ = Syscalls.real.setOption(end, LINUX_OPTION_RECEIVE_BUFFER, 4096)
                _ = Syscalls.real.setOption(end, LINUX_OPTION_SEND_BUFFER, 4096)
            }
        }
        _ = fcntl(ends[0], F_SETFL, fcntl(ends[0], F_GETFL) | O_NONBLOCK)
        return (ends[0], ends[1])
    }

    struct NoSocket: Error {}
}
