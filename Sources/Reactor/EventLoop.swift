import CLinux
import Dispatch

/// One serial queue with its own poller, timers and buffers; everything that lives on a loop is touched there alone.
///
/// There are three ways in: ``execute(_:)`` for the rare, a ``Mailbox`` for what comes often, and the poller. Each of
/// them runs as a tick:
///
///     what came (events, messages, work) → flush: every stream written to makes one send → timers that are due → flush
///
/// so that whatever gathers for a stream within a tick leaves in one system call, and nothing waits when there is
/// little to do. A loop lives until ``stop()``: the poller's source holds it.
// SAFETY: everything but the lets is read and written on `queue` alone, and the queue is serial. `execute`, `stop` and
// what Mailbox calls from other threads touch only lets; every other entry point asserts that it runs on the queue.
@safe package final class EventLoop: @unchecked Sendable {
    /// What a stream reads into: one read takes as much as the kernel usually has, and it stays in the second-level
    /// cache. One per loop, so that an idle stream owns no buffer.
    package static let receiveBufferBytes = 64 * 1024
    /// How often a flush may make new work for itself (a stream that drained writes more) before the tick ends and
    /// others get their turn; what is left goes on in the next tick.
    static let maximumFlushRounds = 4

    /// The timers of one tick, some microseconds each: ten thousand pings that are due in the same millisecond do not
    /// keep those waiting who have something to say. What is left is due at once in the next tick.
    static let maximumTimersPerTick = 512

    /// How long one turn serves events, or timers, before others get theirs. A token's signature costs 0.1 ms to check,
    /// so the number of events alone does not bound a turn. Twice as long is what a turn may take at most, with what it
    /// wrote to be sent.
    static let turnMicroseconds: UInt64 = 2_000
    /// Events, or timers, between two readings of the clock, which cost 25 ns each.
    static let eventsPerClockReading = 4

    package let label: String
    package let syscalls: Syscalls
    let queue: DispatchQueue
    let poller: Poller
    let timerSource: DispatchSourceTimer

    /// Monotonic time in milliseconds, read once at the start of a tick.
    package private(set) var now: UInt64
    /// Counts the ticks: whoever may do only so much in a tick remembers the number.
    package private(set) var tickNumber: UInt64 = 0
    package private(set) var isStopped = false

    /// Valid within one callback: the next read of any stream overwrites it.
    let receiveBuffer: UnsafeMutableRawBufferPointer
    /// As large as the receive buffer and free for whoever runs on the loop, within one call: transforms put their
    /// result here.
    package let scratchBuffer: UnsafeMutableRawBufferPointer

    var registrations = Registrations()
    private var dirty: [PollTarget] = []
    private var flushing: [PollTarget] = []
    private var removed: [PollTarget] = []
    private var graveyard: [PollTarget] = []
    private var deferred: [() -> Void] = []
    /// A wake that the loop gave itself stands in its queue. One is enough, whoever asks for it: what is put off waits
    /// for that one.
    private var hasWakeInLine = false

    private var wheel: TimerWheel<TimerCall>
    private var armedFor: UInt64?
    private var isFiring = false
    /// What has to let go after ``stop(_:)``: the poller and the timer source.
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

    // MARK: Timers

    /// Calls `action` once, on the loop, when ``now`` has reached `deadline`; not within the tick that asks.
    ///
    /// The action is held, with what it captures, until it has run or was cancelled. O(1).
    @discardableResult
    package func schedule(at deadline: UInt64, _ action: @escaping () -> Void) -> Timer {
        schedule(at: deadline, TimerAction(action), 0)
    }

    /// Calls `action` once, so many milliseconds after this tick began.
    @discardableResult
    package func schedule(afterMilliseconds delay: UInt64, _ action: @escaping () -> Void) -> Timer {
        schedule(at: later(by: delay), TimerAction(action), 0)
    }

    /// Calls ``TimerTarget/timerFired(_:)`` of `target` once, as ``schedule(at:_:)``, without a closure: for what every
    /// connection has. The target is held until then, or until the timer is cancelled. O(1), allocates nothing.
    package func schedule(at deadline: UInt64, _ target: some TimerTarget, _ kind: UInt8) -> Timer {
        assertOnLoop()
        // A timer that asks for another one already due would keep the tick from ending.
        return wheel.schedule(
            at: isFiring ? max(deadline, now + 1) : deadline, TimerCall(target: target, kind: kind))
    }

    /// The same, so many milliseconds after this tick began.
    package func schedule(afterMilliseconds delay: UInt64, _ target: some TimerTarget, _ kind: UInt8) -> Timer {
        schedule(at: later(by: delay), target, kind)
    }

    private func later(by delay: UInt64) -> UInt64 {
        let (deadline, overflow) = now.addingReportingOverflow(delay)
        return overflow ? .max : deadline
    }

    /// Cancels a timer. Nothing happens if it has fired or was cancelled before. O(1).
    package func cancel(_ timer: Timer) {
        assertOnLoop()
        wheel.cancel(timer)
    }

    // MARK: The tick

    /// Everything that happens on a loop happens inside this.
    func tick(_ body: () -> Void) {
        now = linux_monotonic_milliseconds()
        tickNumber &+= 1
        body()
        flush()
        fireTimers()
        armTimer()
        // Only now: a callback further up the stack may still run on one of them.
        graveyard.removeAll(keepingCapacity: true)
    }

    private func fireTimers() {
        guard let wake = wheel.nextWake, wake <= now else { return }
        isFiring = true
        let end = linux_monotonic_microseconds() + Self.turnMicroseconds
        for index in 1...Self.maximumTimersPerTick {
            guard let call = wheel.popDue(now: now) else { break }
            call.target.timerFired(call.kind)
            if index % Self.eventsPerClockReading == 0, linux_monotonic_microseconds() >= end { break }
        }
        isFiring = false
        flush()
    }

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

    private func flush() {
        var rounds = 0
        while !dirty.isEmpty || !removed.isEmpty {
            if rounds == Self.maximumFlushRounds { return wakeAgain() }
            rounds += 1
            swap(&dirty, &flushing)
            for target in flushing {
                target.isDirty = false
                target.tickEnds()
            }
            flushing.removeAll(keepingCapacity: true)
            let gone = removed
            removed.removeAll(keepingCapacity: true)
            for target in gone { target.wasRemoved() }
        }
    }

    /// Asks for another tick, behind what is queued already. At most one such wake stands in line: if each wake of
    /// another kind could add one, a storm would put a hundred of them before everybody else.
    private func wakeAgain() {
        guard !hasWakeInLine else { return }
        hasWakeInLine = true
        queue.async {
            self.hasWakeInLine = false
            self.tick { self.goOn() }
        }
    }

    /// Runs what was put off before; what that puts off again is for the wake after this one.
    private func goOn() {
        guard !deferred.isEmpty else { return }
        let work = deferred
        deferred = []
        for item in work { item() }
    }

    private func armTimer() {
        guard let wake = wheel.nextWake else { return }
        // A timer that was armed for earlier is left alone: it fires for nothing at most once, and costs less than
        // setting it anew for each timer that is cancelled.
        if let armedFor, armedFor <= wake { return }
        armedFor = wake
        timerSource.schedule(
            deadline: .now() + .milliseconds(Int(min(wake - min(now, wake), 1 << 40))), leeway: .nanoseconds(0))
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
            guard !self.isStopped else { return self.tellStopped() }
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
        tellStopped()
    }

    private func tellStopped() {
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
