import CLinux
import Glibc

/// The owner of one open file descriptor, closed exactly once: when the owner goes out of scope.
package struct FileDescriptor: ~Copyable, Sendable {
    /// The number, valid for as long as this owner is.
    package let raw: Int32

    /// Takes over a descriptor that nobody else will close.
    package init(owning raw: Int32) {
        precondition(raw >= 0, "a descriptor is never negative")
        self.raw = raw
    }

    deinit {
        // close(2): the descriptor is gone whatever the answer, so there is nothing to try again. EBADF alone means
        // that somebody else closed it, and with it perhaps a stranger's.
        precondition(linux_close(raw) != -EBADF, "a descriptor was closed twice")
    }

    /// Gives the descriptor away without closing it.
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
    /// What is read and thrown away before the close: the start of a request.
    private static let discardedBytes = 16 * 1024

    /// Sends bytes with one call, as far as they go, and ends our half: for a socket that is closed at once afterwards.
    ///
    /// What has come is read and thrown away first, since a socket that is closed with unread input answers with a
    /// reset, which destroys what the peer has not read yet.
    package borrowing func sendLastWords(_ bytes: [UInt8], _ syscalls: Syscalls = .real) {
        unsafe withUnsafeTemporaryAllocation(byteCount: Self.discardedBytes, alignment: 1) { room in
            _ = unsafe syscalls.receive(raw, into: room)
        }
        _ = unsafe bytes.withUnsafeBytes { unsafe syscalls.send(raw, $0) }
        _ = syscalls.shutdownWriting(raw)
    }
}
