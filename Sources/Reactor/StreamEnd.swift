/// Why a stream ended.
package enum StreamEnd: Equatable, Sendable {
    /// The peer finished first, and the kernel had accepted all our bytes.
    case peerClosed
    /// We closed and everything was sent. The peer has finished too, or had sent all that we drain.
    case closed
    /// We closed without waiting for the queued bytes.
    case aborted(unsentBytes: Int)
    /// We closed, but within the limit the peer did not read the rest or did not finish.
    case lingerExpired(unsentBytes: Int)
    /// A system call failed: `ECONNRESET` and `EPIPE` mean that the peer is gone, `ETIMEDOUT` that nothing answers.
    case failed(SystemFailure)
    /// The loop was stopped while the stream was open.
    case loopStopped
}

/// The callbacks of a ``ByteStream`` to its owner. All of them are made on the stream's loop.
///
/// Any method of the stream may be called from any of these, including close.
package protocol ByteStreamOwner: AnyObject {
    /// Bytes arrived. They are in a buffer of the loop, which is valid only until this returns.
    func streamReceived(_ bytes: Span<UInt8>)

    /// The kernel has accepted everything that was queued.
    func streamDrained()

    /// The tick's send left ``ByteStream/pendingBytes`` in the queue. Called after each tick that wrote and could not send
    /// all, so that a limit can be enforced where the number is exact.
    func streamBlocked()

    /// The tick ends: the last chance to write bytes that should leave with it. Only after ``ByteStream/requestFlush()``.
    func streamWillFlush()

    /// The kernel has accepted everything that was queued, after ``ByteStream/close(afterFlush:limitMilliseconds:)``. The owner
    /// may have closed, or the stream itself after the end of the peer. At most once.
    func streamFlushed()

    /// The peer has finished sending. True keeps our half open; false, the default, closes it after a flush.
    func streamPeerFinished() -> Bool

    /// The stream has ended. Called exactly once, after every other call, and never from within a method of the stream.
    func streamEnded(_ reason: StreamEnd)
}

extension ByteStreamOwner {
    package func streamDrained() {}
    package func streamBlocked() {}
    package func streamWillFlush() {}
    package func streamFlushed() {}
    package func streamPeerFinished() -> Bool { false }
}
