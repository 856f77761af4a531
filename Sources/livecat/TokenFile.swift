import Glibc
import Options

/// A file with one token, read anew at each connection, because tokens expire.
enum TokenFile {
    /// Tokens have a few hundred bytes; a file of more than a request may have is none.
    private static let maximumBytes = 16 * 1024

    /// The value of `Authorization`; what stands around the token (a line end) is left out.
    static func authorization(_ path: String) throws(StartProblem) -> String {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .unreadable("cannot read \(path.printable): \(reason(errno))") }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: maximumBytes + 1)
        var filled = 0
        while filled < bytes.count {
            let room = bytes.count - filled
            let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress! + filled, room) }
            let failure = errno
            if count < 0 && failure == EINTR { continue }
            guard count >= 0 else { throw .unreadable("cannot read \(path.printable): \(reason(failure))") }
            if count == 0 { break }
            filled += count
        }
        guard filled <= maximumBytes else { throw .unreadable("\(path.printable) is over \(maximumBytes) bytes") }
        var token = bytes[..<filled]
        while let last = token.last, last <= 0x20 { token.removeLast() }
        while let first = token.first, first <= 0x20 { token.removeFirst() }
        guard !token.isEmpty, token.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .unreadable("\(path.printable) holds no token")
        }
        return "Bearer " + String(decoding: token, as: UTF8.self)
    }

    private static func reason(_ number: Int32) -> String {
        unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
    }
}
