/// Tells when a descriptor that somebody else owns has something to read. Confined to its loop.
///
/// It watches a duplicate, so the owner may close the original at any time. Level-triggered: a callback that leaves
/// something unread is called again with the next tick.
package final class DescriptorWatch: PollTarget {
    private let readable: () -> Void

    /// Begins to watch. Only on the loop.
    ///
    /// - Throws: ``ReactorError/system(_:)`` if there is no descriptor left, or the poller refuses it (files);
    ///   ``ReactorError/cancelled`` if the loop has stopped.
    package init(_ descriptor: Int32, loop: EventLoop, readable: @escaping () -> Void) throws(ReactorError) {
        loop.assertOnLoop()
        self.readable = readable
        super.init(loop: loop)
        if loop.isStopped { throw .cancelled }
        let copy = loop.syscalls.duplicate(descriptor)
        guard copy >= 0 else { throw .system(SystemFailure(.duplicate, -copy)) }
        if let failure = loop.register(self, FileDescriptor(owning: copy), .readable) { throw .system(failure) }
    }

    /// Ends the watch; nothing is told afterwards.
    package func cancel() { loop.unregister(self) }

    override func ready(_ events: PollEvents) { readable() }

    override func loopStops() { cancel() }
}
