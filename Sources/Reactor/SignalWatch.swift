import CLinux
import Dispatch
import Glibc

/// Tells of a signal on a loop: SIGTERM, SIGINT, SIGHUP.
///
/// The signal's own action is gone with the first watch and does not come back: a signal that arrives during the last
/// steps of a shutdown must not kill the process.
// SAFETY: the source is cancelled, which may be done from any thread, and otherwise left alone.
package final class SignalWatch: @unchecked Sendable {
    private let source: DispatchSourceSignal

    /// Begins to watch, from any thread: a signal that arrives after this call is told, even if Dispatch is not yet
    /// there to see it. `received` runs on the loop, as a tick; signals that come close together may be told once.
    package init(_ number: Int32, loop: EventLoop, received: @escaping () -> Void) {
        // Dispatch begins to look some time after `activate`, and what came before would be lost with the signal
        // ignored, or kill the process.
        precondition(linux_catch_signal(number) == 0, "no such signal, or one that cannot be caught: \(number)")
        source = DispatchSource.makeSignalSource(signal: number, queue: loop.queue)
        source.setEventHandler { loop.tick(received) }
        source.setRegistrationHandler { if linux_take_signal(number) == 1 { loop.tick(received) } }
        source.activate()
    }

    deinit { source.cancel() }

    /// Ends the watch.
    package func cancel() { source.cancel() }

    /// Switches SIGPIPE off for the process. The reactor's own sends need no such thing (they pass MSG_NOSIGNAL);
    /// programs that write to standard output, and libraries that write to sockets, do.
    package static func ignoreBrokenPipes() { _ = linux_ignore_signal(SIGPIPE) }
}
