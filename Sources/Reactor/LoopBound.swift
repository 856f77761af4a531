/// Carries something that lives on a loop through code that does not: it can be passed anywhere and opened only there.
// SAFETY: `value` is reached only after a check, in every build, that the caller runs on the loop's serial queue.
package struct LoopBound<Value>: @unchecked Sendable {
    package let loop: EventLoop
    private let bound: Value

    /// Wraps a value on its loop.
    package init(_ value: Value, loop: EventLoop) {
        loop.preconditionOnLoop()
        self.loop = loop
        bound = value
    }

    /// The value; only on its loop.
    package var value: Value {
        loop.preconditionOnLoop()
        return bound
    }
}
