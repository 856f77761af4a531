/// The loop of a client: it runs one piece of work after the other, and has a clock. Each ``ClientNetwork`` has its own.
package protocol ClientLoop: AnyObject, Sendable {
    /// Monotonic time in milliseconds.
    var now: UInt64 { get }
    /// Runs work on the loop, after what is queued already. Can be called from any thread, and also after ``end()``.
    func execute(_ work: sending @escaping () -> Void)
    /// Runs work on the loop, after the work that runs now.
    func executeNextTick(_ work: @escaping () -> Void)
    /// Runs work after a time, unless the timer is cancelled before.
    func wait(milliseconds: UInt64, _ action: @escaping () -> Void) -> LoopTimer
    /// Stops the program if it does not run on this loop.
    func preconditionOnLoop()
    /// Ends the loop: there is nothing more to wait for.
    func end()
}

/// Work that a loop runs later.
package struct LoopTimer {
    package let cancel: () -> Void

    package init(_ cancel: @escaping () -> Void) { self.cancel = cancel }
}

/// A value that belongs to a loop, while code that does not know the loop passes it on.
// SAFETY: the code that wraps or reads the value runs on its loop, or the program stops; a loop runs one piece of work at a time.
package struct Confined<Value>: @unchecked Sendable {
    package let loop: any ClientLoop
    private let confined: Value

    /// Wraps a value on its loop.
    package init(_ value: Value, loop: any ClientLoop) {
        loop.preconditionOnLoop()
        self.loop = loop
        confined = value
    }

    /// The value. Only code on its loop may read it.
    package var value: Value {
        loop.preconditionOnLoop()
        return confined
    }
}
