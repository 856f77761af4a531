/// Why a stream ended.
package enum StreamEnd: Equatable, Sendable {
    /// The peer finished first, and everything of ours had been taken by the kernel.
    case peerClosed
    /// We closed, everything was handed over, and the peer has finished as well or had sent all that we drain.
    case closed
    /// We closed without waiting for what was still queued.
    case aborted(unsentBytes: Int)
    /// We closed, but the peer did not take the rest, or did not finish, within the limit.
    case lingerExpired(unsentBytes: Int)
    /// A system call failed: `ECONNRESET` and `EPIPE` mean that the peer is gone, `ETIMEDOUT` that nothing answers.
    case failed(SystemFailure)
    /// The loop was stopped under the stream.
    case loopStopped
}

/// The callbacks of a ``ByteStream`` to its owner. All of them are made on the stream's loop.
///
/// Any method of the stream may be called from any of these, closing included.
package protocol ByteStreamOwner: AnyObject {
    /// Bytes came. They stand in a buffer of the loop and are gone when this returns.
    func streamReceived(_ bytes: Span<UInt8>)

    /// The kernel has taken everything that was queued.
    func streamDrained()

    /// The tick's send left bytes behind: ``ByteStream/pendingBytes`` says how many. Called after each tick that wrote
    /// and could not send all, so that a bound can be enforced where it is exact.
    func streamBlocked()

    /// The tick ends: the last moment to write what should leave with it. Only after ``ByteStream/requestFlush()``.
    func streamWillFlush()

    /// After ``ByteStream/close(afterFlush:limitMilliseconds:)``, be it the owner's or the stream's own behind the end of a
    /// peer: the kernel has taken everything that was queued. At most once.
    func streamFlushed()

    /// The peer has finished sending. True keeps our half open; false, the default, closes it after a flush.
    func streamPeerFinished() -> Bool

    /// The stream is gone, exactly once, and after every other call. Never comes from within a method of the stream.
    func streamEnded(_ reason: StreamEnd)
}

extension ByteStreamOwner {
    package func streamDrained() {}
    package func streamBlocked() {}
    package func streamWillFlush() {}
    package func streamFlushed() {}
    package func streamPeerFinished() -> Bool { false }
}
