/// What a client lives on: one thing after the other, and a clock. Each ``ClientNetwork`` brings its own.
package protocol ClientLoop: AnyObject, Sendable {
    /// Monotonic time in milliseconds.
    var now: UInt64 { get }
    /// Runs work on the loop, behind what is queued already. From any thread; after ``end()`` too.
    func execute(_ work: sending @escaping () -> Void)
    /// Runs work on the loop, behind what runs now.
    func executeNextTick(_ work: @escaping () -> Void)
    /// Runs work after a time, unless that is cancelled before.
    func wait(milliseconds: UInt64, _ action: @escaping () -> Void) -> LoopTimer
    /// Stops the program unless it runs on this loop.
    func preconditionOnLoop()
    /// Nothing is to be waited for any more.
    func end()
}

/// Work that a loop has put off.
package struct LoopTimer {
    package let cancel: () -> Void

    package init(_ cancel: @escaping () -> Void) { self.cancel = cancel }
}

/// A value that lives on a loop, on its way through code that knows nothing of that.
// SAFETY: whoever wraps the value or reaches it is on its loop, or the program stops; a loop does one thing after the other.
package struct Confined<Value>: @unchecked Sendable {
    package let loop: any ClientLoop
    private let confined: Value

    /// Wraps a value on its loop.
    package init(_ value: Value, loop: any ClientLoop) {
        loop.preconditionOnLoop()
        self.loop = loop
        confined = value
    }

    /// The value; only on its loop.
    package var value: Value {
        loop.preconditionOnLoop()
        return confined
    }
}
