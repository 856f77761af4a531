import CLinux
import Dispatch
import Glibc

/// Calls a closure on a loop when a signal has arrived: SIGTERM, SIGINT, SIGHUP.
///
/// The first watch removes the signal's default action for good: a signal that arrives during the last
/// steps of a shutdown must not kill the process.
///
/// Our own handler increments a descriptor that the loop watches. Dispatch's own source reads a `signalfd`, which does not
/// show a signal that is pending for another thread only.
// SAFETY: the source is cancelled, which may be done from any thread, and otherwise left alone.
package final class SignalWatch: @unchecked Sendable {
    private let source: DispatchSourceRead

    /// Begins to watch, from any thread: a signal that arrives after this call is reported. `received` runs on the loop, as a
    /// tick. Signals that arrive close together may be reported once. At most 16 watches of one signal at a time.
    package init(_ number: Int32, loop: EventLoop, received: @escaping () -> Void) {
        let descriptor = linux_watch_signal(number)
        precondition(descriptor >= 0, "cannot watch signal \(number): errno \(-descriptor)")
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: loop.queue)
        source.setEventHandler { if linux_take_signal(descriptor) == 1 { loop.tick(received) } }
        source.setCancelHandler { linux_leave_signal(number, descriptor) }
        source.activate()
    }

    deinit { source.cancel() }

    /// Ends the watch.
    package func cancel() { source.cancel() }

    /// Switches SIGPIPE off for the process. The reactor's own sends do not need this (they pass MSG_NOSIGNAL). Programs
    /// that write to standard output, and libraries that write to sockets, do.
    package static func ignoreBrokenPipes() { _ = linux_ignore_signal(SIGPIPE) }
}

/// What the operating system grants this process.
package enum ProcessLimits {
    /// The cores this process may run on, at least 1: the meaning of `loops: 0`. The corresponding C function is
    /// `sched_getaffinity`, so the set of a container or of `taskset` counts, not the machine's.
    package static var usableCores: Int { max(1, Int(linux_usable_cores())) }

    /// Raises the limit of open descriptors to the hard limit, and returns the new limit. The corresponding C functions are
    /// `getrlimit` and `setrlimit` with RLIMIT_NOFILE.
    package static func raiseDescriptorLimit() throws(ReactorError) -> UInt64 {
        var (soft, hard) = (UInt64(0), UInt64(0))
        let answer = unsafe linux_raise_descriptor_limit(&soft, &hard)
        guard answer >= 0 else { throw .system(SystemFailure(.setOption, -answer)) }
        return soft
    }
}

/// What the process has used so far, in the form of Prometheus' own clients.
package struct ProcessUsage: Sendable {
    package let cpuSeconds: Double
    /// Since 1970.
    package let startedSeconds: Double
    package let residentBytes: UInt64
    package let openDescriptors: UInt64
    package let maximumDescriptors: UInt64

    /// The present values, from `/proc/self`; nil where there is none. Before Linux 6.2 it reads a folder with an entry for each
    /// descriptor, so do not call it on a loop of clients.
    package static func now() -> ProcessUsage? {
        var usage = linux_usage()
        guard unsafe linux_process_usage(&usage) == 0 else { return nil }
        return ProcessUsage(
            cpuSeconds: usage.cpu_seconds, startedSeconds: usage.started_seconds, residentBytes: usage.resident_bytes,
            openDescriptors: usage.open_descriptors, maximumDescriptors: usage.maximum_descriptors)
    }
}

/// The time of day. It may be set back. Deadlines use ``EventLoop/now``, which never is.
package enum WallClock {
    /// Now, in milliseconds since 1970, UTC. The corresponding C function is `clock_gettime` with CLOCK_REALTIME.
    package static var milliseconds: Int64 { linux_wall_clock_milliseconds() }
}
