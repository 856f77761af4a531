import CLinux
import Dispatch

// Timers: one wheel for each loop, and one timer of Dispatch that is set to the wheel's next deadline.
extension EventLoop {
    /// The timers of one tick, some microseconds each. Ten thousand pings that are due in the same millisecond must not
    /// delay other streams. The timers that are left are due at once in the next tick.
    static let maximumTimersPerTick = 512

    /// Calls `action` once, on the loop, when ``now`` has reached `deadline`; not within the tick that schedules it.
    ///
    /// The loop holds the action, with everything it captures, until it has run or was cancelled. O(1).
    @discardableResult
    package func schedule(at deadline: UInt64, _ action: @escaping () -> Void) -> Timer {
        schedule(at: deadline, TimerAction(action), 0)
    }

    /// Calls `action` once, this many milliseconds after this tick began.
    @discardableResult
    package func schedule(afterMilliseconds delay: UInt64, _ action: @escaping () -> Void) -> Timer {
        schedule(at: later(by: delay), TimerAction(action), 0)
    }

    /// Calls ``TimerTarget/timerFired(_:)`` of `target` once, like ``schedule(at:_:)``, but without a closure: for the timers
    /// of every connection. The target is held until the timer has fired or was cancelled. O(1), allocates nothing.
    package func schedule(at deadline: UInt64, _ target: some TimerTarget, _ kind: UInt8) -> Timer {
        assertOnLoop()
        // A timer that schedules another one already due would keep the tick from ending.
        return wheel.schedule(
            at: isFiring ? max(deadline, now + 1) : deadline, TimerCall(target: target, kind: kind))
    }

    /// The same, this many milliseconds after this tick began.
    package func schedule(afterMilliseconds delay: UInt64, _ target: some TimerTarget, _ kind: UInt8) -> Timer {
        schedule(at: later(by: delay), target, kind)
    }

    private func later(by delay: UInt64) -> UInt64 {
        let (deadline, overflow) = now.addingReportingOverflow(delay)
        return overflow ? .max : deadline
    }

    /// Cancels a timer. Does nothing if it has fired or was cancelled before. O(1).
    package func cancel(_ timer: Timer) {
        assertOnLoop()
        wheel.cancel(timer)
    }

    /// How many timers are waiting.
    package var timers: Int {
        assertOnLoop()
        return wheel.count
    }

    // MARK: Within the tick

    func fireTimers() {
        guard let wake = wheel.nextWake, wake <= now else { return }
        isFiring = true
        let end = linux_monotonic_microseconds() + Self.sliceMicroseconds
        for index in 1...Self.maximumTimersPerTick {
            guard let call = wheel.popDue(now: now) else { break }
            call.target.timerFired(call.kind)
            if index % Self.eventsPerClockReading == 0, linux_monotonic_microseconds() >= end { break }
        }
        isFiring = false
        flush()
    }

    func armTimer() {
        guard let wake = wheel.nextWake else { return }
        // A timer that was set to an earlier time stays as it is. It fires without effect at most once, and that costs less than
        // setting it again for each timer that is cancelled.
        if let armedFor, armedFor <= wake { return }
        armedFor = wake
        timerSource.schedule(
            deadline: .now() + .milliseconds(Int(min(wake - min(now, wake), 1 << 40))), leeway: .nanoseconds(0))
    }
}
