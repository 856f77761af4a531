import CLinux
import Dispatch

/// One serial queue with its own poller, timers and buffers. Everything that belongs to a loop is used only on its queue.
///
/// Work reaches the loop through ``execute(_:)`` (rare work), a ``Mailbox`` (frequent work) and the poller. Each of
/// them runs as a tick:
///
///     input (events, messages, work) → flush: every stream written to makes one send → timers that are due → flush
///
/// Each step has a time limit, and the rest continues in the next tick. So all bytes that gather for a stream within a
/// tick leave in one system call, and nothing waits when there is little to do. A loop lives until ``stop()``: the
/// poller's source holds it.
// SAFETY: everything but the lets is read and written on `queue` alone, and the queue is serial. `execute`, `stop` and
// what Mailbox calls from other threads touch only lets; every other entry point asserts that it runs on the queue.
@safe package final class EventLoop: @unchecked Sendable {
    /// The size of the buffer that streams read into. One read returns as much as the kernel usually has, and the buffer stays
    /// in the second-level cache. There is one for each loop, so that an idle stream owns no buffer.
    package static let receiveBufferBytes = 64 * 1024

    /// How long one turn handles events, timers or deferred work. A token's signature costs 0.1 ms to check, so the number of
    /// events alone does not limit a turn. With the sends, the due timers and the rest of earlier ticks, a tick lasts about
    /// 5 ms at most: 2 + 1.5 + 1 + 0.75. With 1.5 ms, a delivery to many accounts cost a fifth more, because less left in
    /// one call, and no client waited less.
    static let turnMicroseconds: UInt64 = 2_000
    /// Events or timers between two readings of the clock, which cost 25 ns each. Messages and deferred work may be long, so
    /// the clock is read after each of them.
    static let eventsPerClockReading = 4
    /// How long one piece of sliced work, timers included, may run in a tick.
    package static let sliceMicroseconds: UInt64 = 1_000

    package let label: String
    package let syscalls: Syscalls
    let queue: DispatchQueue
    let poller: Poller
    let timerSource: DispatchSourceTimer

    /// Monotonic time in milliseconds, read once at the start of a tick.
    package private(set) var now: UInt64
    /// Monotonic time in microseconds, read now, for measurements rather than deadlines. From any thread; 25 ns.
    package static var microseconds: UInt64 { linux_monotonic_microseconds() }
    /// The last reading of the clock in this tick's flush, or the beginning of the tick; monotonic, in microseconds. It is the
    /// time at which the bytes of the flush leave, so no code has to read the clock for it again.
    package internal(set) var flushedAt: UInt64 = 0
    /// The bytes on the sockets of this loop, and how long it was busy, since the start.
    package internal(set) var work = LoopWork()
    /// Counts the ticks. Code that limits its work per tick remembers this number.
    package private(set) var tickNumber: UInt64 = 0
    package private(set) var isStopped = false

    /// Valid within one callback: the next read of any stream overwrites it.
    let receiveBuffer: UnsafeMutableRawBufferPointer
    /// As large as the receive buffer. Any code on the loop may use it within one call: transforms write their result
    /// here.
    package let scratchBuffer: UnsafeMutableRawBufferPointer

    var registrations = Registrations()
    // The state of EventLoop+Flush.swift.
    /// Targets whose ``PollTarget/tickEnds()`` is due at the next flush.
    var dirty: [PollTarget] = []
    /// Used in alternation with `dirty`, so that neither allocates; empty between two flushes.
    var flushing: [PollTarget] = []
    /// Targets of earlier ticks that there was no time for; those before `nextLeft` have had their turn.
    var left: [PollTarget] = []
    var nextLeft = 0
    /// When the flush of this tick must end, monotonic, in microseconds; 0 before the first reading of the clock.
    var flushEnd: UInt64 = 0
    /// Targets that were unregistered, and whose ``PollTarget/wasRemoved()`` is due.
    var removed: [PollTarget] = []
    /// Targets that were unregistered in this tick. They are held, since a callback further up the stack may run on one of them.
    var graveyard: [PollTarget] = []
    /// Deferred work; the items before `nextDeferred` have run.
    private var deferred: [() -> Void] = []
    private var nextDeferred = 0
    /// Whether a wake by the loop itself is in its queue. One is enough: all deferred work waits for it.
    private var hasWakeInLine = false

    // The state of EventLoop+Timers.swift.
    var wheel: TimerWheel<TimerCall>
    /// The deadline that the timer source is set to, in the time of ``now``.
    var armedFor: UInt64?
    var isFiring = false
    /// How many of the poller and the timer source still hold the loop. ``stop(_:)`` waits for both.
    private var holding = 2
    private var whenStopped: [@Sendable () -> Void] = []

    /// Creates a loop and starts it.
    ///
    /// - Throws: ``ReactorError/system(_:)`` if there is no descriptor left for the poller.
    package init(
        label: String, poller form: PollerForm = .platformDefault, syscalls: Syscalls = .real
    ) throws(ReactorError) {
        self.label = label
        self.syscalls = syscalls
        queue = DispatchQueue(label: "livegate.loop.\(label)")
        switch form {
        case .epoll: poller = try EpollPoller(syscalls)
        case .dispatchSources: poller = SourcePoller()
        }
        timerSource = DispatchSource.makeTimerSource(queue: queue)
        now = linux_monotonic_milliseconds()
        wheel = TimerWheel(now: now)
        unsafe receiveBuffer = .allocate(byteCount: Self.receiveBufferBytes, alignment: 64)
        unsafe scratchBuffer = .allocate(byteCount: Self.receiveBufferBytes, alignment: 64)
        timerSource.setEventHandler { [unowned self] in
            self.armedFor = nil
            self.tick {}
        }
        // Holds the loop, like the poller, until the loop is stopped.
        timerSource.setCancelHandler { self.hasLetGo() }
        timerSource.activate()
        try poller.start(self)
    }

    deinit {
        unsafe receiveBuffer.deallocate()
        unsafe scratchBuffer.deallocate()
    }

    // MARK: Entry points

    /// Runs work on the loop, as a separate tick, after everything already queued. From any thread. It allocates, so use it
    /// for rare work. After ``stop()`` it still runs, so that resources can be released.
    package func execute(_ work: sending @escaping () -> Void) {
        let parcel = Parcel(work)
        queue.async { self.tick(parcel.work) }
    }

    /// Runs work in a later tick, after everything that is waiting now: for objects of the loop that do their work in
    /// slices.
    package func executeNextTick(_ work: @escaping () -> Void) {
        assertOnLoop()
        deferred.append(work)
        wakeAgain()
    }

    /// Does one slice of work that may be long: calls `step` until it reports that nothing is left, or the time is over.
    /// Returns whether something is left; then the caller schedules a later tick.
    package func runSlice(_ step: () -> Bool) -> Bool {
        assertOnLoop()
        let end = linux_monotonic_microseconds() + Self.sliceMicroseconds
        while step() {
            // A loop that stops must do all of it before it ends.
            if !isStopped, linux_monotonic_microseconds() >= end { return true }
        }
        return false
    }

    /// Stops the program, in every build, unless it runs on this loop.
    package func preconditionOnLoop() { dispatchPrecondition(condition: .onQueue(queue)) }

    /// Like ``preconditionOnLoop()``, but in debug builds only: for the data path.
    @inline(__always)
    package func assertOnLoop() {
        assert(
            {
                dispatchPrecondition(condition: .onQueue(queue))
                return true
            }())
    }

    // MARK: The tick

    /// Everything on a loop runs inside this method.
    func tick(_ body: () -> Void) {
        let began = linux_monotonic_microseconds()
        now = began / 1000
        tickNumber &+= 1
        flushEnd = 0
        flushedAt = began
        body()
        flush()
        fireTimers()
        flushLeft()
        armTimer()
        // Not earlier: a callback further up the stack may still run on one of them.
        graveyard.removeAll(keepingCapacity: true)
        work.busyMicroseconds += linux_monotonic_microseconds() - began
    }

    /// Requests another tick, after everything already queued. At most one such wake is in the queue. If each wake of another
    /// kind could add one, a storm would queue a hundred of them before all other work.
    func wakeAgain() {
        guard !hasWakeInLine else { return }
        hasWakeInLine = true
        queue.async {
            self.hasWakeInLine = false
            self.tick { self.goOn() }
        }
    }

    /// Runs deferred work for the time of one turn: each of thousands of clients may have a slice waiting. The rest comes
    /// first in the next wake; work that is deferred meanwhile comes after it.
    private func goOn() {
        let last = deferred.count
        let end = linux_monotonic_microseconds() + Self.turnMicroseconds
        while nextDeferred < last {
            let work = deferred[nextDeferred]
            nextDeferred += 1
            work()
            // A loop that stops must run all of it before it ends.
            if !isStopped, linux_monotonic_microseconds() >= end { break }
        }
        if nextDeferred < last { wakeAgain() }
        if nextDeferred == deferred.count {
            (deferred, nextDeferred) = ([], 0)
        } else if nextDeferred > deferred.count / 2 {
            // The items that have run are removed before they are most of the list.
            deferred.removeFirst(nextDeferred)
            nextDeferred = 0
        }
    }

    // MARK: The end

    /// Ends the loop: closes its streams, listeners and watches, drops the timers, and releases the poller.
    ///
    /// From any thread. It happens after everything already queued. Streams end with ``StreamEnd/loopStopped``.
    ///
    /// - Parameter done: called on the loop's queue after the poller and the timers have released the loop and the deferred
    ///   work has run. From then on the loop does nothing by itself, and the process may end.
    package func stop(_ done: @escaping @Sendable () -> Void = {}) {
        queue.async {
            self.whenStopped.append(done)
            guard !self.isStopped else { return self.reportStopped() }
            self.tick {
                self.isStopped = true
                for target in self.registrations.targets { target.loopStops() }
            }
            self.wheel = TimerWheel(now: self.now)
            self.poller.stop { self.hasLetGo() }
            self.timerSource.cancel()
        }
    }

    private func hasLetGo() {
        holding -= 1
        reportStopped()
    }

    private func reportStopped() {
        guard holding == 0 else { return }
        let waiting = whenStopped
        whenStopped = []
        // After the wake that may still be in the queue.
        if !waiting.isEmpty { queue.async { for done in waiting { done() } } }
    }
}

/// Carries work to a loop.
// SAFETY: what is inside was `sending`: its maker has given up every access to it, and one queue alone unpacks it.
private struct Parcel: @unchecked Sendable {
    let work: () -> Void

    init(_ work: @escaping () -> Void) { self.work = work }
}
