import Glibc

/// An object whose descriptor a loop watches: a stream, a listener, a connection attempt. Confined to its loop.
///
/// A base class instead of a protocol or a closure: an event costs one call through the class's table.
package class PollTarget {
    package let loop: EventLoop
    /// The number, for system calls; the loop's table owns the descriptor and closes it at the end.
    final fileprivate(set) var raw: Int32 = -1
    final fileprivate(set) var token = Registrations.noToken
    final fileprivate(set) var interest: PollEvents = []
    /// Is in the loop's list of targets whose turn comes at the end of the tick.
    final var isDirty = false

    init(loop: EventLoop) { self.loop = loop }

    /// The ready events, limited to the interest. Called by the poller.
    func ready(_ events: PollEvents) {}

    /// The end of a tick in which ``EventLoop/markDirty(_:)`` was called.
    func tickEnds() {}

    /// The descriptor is closed or released, and everything else of this tick is done.
    func wasRemoved() {}

    /// The loop stops. A target that is still registered releases its descriptor.
    func loopStops() {}

    final var isRegistered: Bool { token != Registrations.noToken }
}

@available(*, unavailable)
extension PollTarget: Sendable {}

/// The table of what a loop watches.
///
/// An event carries index and generation of the entry. The generation changes when an entry is freed. So an event that the
/// kernel reported before a descriptor closed never reaches the descriptor's successor.
struct Registrations {
    /// No entry has it: generations begin at 1.
    static let noToken: UInt64 = 0

    private struct Entry {
        var target: PollTarget?
        var generation: UInt32 = 1
    }

    private var entries: [Entry] = []
    private var free: [UInt32] = []

    subscript(token: UInt64) -> PollTarget? {
        let index = Int(UInt32(truncatingIfNeeded: token))
        guard index < entries.count, entries[index].generation == UInt32(token >> 32) else { return nil }
        return entries[index].target
    }

    var targets: [PollTarget] { entries.compactMap(\.target) }

    mutating func insert(_ target: PollTarget) -> UInt64 {
        let index: UInt32
        if let spare = free.popLast() {
            index = spare
        } else {
            index = UInt32(entries.count)
            entries.append(Entry())
        }
        entries[Int(index)].target = target
        return UInt64(entries[Int(index)].generation) << 32 | UInt64(index)
    }

    mutating func remove(_ token: UInt64) {
        let index = UInt32(truncatingIfNeeded: token)
        entries[Int(index)].target = nil
        // Zero is skipped; otherwise an entry used 2^32 times would create the token that means none.
        entries[Int(index)].generation = max(1, entries[Int(index)].generation &+ 1)
        free.append(index)
    }
}

extension EventLoop {
    /// Watches a descriptor for a target. On failure the descriptor is closed and the target stays as it was.
    func register(
        _ target: PollTarget, _ descriptor: consuming FileDescriptor, _ interest: PollEvents
    ) -> SystemFailure? {
        assertOnLoop()
        precondition(!target.isRegistered, "a target is registered once")
        if isStopped { return SystemFailure(.epollControl, ECANCELED) }
        let token = registrations.insert(target)
        if let failure = poller.add(descriptor.raw, interest, token: token) {
            registrations.remove(token)
            return failure
        }
        target.raw = descriptor.release()
        target.token = token
        target.interest = interest
        return nil
    }

    /// Changes the interest in a target. No system call if nothing changes.
    func setInterest(_ target: PollTarget, _ interest: PollEvents) -> SystemFailure? {
        guard target.isRegistered, target.interest != interest else { return nil }
        let failure = poller.change(target.raw, from: target.interest, to: interest, token: target.token)
        if failure == nil { target.interest = interest }
        return failure
    }

    /// Ends the watch and closes the descriptor. ``PollTarget/wasRemoved()`` follows before the tick is over.
    func unregister(_ target: PollTarget) {
        assertOnLoop()
        guard target.isRegistered else { return }
        registrations.remove(target.token)
        poller.remove(FileDescriptor(owning: target.raw), target.interest, token: target.token)
        target.raw = -1
        target.token = Registrations.noToken
        target.interest = []
        noteRemoved(target)
    }

    /// Ends the watch and returns the descriptor, still open.
    ///
    /// - Throws: ``ReactorError/system(_:)`` if the poller needs a duplicate and there is no descriptor for it; then the
    ///   descriptor is closed.
    func reclaim(_ target: PollTarget) throws(ReactorError) -> FileDescriptor {
        assertOnLoop()
        precondition(target.isRegistered, "only a descriptor that was given can be handed back")
        registrations.remove(target.token)
        let descriptor = FileDescriptor(owning: target.raw)
        let (interest, token) = (target.interest, target.token)
        target.raw = -1
        target.token = Registrations.noToken
        target.interest = []
        return try poller.handOver(descriptor, interest, token: token, syscalls)
    }

    /// Handles an event of the poller, limited to the present interest: an earlier callback in the same batch may have
    /// paused, closed or replaced the target.
    @inline(__always)
    func deliver(_ events: PollEvents, to token: UInt64) {
        guard let target = registrations[token] else { return }
        let wanted = events.intersection(target.interest)
        if !wanted.isEmpty { target.ready(wanted) }
    }
}
