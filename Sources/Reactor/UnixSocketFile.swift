import CLinux
import Glibc

/// The file of a Unix socket that listens; removed when the socket is let go, if it is still the same file.
final class UnixSocketFile: Sendable {
    /// How long a start waits for another one in the same directory: between its bind and its listen lie microseconds.
    private static let lockAttempts = 50
    private static let lockPauseMicroseconds: UInt32 = 20_000

    private let path: [CChar]
    private let device: UInt64
    private let node: UInt64

    /// Notes the file that `bind` has just made.
    init(_ path: [UInt8]) {
        self.path = Self.terminated(path)
        var (device, node) = (UInt64(0), UInt64(0))
        _ = unsafe linux_socket_file(self.path, &device, &node)
        self.device = device
        self.node = node
    }

    deinit {
        var (device, node) = (UInt64(0), UInt64(0))
        // A successor may have put its own there: that one stays.
        if unsafe linux_socket_file(path, &device, &node) == 1, device == self.device, node == self.node {
            _ = unsafe linux_unlink(path)
        }
    }

    /// Makes room for a socket: removes the file that a dead process left. A socket that somebody listens on, and a
    /// file that is no socket, stay, and are errors. That nobody listens is found by connecting: the file alone does
    /// not show it.
    static func removeStale(_ path: [UInt8], _ syscalls: Syscalls) throws(ReactorError) {
        let address = SocketAddress.unix(path)
        let text = terminated(path)
        var (device, node) = (UInt64(0), UInt64(0))
        let kind = unsafe linux_socket_file(text, &device, &node)
        // What is wrong with the path itself, bind will report.
        guard kind >= 0 else { return }
        guard kind == 1 else { throw .notASocket(address) }
        let raw = syscalls.socket(address.family)
        guard raw >= 0 else { throw .system(SystemFailure(.socket, -raw)) }
        let probe = FileDescriptor(owning: raw)
        let answer = syscalls.connect(probe.raw, address)
        // Also EAGAIN, a full backlog, and EACCES: somebody is there, or it cannot be known.
        guard answer == -ECONNREFUSED else {
            throw answer == -EACCES ? .permissionDenied(address) : .addressInUse(address)
        }
        let removed = unsafe linux_unlink(text)
        guard removed >= 0 || removed == -ENOENT else {
            throw removed == -EACCES || removed == -EPERM
                ? .permissionDenied(address) : .system(SystemFailure(.unlink, -removed))
        }
    }

    /// Locks the directory of a socket against others that start there. Nil, and the start goes on, if the directory
    /// cannot be locked: then only the race of two starts within microseconds stays open.
    static func lockDirectory(of path: [UInt8]) -> FileDescriptor? {
        let slash = path.lastIndex(of: UInt8(ascii: "/"))
        let directory = slash.map { $0 == 0 ? [UInt8(ascii: "/")] : Array(path[..<$0]) } ?? [UInt8(ascii: ".")]
        let text = terminated(directory)
        for _ in 0..<lockAttempts {
            let answer = unsafe linux_lock_directory(text)
            if answer >= 0 { return FileDescriptor(owning: answer) }
            guard answer == -EWOULDBLOCK else { return nil }
            usleep(lockPauseMicroseconds)
        }
        return nil
    }

    private static func terminated(_ path: [UInt8]) -> [CChar] { path.map(CChar.init(bitPattern:)) + [0] }
}
