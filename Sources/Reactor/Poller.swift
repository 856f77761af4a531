import CLinux

/// The events a descriptor is watched for, and those that occurred. Errors and hang-ups are reported as both.
package struct PollEvents: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let readable = PollEvents(rawValue: UInt8(LINUX_POLL_READ))
    package static let writable = PollEvents(rawValue: UInt8(LINUX_POLL_WRITE))
}

/// Which mechanism detects what is ready. Both pass the same tests.
package enum PollerForm: Sendable, CaseIterable {
    /// An epoll descriptor of the loop's own under ONE Dispatch source, drained in batches. Linux only.
    ///
    /// Measured for one event, wake to callback: 1.5 to 3.5 µs, against 4.5 to 6.6 µs and about 8 system calls for a
    /// source per descriptor.
    case epoll
    /// A Dispatch source for each descriptor and direction. Portable; macOS uses it.
    case dispatchSources

    package static let platformDefault: PollerForm = .epoll
}

/// Detects which descriptors are ready and delivers events to the loop by token. All calls are made on the loop.
///
/// Level-triggered: unread bytes are reported again with the next tick. So a stream may stop after a limited read, and
/// no list of unfinished streams is needed.
class Poller {
    /// Begins to call `loop.tick` with what is ready. Called once, before anything else.
    func start(_ loop: EventLoop) throws(ReactorError) { fatalError("abstract") }

    /// Watches a descriptor. Without interest it is not watched at all: not even errors are reported.
    func add(_ descriptor: Int32, _ interest: PollEvents, token: UInt64) -> SystemFailure? { fatalError("abstract") }

    /// Changes the interest in a descriptor.
    func change(_ descriptor: Int32, from old: PollEvents, to new: PollEvents, token: UInt64) -> SystemFailure? {
        fatalError("abstract")
    }

    /// Ends the watch and closes the descriptor, as soon as the mechanism allows it.
    func remove(_ descriptor: consuming FileDescriptor, _ interest: PollEvents, token: UInt64) {
        fatalError("abstract")
    }

    /// Ends the watch and returns a descriptor for the same open file that nothing here uses any more.
    func handOver(
        _ descriptor: consuming FileDescriptor, _ interest: PollEvents, token: UInt64, _ syscalls: Syscalls
    ) throws(ReactorError) -> FileDescriptor {
        fatalError("abstract")
    }

    /// Ends everything. Nothing is delivered afterwards. `done` is called on the loop's queue when the mechanism has
    /// released the loop.
    func stop(_ done: @escaping () -> Void) { fatalError("abstract") }
}
