import CLinux

/// What a descriptor is watched for, and what was seen. Errors and hang-ups are seen as both.
package struct PollEvents: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let readable = PollEvents(rawValue: UInt8(LINUX_POLL_READ))
    package static let writable = PollEvents(rawValue: UInt8(LINUX_POLL_WRITE))
}

/// Which mechanism finds out what is ready. Both pass the same tests.
package enum PollerForm: Sendable, CaseIterable {
    /// An epoll descriptor of the loop's own under ONE Dispatch source, drained in batches. Linux only.
    ///
    /// Measured for one event, wake to callback: 1.5 to 3.5 µs, against 4.5 to 6.6 µs and about 8 system calls for a
    /// source per descriptor.
    case epoll
    /// A Dispatch source for each descriptor and direction: portable, what macOS gets.
    case dispatchSources

    package static let platformDefault: PollerForm = .epoll
}

/// Finds out which descriptors are ready and delivers events to the loop by token. All calls are made on the loop.
///
/// Level-triggered: what was not read is reported again with the next tick, so that a stream may stop after a bounded
/// read and needs no list of those that have more.
class Poller {
    /// Begins to call `loop.tick` with what is ready. Called once, before anything else.
    func start(_ loop: EventLoop) throws(ReactorError) { fatalError("abstract") }

    /// Watches a descriptor. With no interest it is not watched at all: not even errors are reported.
    func add(_ descriptor: Int32, _ interest: PollEvents, token: UInt64) -> SystemFailure? { fatalError("abstract") }

    /// Changes what a descriptor is watched for.
    func change(_ descriptor: Int32, from old: PollEvents, to new: PollEvents, token: UInt64) -> SystemFailure? {
        fatalError("abstract")
    }

    /// Ends the watch and closes the descriptor, as soon as the mechanism allows it.
    func remove(_ descriptor: consuming FileDescriptor, _ interest: PollEvents, token: UInt64) {
        fatalError("abstract")
    }

    /// Ends the watch and answers a descriptor for the same open file that nobody here uses any more.
    func handOver(
        _ descriptor: consuming FileDescriptor, _ interest: PollEvents, token: UInt64, _ syscalls: Syscalls
    ) throws(ReactorError) -> FileDescriptor {
        fatalError("abstract")
    }

    /// Ends everything. Nothing is delivered afterwards; `done` is called on the loop's queue when the mechanism has
    /// let go.
    func stop(_ done: @escaping () -> Void) { fatalError("abstract") }
}
