import CLinux

/// The end of a tick: every stream with new bytes makes one send.
///
/// An event of an account with ten thousand clients is ten thousand sends of 5 µs and more each. Other work must not wait
/// for all of them, so the time that a tick flushes is limited. Streams written to in this tick come first. The rest
/// continues in the next ticks, each time for at least half as long. Bytes that a stream is given meanwhile leave with
/// the rest in one call.
extension EventLoop {
    /// How often a flush may make new work for itself (a stream that drained writes more) before the tick ends and
    /// others get their turn. The rest continues in the next tick.
    static let maximumFlushRounds = 4
    /// How long a tick flushes the streams written to in it. The clock is read after each stream: a send costs 200 times as
    /// much, and a step of a TLS handshake up to half a millisecond.
    static let flushMicroseconds: UInt64 = 1_500

    /// Adds a target to the list of those that get ``PollTarget/tickEnds()`` at the end of this tick.
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

    /// Flushes the streams written to in this tick. Runs twice a tick.
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

    /// Returns how many of `flushing` had their turn before the time of the flush was over.
    private func flushInTime() -> Int {
        if flushEnd == 0 {
            flushedAt = linux_monotonic_microseconds()
            flushEnd = flushedAt + Self.flushMicroseconds
        }
        for (index, target) in flushing.enumerated() {
            target.isDirty = false
            target.tickEnds()
            // A loop that stops must send all of it before it ends.
            flushedAt = linux_monotonic_microseconds()
            if !isStopped, flushedAt >= flushEnd { return index + 1 }
        }
        return flushing.count
    }

    /// Continues with the targets that earlier ticks have left. Runs once a tick.
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

/// What a loop did since its start: plain numbers that only the loop uses.
package struct LoopWork: Sendable {
    /// Bytes that the kernel accepted from us, and that we read from it. With TLS, the encrypted bytes.
    package internal(set) var sentBytes: UInt64 = 0
    package internal(set) var receivedBytes: UInt64 = 0
    /// System calls that sent something.
    package internal(set) var sends: UInt64 = 0
    /// Time between the beginnings and the ends of its ticks.
    package internal(set) var busyMicroseconds: UInt64 = 0

    package init() {}
}
