import CLinux

/// The end of a tick: every stream that was written to makes one send.
///
/// An event of an account with ten thousand clients is ten thousand sends, 5 µs and more each, and nobody else should
/// wait for all of them. So a tick flushes for a time that is bounded. What was written to in this tick comes first,
/// what is left goes on in the next ticks, each time for half as long at least; and what a stream is given meanwhile
/// leaves with the rest in one call.
extension EventLoop {
    /// How often a flush may make new work for itself (a stream that drained writes more) before the tick ends and
    /// others get their turn; what is left goes on in the next tick.
    static let maximumFlushRounds = 4
    /// How long a tick flushes what was written to in it. The clock is read after each stream: a send costs 200 times as much,
    /// and a step of a TLS handshake up to half a millisecond.
    static let flushMicroseconds: UInt64 = 1_500

    /// Puts a target on the list of those that get ``PollTarget/tickEnds()`` at the end of this tick.
    @inline(__always)
    func markDirty(_ target: PollTarget) {
        assertOnLoop()
        guard !target.isDirty else { return }
        target.isDirty = true
        dirty.append(target)
    }

    func noteRemoved(_ target: PollTarget) {
        removed.append(target)
        graveyard.append(target)
    }

    /// Flushes what was written to in this tick. Twice a tick.
    func flush() {
        var rounds = 0
        while !dirty.isEmpty || !removed.isEmpty {
            if rounds == Self.maximumFlushRounds { return wakeAgain() }
            rounds += 1
            swap(&dirty, &flushing)
            let flushed = flushInTime()
            if flushed < flushing.count { left.append(contentsOf: flushing[flushed...]) }
            flushing.removeAll(keepingCapacity: true)
            let gone = removed
            removed.removeAll(keepingCapacity: true)
            for target in gone { target.wasRemoved() }
        }
    }

    /// Returns how many of `flushing` had their turn before the tick had flushed long enough.
    private func flushInTime() -> Int {
        if flushEnd == 0 {
            flushedAt = linux_monotonic_microseconds()
            flushEnd = flushedAt + Self.flushMicroseconds
        }
        for (index, target) in flushing.enumerated() {
            target.isDirty = false
            target.tickEnds()
            // A loop that ends owes all of it before it is gone.
            flushedAt = linux_monotonic_microseconds()
            if !isStopped, flushedAt >= flushEnd { return index + 1 }
        }
        return flushing.count
    }

    /// Goes on with what earlier ticks have left. Once a tick.
    func flushLeft() {
        guard nextLeft < left.count else { return }
        flushedAt = linux_monotonic_microseconds()
        let end = flushedAt + Self.flushMicroseconds / 2
        while nextLeft < left.count {
            let target = left[nextLeft]
            nextLeft += 1
            target.isDirty = false
            target.tickEnds()
            flushedAt = linux_monotonic_microseconds()
            if !isStopped, flushedAt >= end { break }
        }
        if nextLeft == left.count {
            (left, nextLeft) = ([], 0)
        } else if nextLeft > left.count / 2 {
            left.removeFirst(nextLeft)
            nextLeft = 0
        }
        flush()
        if nextLeft < left.count { wakeAgain() }
    }
}

/// What a loop did since its start: plain numbers, touched on the loop alone.
package struct LoopWork: Sendable {
    /// Taken by the kernel, and taken from it; with TLS as it goes over the wire.
    package internal(set) var sentBytes: UInt64 = 0
    package internal(set) var receivedBytes: UInt64 = 0
    /// System calls that sent something.
    package internal(set) var sends: UInt64 = 0
    /// Between the beginnings and the ends of its ticks.
    package internal(set) var busyMicroseconds: UInt64 = 0

    package init() {}
}
