import CLinux
import Dispatch

/// One serial queue with its own poller, timers and buffers; everything that lives on a loop is touched there alone.
///
/// There are three ways in: ``execute(_:)`` for the rare, a ``Mailbox`` for what comes often, and the poller. Each of
/// them runs as a tick:
///
///     what came (events, messages, work) → flush: every stream written to makes one send → timers that are due → flush
///
/// in which each step has its time, and what is left goes on in the next tick; so that whatever gathers for a stream
/// within a tick leaves in one system call, and nothing waits when there is little to do. A loop lives until
/// ``stop()``: the poller's source holds it.
// SAFETY: everything but the lets is read and written on `queue` alone, and the queue is serial. `execute`, `stop` and
// what Mailbox calls from other threads touch only lets; every other entry point asserts that it runs on the queue.
@safe package final class EventLoop: @unchecked Sendable {
    /// What a stream reads into: one read takes as much as the kernel usually has, and it stays in the second-level
    /// cache. One per loop, so that an idle stream owns no buffer.
    package static let receiveBufferBytes = 64 * 1024

    /// How long one turn serves events, timers or what was put off, before others get theirs. A token's signature costs
    /// 0.1 ms to check, so the number of events alone does not bound a turn. With what is sent, the timers that are due and
    /// what earlier ticks have left, a tick takes about 5 ms at most: 2 + 1.5 + 1 + 0.75. With 1.5 ms a delivery to many
    /// accounts cost a fifth more, since less leaves in one call, and nobody waited less.
    static let turnMicroseconds: UInt64 = 2_000
    /// Events or timers between two readings of the clock, which cost 25 ns each. Messages and what was put off may be long:
    /// the clock is read after each of them.
    static let eventsPerClockReading = 4
    /// How long one piece of work that goes on in slices keeps a tick, timers among them.
    package static let sliceMicroseconds: UInt64 = 1_000

    package let label: String
    package let syscalls: Syscalls
    let queue: DispatchQueue
    let poller: Poller
    let timerSource: DispatchSourceTimer

    /// Monotonic time in milliseconds, read once at the start of a tick.
    package private(set) var now: UInt64
    /// Monotonic time in microseconds, read now: for what is measured rather than scheduled. From any thread; 25 ns.
    package static var microseconds: UInt64 { linux_monotonic_microseconds() }
    /// The last reading of the clock in this tick's flush, or its beginning; monotonic, in microseconds. What leaves in the
    /// flush leaves then, and nobody has to read the clock for it again.
    package internal(set) var flushedAt: UInt64 = 0
    /// What went over the sockets of this loop, and how long it was at work, since the start.
    package internal(set) var work = LoopWork()
    /// Counts the ticks: whoever may do only so much in a tick remembers the number.
    package private(set) var tickNumber: UInt64 = 0
    package private(set) var isStopped = false

    /// Valid within one callback: the next read of any stream overwrites it.
    let receiveBuffer: UnsafeMutableRawBufferPointer
    /// As large as the receive buffer and free for whoever runs on the loop, within one call: transforms put their
    /// result here.
    package let scratchBuffer: UnsafeMutableRawBufferPointer

    var registrations = Registrations()
    // What EventLoop+Flush.swift goes by.
    /// Targets whose ``PollTarget/tickEnds()`` is due at the next flush.
    var dirty: [PollTarget] = []
    /// Takes turns with `dirty`, so that neither allocates; empty between two flushes.
    var flushing: [PollTarget] = []
    /// Targets of earlier ticks, for which there was no time; what stands before `nextLeft` has had its turn.
    var left: [PollTarget] = []
    var nextLeft = 0
    /// When this tick has flushed long enough, monotonic, in microseconds; 0 before the first reading of the clock.
    var flushEnd: UInt64 = 0
    /// Targets that were unregistered, and whose ``PollTarget/wasRemoved()`` is due.
    var removed: [PollTarget] = []
    /// Targets that were unregistered in this tick: held, since a callback further up the stack may run on one of them.
    var graveyard: [PollTarget] = []
    /// What was put off; what stands before `nextDeferred` has run.
    private var deferred: [() -> Void] = []
    private var nextDeferred = 0
    /// Whether a wake by the loop itself is in its queue. One is enough: everything that is put off waits for it.
    private var hasWakeInLine = false

    // What EventLoop+Timers.swift goes by.
    var wheel: TimerWheel<TimerCall>
    /// The deadline that the timer source is set to, in the time of ``now``.
    var armedFor: UInt64?
    var isFiring = false
    /// How many of the poller and the timer source still hold the loop. ``stop(_:)`` waits for both.
    private var holding = 2
    private var whenStopped: [@Sendable () -> Void] = []

    /// Makes a loop and starts it.
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
        // Holds the loop, as the poller does, until it is stopped.
        timerSource.setCancelHandler { self.hasLetGo() }
        timerSource.activate()
        try poller.start(self)
    }

    deinit {
        unsafe receiveBuffer.deallocate()
        unsafe scratchBuffer.deallocate()
    }

    // MARK: Ways in

    /// Runs work on the loop, as a tick of its own, after what is queued already. From any thread; it allocates, so it
    /// is for the rare. After ``stop()`` it still runs, so that what is owed can be released.
    package func execute(_ work: sending @escaping () -> Void) {
        let parcel = Parcel(work)
        queue.async { self.tick(parcel.work) }
    }

    /// Runs work in a later tick, when everything that stands in line by now has had its turn: for what lives on the
    /// loop and goes on in slices.
    package func executeNextTick(_ work: @escaping () -> Void) {
        assertOnLoop()
        deferred.append(work)
        wakeAgain()
    }

    /// Does one slice of work that may be long: calls `step` until it answers that nothing is left, or the slice is over.
    /// Returns whether something is left, for which the caller asks for a later tick.
    package func runSlice(_ step: () -> Bool) -> Bool {
        assertOnLoop()
        let end = linux_monotonic_microseconds() + Self.sliceMicroseconds
        while step() {
            // A loop that ends owes all of it before it is gone.
            if !isStopped, linux_monotonic_microseconds() >= end { return true }
        }
        return false
    }

    /// Stops the program, in every build, unless it runs on this loop.
    package func preconditionOnLoop() { dispatchPrecondition(condition: .onQueue(queue)) }

    /// As ``preconditionOnLoop()``, in debug builds only: for the data path.
    @inline(__always)
    package func assertOnLoop() {
        assert(
            {
                dispatchPrecondition(condition: .onQueue(queue))
                return true
            }())
    }

    // MARK: The tick

    /// Everything that happens on a loop happens inside this.
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
        // Only now: a callback further up the stack may still run on one of them.
        graveyard.removeAll(keepingCapacity: true)
        work.busyMicroseconds += linux_monotonic_microseconds() - began
    }

    /// Asks for another tick, behind what is queued already. At most one such wake stands in line: if each wake of
    /// another kind could add one, a storm would put a hundred of them before everybody else.
    func wakeAgain() {
        guard !hasWakeInLine else { return }
        hasWakeInLine = true
        queue.async {
            self.hasWakeInLine = false
            self.tick { self.goOn() }
        }
    }

    /// Runs what was put off before, as long as a turn lasts: thousands of clients whose bytes go on in slices have one
    /// each in line. What is left comes first in the next wake, and what is put off meanwhile behind it.
    private func goOn() {
        let last = deferred.count
        let end = linux_monotonic_microseconds() + Self.turnMicroseconds
        while nextDeferred < last {
            let work = deferred[nextDeferred]
            nextDeferred += 1
            work()
            // A loop that ends owes all of it before it is gone.
            if !isStopped, linux_monotonic_microseconds() >= end { break }
        }
        if nextDeferred < last { wakeAgain() }
        if nextDeferred == deferred.count {
            (deferred, nextDeferred) = ([], 0)
        } else if nextDeferred > deferred.count / 2 {
            // What has run is given back before it is most of the list.
            deferred.removeFirst(nextDeferred)
            nextDeferred = 0
        }
    }

    // MARK: The end

    /// Ends the loop: streams, listeners and watches on it are closed, timers dropped, and the poller let go.
    ///
    /// From any thread; it happens behind what is queued already. Streams end with ``StreamEnd/loopStopped``.
    ///
    /// - Parameter done: called on the loop's queue when the poller and the timers have let go and what was put off has
    ///   run: from then on the loop does nothing by itself, and the process may end.
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
        // Behind the wake that may still stand in line.
        if !waiting.isEmpty { queue.async { for done in waiting { done() } } }
    }
}

/// Carries work to a loop.
// SAFETY: what is inside was `sending`: its maker has given up every access to it, and one queue alone unpacks it.
private struct Parcel: @unchecked Sendable {
    let work: () -> Void

    init(_ work: @escaping () -> Void) { self.work = work }
}
