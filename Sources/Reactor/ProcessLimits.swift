import CLinux

/// What the operating system grants this process.
package enum ProcessLimits {
    /// The cores this process may run on, at least 1: what `loops: 0` means. The corresponding C function is
    /// `sched_getaffinity`, so a container's or `taskset`'s set counts, not the machine's.
    package static var usableCores: Int { max(1, Int(linux_usable_cores())) }

    /// Raises the number of descriptors that may be open to the hard limit, and answers what it is then. The
    /// corresponding C functions are `getrlimit` and `setrlimit` with RLIMIT_NOFILE.
    package static func raiseDescriptorLimit() throws(ReactorError) -> UInt64 {
        var (soft, hard) = (UInt64(0), UInt64(0))
        let answer = unsafe linux_raise_descriptor_limit(&soft, &hard)
        guard answer >= 0 else { throw .system(SystemFailure(.setOption, -answer)) }
        return soft
    }
}
