import CLinux
import Glibc

/// A connected stream socket on a loop. Bytes arrive by callback, and leave with one send a tick.
///
/// The stream holds its owner from ``start(_:)`` until it has reported the end, so nothing else must keep the owner alive.
/// The loop holds the stream as long. Reads use the loop's buffer, one read a tick, so that a stream with much to read does
/// not delay the others; the level-triggered poller reports the rest again. Writes queue slices of shared arrays, which
/// leave at the end of the tick. An idle stream owns no buffer.
package final class ByteStream<Owner: ByteStreamOwner>: PollTarget, TimerTarget {
    private enum State: UInt8 {
        /// Created, but not started.
        case new
        case open
        /// Closed by us. The rest is being sent; received bytes are discarded.
        case flushing
        /// Everything is sent and our half is shut. Waiting for the peer's end.
        case lingering
        case ended
    }

    /// The longest time from ``close(afterFlush:limitMilliseconds:)`` to the end: some round trips of a bad mobile network.
    /// After it the kernel is made to discard the rest.
    package static var lingerLimitMilliseconds: UInt64 { 3_000 }
    /// How many bytes are read and discarded after a close, so that the peer reads our last bytes and gets no reset. It is
    /// twice the largest request head, and the bytes that the peer had already sent.
    package static var maximumDrainedBytes: Int { 256 * 1024 }
    /// The sends of one tick, of 64 slices each. A longer queue continues when the poller reports free space.
    static var maximumSendsPerTick: Int { 4 }

    private var descriptor: FileDescriptor?
    private var owner: Owner?
    private var queue = WriteQueue()
    private var state = State.new
    private var isPaused = false
    private var peerFinished = false
    /// Whether the kernel did not accept all bytes at the end of an earlier tick. The poller is asked to report when it
    /// accepts more.
    package private(set) var isBlocked = false
    private var wantsFlushCall = false
    /// Nil until the first sign of the end, so that the many open streams do not pay for it.
    private var ending: Ending?

    /// What a stream knows while it ends.
    private final class Ending {
        /// Why it ends; nil while only the time to linger runs.
        var reason: StreamEnd?
        var lingerTimer: Timer?
        /// Discarded after the close, in bytes.
        var drainedBytes = 0
    }

    /// Becomes the owner of a connected, non-blocking stream socket.
    package init(_ descriptor: consuming FileDescriptor, loop: EventLoop) {
        self.descriptor = consume descriptor
        super.init(loop: loop)
    }

    /// Begins to read and to call `owner`. Call it once.
    ///
    /// If the poller refuses the descriptor, or the loop has stopped, the end is reported with this tick.
    package func start(_ owner: Owner) {
        loop.assertOnLoop()
        precondition(state == .new, "a stream is started once")
        self.owner = owner
        guard let descriptor = descriptor.take() else { return }
        state = .open
        if loop.isStopped {
            state = .ended
            begunEnding.reason = .loopStopped
            return loop.noteRemoved(self)
        }
        if let failure = loop.register(self, descriptor, .readable) {
            state = .ended
            begunEnding.reason = .failed(failure)
            loop.noteRemoved(self)
        }
    }

    // MARK: Writing

    /// Bytes that are queued and that the kernel has not accepted yet.
    package var pendingBytes: Int { queue.count }

    /// Bytes that the kernel has accepted since the start.
    package private(set) var sentBytes: UInt64 = 0

    /// True from ``start(_:)`` until we close the stream or it ends, whichever happens first.
    package var isOpen: Bool { state == .open }

    /// Queues bytes. The array is shared and not copied. The bytes leave at the end of the tick. After a close nothing is
    /// queued.
    package func write(_ bytes: [UInt8]) { write(bytes, range: 0..<bytes.count) }

    /// Queues a part of an array; otherwise like ``write(_:)``.
    package func write(_ bytes: [UInt8], range: Range<Int>) {
        loop.assertOnLoop()
        guard state == .open, !range.isEmpty else { return }
        queue.append(bytes, range)
        loop.markDirty(self)
    }

    /// Asks for one call of ``ByteStreamOwner/streamWillFlush()`` at the end of this tick.
    package func requestFlush() {
        guard state == .open else { return }
        wantsFlushCall = true
        loop.markDirty(self)
    }

    override func tickEnds() {
        if wantsFlushCall, state == .open {
            wantsFlushCall = false
            owner?.streamWillFlush()
        }
        guard state == .open || state == .flushing else { return }
        if !queue.isEmpty {
            if !isBlocked { send() }
            guard state == .open || state == .flushing else { return }
            if state == .open {
                if queue.isEmpty { owner?.streamDrained() } else { owner?.streamBlocked() }
            }
        }
        if state == .flushing, queue.isEmpty { finishWriting() }
    }

    private func send() {
        for _ in 0..<Self.maximumSendsPerTick {
            let sent = queue.send(to: raw, loop.syscalls)
            if sent == Int(-EAGAIN) { break }
            guard sent >= 0 else { return finish(.failed(SystemFailure(.send, Int32(-sent)))) }
            loop.work.sends += 1
            loop.work.sentBytes += UInt64(sent)
            sentBytes += UInt64(sent)
            if queue.isEmpty { return }
        }
        isBlocked = true
        updateInterest()
    }

    // MARK: Reading

    /// Stops reading: the peer's bytes stay in the kernel, which slows it down.
    package func pauseReading() {
        isPaused = true
        updateInterest()
    }

    /// Continues reading.
    package func resumeReading() {
        isPaused = false
        updateInterest()
    }

    override func ready(_ events: PollEvents) {
        if events.contains(.readable) { receive() }
        if events.contains(.writable), isBlocked {
            isBlocked = false
            updateInterest()
            loop.markDirty(self)
        }
    }

    private func receive() {
        let count = unsafe loop.syscalls.receive(raw, into: loop.receiveBuffer)
        if count > 0 {
            loop.work.receivedBytes += UInt64(count)
            if state == .open {
                let bytes = unsafe UnsafeRawBufferPointer(rebasing: loop.receiveBuffer[..<count])
                unsafe owner?.streamReceived(bytes.assumingMemoryBound(to: UInt8.self).span)
            } else {
                drain(count)
            }
        } else if count == 0 {
            receiveEnd()
        } else if count != Int(-EAGAIN) {
            finish(.failed(SystemFailure(.receive, Int32(-count))))
        }
    }

    private func receiveEnd() {
        peerFinished = true
        switch state {
        case .lingering: finish(ending?.reason ?? .closed)
        case .open:
            begunEnding.reason = .peerClosed
            // Otherwise the poller would report the end of the stream in every tick.
            updateInterest()
            if owner?.streamPeerFinished() == true || state != .open { return }
            close(afterFlush: true)
        case .new, .flushing, .ended: updateInterest()
        }
    }

    /// Discards bytes that arrive after a close, up to a limit.
    private func drain(_ count: Int) {
        begunEnding.drainedBytes += count
        guard !mayDrain else { return }
        if state == .lingering { finish(ending?.reason ?? .closed) } else { updateInterest() }
    }

    private func updateInterest() {
        guard isRegistered else { return }
        var interest: PollEvents = []
        let reads =
            switch state {
            case .open: !isPaused
            case .flushing, .lingering: mayDrain
            case .new, .ended: false
            }
        if reads && !peerFinished { interest.insert(.readable) }
        if isBlocked { interest.insert(.writable) }
        if let failure = loop.setInterest(self, interest) { finish(.failed(failure)) }
    }

    // MARK: Closing

    /// Closes the stream.
    ///
    /// With `afterFlush` the queue is sent first, then our half is shut. The peer's last bytes are read and discarded until it
    /// finishes too: a socket that is closed with unread input answers with a reset, and a reset destroys what the peer has
    /// not read yet (RFC 9112 §9.6). `limitMilliseconds` from this call limits the time, so that a peer that does not read
    /// cannot hold the stream; ``maximumDrainedBytes`` limits the bytes. Without `afterFlush` the descriptor is closed at once.
    /// In both cases nothing more is received, and ``ByteStreamOwner/streamEnded(_:)`` follows later. A second call can only
    /// shorten the time.
    package func close(afterFlush: Bool, limitMilliseconds: UInt64 = ByteStream.lingerLimitMilliseconds) {
        loop.assertOnLoop()
        guard state != .ended else { return }
        guard afterFlush, state != .new else { return finish(.aborted(unsentBytes: queue.count)) }
        guard state == .open else { return }
        state = .flushing
        // The timer holds the stream. It is removed at the end.
        begunEnding.lingerTimer = loop.schedule(afterMilliseconds: limitMilliseconds, self, 0)
        updateInterest()
        loop.markDirty(self)
    }

    private var begunEnding: Ending {
        if let ending { return ending }
        let begun = Ending()
        ending = begun
        return begun
    }

    /// Whether bytes that arrive after the close are still read and discarded.
    private var mayDrain: Bool { (ending?.drainedBytes ?? 0) <= Self.maximumDrainedBytes }

    /// The kernel has accepted everything queued.
    private func finishWriting() {
        owner?.streamFlushed()
        guard state == .flushing else { return }
        // A peer that finished before has seen our end by reading it. No unread bytes are left here.
        if peerFinished { return finish(ending?.reason ?? .closed) }
        let answer = loop.syscalls.shutdownWriting(raw)
        guard answer >= 0 else { return finish(.failed(SystemFailure(.shutdown, -answer))) }
        guard mayDrain else { return finish(ending?.reason ?? .closed) }
        state = .lingering
        updateInterest()
    }

    /// The limit of ``close(afterFlush:limitMilliseconds:)`` has passed.
    package func timerFired(_ kind: UInt8) {
        ending?.lingerTimer = nil
        // Otherwise the kernel would offer the rest for minutes to a peer that does not read.
        if !queue.isEmpty { _ = linux_reset_on_close(raw) }
        finish(.lingerExpired(unsentBytes: queue.count))
    }

    override func loopStops() { finish(.loopStopped) }

    /// Returns the descriptor to the loop. The owner is called at the end of the tick, never from here.
    private func finish(_ reason: StreamEnd) {
        guard state != .ended else { return }
        let wasStarted = state != .new
        state = .ended
        begunEnding.reason = reason
        queue.removeAll()
        if let timer = ending?.lingerTimer.take() { loop.cancel(timer) }
        descriptor = nil
        if isRegistered { loop.unregister(self) } else if wasStarted { loop.noteRemoved(self) }
    }

    override func wasRemoved() {
        guard let owner = owner.take() else { return }
        owner.streamEnded(ending?.reason ?? .closed)
    }
}
