import CLinux

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
