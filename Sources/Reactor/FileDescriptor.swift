import CLinux
import Glibc

/// The owner of one open file descriptor. It is closed exactly once: when the owner goes out of scope.
package struct FileDescriptor: ~Copyable, Sendable {
    /// The number, valid as long as this owner exists.
    package let raw: Int32

    /// Becomes the owner of a descriptor that no other code will close.
    package init(owning raw: Int32) {
        precondition(raw >= 0, "a descriptor is never negative")
        self.raw = raw
    }

    deinit {
        // close(2): the descriptor is gone whatever the result, so a retry makes no sense. Only EBADF means that other code
        // closed it, and perhaps closed a descriptor of a third party with it.
        precondition(linux_close(raw) != -EBADF, "a descriptor was closed twice")
    }

    /// Gives the descriptor to the caller without closing it.
    package consuming func release() -> Int32 {
        let raw = raw
        discard self
        return raw
    }

    /// A second descriptor for the same open file; the corresponding C function is `fcntl` with F_DUPFD_CLOEXEC.
    package borrowing func duplicate(_ syscalls: Syscalls = .real) throws(ReactorError) -> FileDescriptor {
        let copy = syscalls.duplicate(raw)
        guard copy >= 0 else { throw .system(SystemFailure(.duplicate, -copy)) }
        return FileDescriptor(owning: copy)
    }
}

extension FileDescriptor {
    /// How many bytes are read and discarded before the close: the start of a request.
    private static let discardedBytes = 16 * 1024

    /// Sends as many bytes as one call can, and ends our half: for a socket that is closed at once afterwards.
    ///
    /// The received bytes are read and discarded first: a socket that is closed with unread input answers with a reset, which
    /// destroys what the peer has not read yet.
    package borrowing func sendLastWords(_ bytes: [UInt8], _ syscalls: Syscalls = .real) {
        unsafe withUnsafeTemporaryAllocation(byteCount: Self.discardedBytes, alignment: 1) { room in
            _ = unsafe syscalls.receive(raw, into: room)
        }
        _ = unsafe bytes.withUnsafeBytes { unsafe syscalls.send(raw, $0) }
        _ = syscalls.shutdownWriting(raw)
    }
}
