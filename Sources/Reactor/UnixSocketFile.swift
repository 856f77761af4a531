import CLinux
import Glibc

/// The file of a Unix socket that listens. It is removed when the socket is released, if it is still the same file.
final class UnixSocketFile: Sendable {
    /// How often a start retries while another one runs in the same directory. Its bind and listen are microseconds apart.
    private static let lockAttempts = 50
    private static let lockPauseMicroseconds: UInt32 = 20_000

    private let path: [CChar]
    private let device: UInt64
    private let node: UInt64

    /// Remembers the file that `bind` has just created.
    init(_ path: [UInt8]) {
        self.path = Self.terminated(path)
        var (device, node) = (UInt64(0), UInt64(0))
        _ = unsafe linux_socket_file(self.path, &device, &node)
        self.device = device
        self.node = node
    }

    deinit {
        var (device, node) = (UInt64(0), UInt64(0))
        // A successor may have created its own file there: that one stays.
        if unsafe linux_socket_file(path, &device, &node) == 1, device == self.device, node == self.node {
            _ = unsafe linux_unlink(path)
        }
    }

    /// Removes the file that a dead process left, so that a socket can bind. A socket on which a process listens, and a file
    /// that is not a socket, stay, and are errors. Only a connect shows whether a process listens: the file alone does
    /// not.
    static func removeStale(_ path: [UInt8], _ syscalls: Syscalls) throws(ReactorError) {
        let address = SocketAddress.unix(path)
        let text = terminated(path)
        var (device, node) = (UInt64(0), UInt64(0))
        let kind = unsafe linux_socket_file(text, &device, &node)
        // bind will report an error of the path itself.
        guard kind >= 0 else { return }
        guard kind == 1 else { throw .notASocket(address) }
        let raw = syscalls.socket(address.family)
        guard raw >= 0 else { throw .system(SystemFailure(.socket, -raw)) }
        let probe = FileDescriptor(owning: raw)
        let answer = syscalls.connect(probe.raw, address)
        // Also EAGAIN (a full backlog) and EACCES: a process listens there, or it is unknown.
        guard answer == -ECONNREFUSED else {
            throw answer == -EACCES ? .permissionDenied(address) : .addressInUse(address)
        }
        let removed = unsafe linux_unlink(text)
        guard removed >= 0 || removed == -ENOENT else {
            throw removed == -EACCES || removed == -EPERM
                ? .permissionDenied(address) : .system(SystemFailure(.unlink, -removed))
        }
    }

    /// Locks the directory of a socket against other processes that start there. Nil if the directory cannot be locked; the
    /// start continues. Then only the race of two starts within microseconds stays possible.
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
