import Glibc

/// Reads small files whole.
package enum BoundedFile {
    /// Why a file cannot be read.
    package struct Unreadable: Error, Hashable, CustomStringConvertible {
        package let path: String
        /// The system's words, or the limit that the file is over.
        package let reason: String
        package var description: String { "\(path): \(reason)" }
    }

    /// The bytes of the file; refused beyond the limit, so that a device or a log by mistake does not fill the memory.
    package static func read(_ path: String, maximumBytes: Int) throws(Unreadable) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw failure(path, errno) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
            let error = errno
            if count < 0, error == EINTR { continue }
            guard count >= 0 else { throw failure(path, error) }
            if count == 0 { return bytes }
            bytes.append(contentsOf: chunk.prefix(count))
            if bytes.count > maximumBytes {
                throw Unreadable(path: path, reason: "larger than the limit of \(maximumBytes) bytes")
            }
        }
    }

    /// Why a file that somebody else will open cannot be read, nil when it can.
    static func problem(_ path: String, takesFolder: Bool) -> String? {
        // Not blocking: a named pipe without a writer would keep us for ever.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        guard descriptor >= 0 else { return failure(path, errno).reason }
        defer { close(descriptor) }
        var facts = stat()
        guard unsafe fstat(descriptor, &facts) == 0 else { return failure(path, errno).reason }
        return facts.st_mode & S_IFMT == S_IFDIR && !takesFolder ? "it is a folder" : nil
    }

    private static func failure(_ path: String, _ error: Int32) -> Unreadable {
        Unreadable(path: path, reason: unsafe String(cString: strerror(error)))
    }
}
