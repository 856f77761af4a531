import CLinux
import Glibc

/// Reads small files whole.
package enum BoundedFile {
    /// Why a file cannot be read.
    package struct Unreadable: Error, Hashable, CustomStringConvertible {
        package let path: String
        /// The system's message, or the limit that the file exceeds.
        package let reason: String
        /// There is no file at this path.
        package let isMissing: Bool
        package var description: String { "\(path): \(reason)" }
        /// The same without the path, for a setting that names the file of a secret. A user may have written the secret itself
        /// there, and then no log may show it.
        package var withoutPath: String { Self.withoutPath(reason) }

        package static func withoutPath(_ reason: String) -> String { "the file that is named here: \(reason)" }

        init(path: String, reason: String, isMissing: Bool = false) {
            self.path = path
            self.reason = reason
            self.isMissing = isMissing
        }
    }

    /// The bytes of the file. It is refused beyond the limit, so that a device or a log by mistake does not fill the memory.
    ///
    /// Blocks until the file has been read.
    ///
    /// - Parameter followsLinks: false refuses a symbolic link, which in a shared folder may belong to another user.
    package static func read(
        _ path: String, maximumBytes: Int, followsLinks: Bool = true
    ) throws(Unreadable) -> [UInt8] {
        var answer: Int64 = 0
        // One byte over the limit shows that a file is too large.
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: maximumBytes + 1) { room, count in
            let (start, size) = (room.baseAddress, UInt64(room.count))
            answer =
                unsafe followsLinks ? linux_read_file(path, start, size) : linux_read_plain_file(path, start, size)
            count = Int(max(0, answer))
        }
        guard answer >= 0 else { throw failure(path, Int32(-answer)) }
        guard bytes.count <= maximumBytes else {
            throw Unreadable(path: path, reason: "larger than the limit of \(maximumBytes) bytes")
        }
        // A copy as large as the file, because the buffer for the limit may be many times larger.
        return unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }
    }

    /// The same for a file that people write: a byte order mark, which some editors write, is left out.
    package static func readText(_ path: String, maximumBytes: Int) throws(Unreadable) -> [UInt8] {
        let bytes = try read(path, maximumBytes: maximumBytes)
        return bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    }

    /// Why a file that another program will open cannot be read; nil if it can.
    package static func problem(_ path: String, takesFolder: Bool) -> String? {
        // Not blocking: a named pipe without a writer would block for ever.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        guard descriptor >= 0 else { return failure(path, errno).reason }
        defer { close(descriptor) }
        var facts = stat()
        guard unsafe fstat(descriptor, &facts) == 0 else { return failure(path, errno).reason }
        return facts.st_mode & S_IFMT == S_IFDIR && !takesFolder ? "it is a folder" : nil
    }

    /// Whether it is a regular file, or a link to one; nil if there is nothing, or nothing that is visible to us.
    package static func isRegular(_ path: String) -> Bool? {
        var facts = stat()
        guard unsafe stat(path, &facts) == 0 else { return nil }
        return facts.st_mode & S_IFMT == S_IFREG
    }

    /// Whether every user of this machine can read the file, by its own mode and through each folder on its path. False if that
    /// is unknown.
    package static func isOpenToAll(_ path: String) -> Bool {
        guard let found = unsafe realpath(path, nil) else { return false }
        var resolved = unsafe String(cString: found)
        unsafe free(found)
        var facts = stat()
        guard unsafe stat(resolved, &facts) == 0, facts.st_mode & S_IROTH != 0 else { return false }
        while let slash = resolved.lastIndex(of: "/"), resolved != "/" {
            resolved = slash == resolved.startIndex ? "/" : String(resolved[..<slash])
            guard unsafe stat(resolved, &facts) == 0, facts.st_mode & S_IXOTH != 0 else { return false }
        }
        return true
    }

    private static func failure(_ path: String, _ error: Int32) -> Unreadable {
        Unreadable(path: path, reason: WholeWrite.reason(error), isMissing: error == ENOENT)
    }
}
