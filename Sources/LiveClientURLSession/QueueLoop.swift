import Dispatch
import LiveClient
import Locks

/// A serial dispatch queue as a client's loop.
final class QueueLoop: ClientLoop {
    private let queue = DispatchQueue(label: "live-client")
    private let start = ContinuousClock.now
    /// Called when the loop ends; nil after that.
    private let onEnd: Lock<(@Sendable () -> Void)?>

    init(onEnd: @escaping @Sendable () -> Void) { self.onEnd = Lock(onEnd) }

    /// The time since the loop was made, including the time in which the device sleeps.
    var now: UInt64 { UInt64((ContinuousClock.now - start) / .milliseconds(1)) }

    // A work item carries to another thread what the compiler cannot follow. The queue runs one at a time, and only it has it.
    func execute(_ work: sending @escaping () -> Void) { queue.async(execute: DispatchWorkItem(block: work)) }

    func executeNextTick(_ work: @escaping () -> Void) { queue.async(execute: DispatchWorkItem(block: work)) }

    func wait(milliseconds: UInt64, _ action: @escaping () -> Void) -> LoopTimer {
        let pending = PendingAction(action)
        let due = now + min(milliseconds, .max - now)
        let item = DispatchWorkItem { [weak self] in
            guard let self, self.now >= due, self.onEnd.withLock({ $0 != nil }) else { return }
            pending.run()
        }
        let delay = DispatchTimeInterval.milliseconds(Int(clamping: milliseconds))
        queue.asyncAfter(deadline: .now() + delay, execute: item)
        // The first clock of Dispatch stops while the device sleeps, and ``now`` does not. The first that is due counts.
        queue.asyncAfter(wallDeadline: .now() + delay, execute: item)
        return LoopTimer {
            item.cancel()
            // The queue holds the item until its time.
            pending.action = nil
        }
    }

    func preconditionOnLoop() { dispatchPrecondition(condition: .onQueue(queue)) }

    func end() { onEnd.withLock { $0.take() }?() }
}

/// The action of a timer, which runs once.
private final class PendingAction {
    var action: (() -> Void)?

    init(_ action: @escaping () -> Void) { self.action = action }

    func run() { action.take()?() }
}
