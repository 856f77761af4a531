import Glibc
import Options
import Synchronization

/// The file of `--cursor-file`: one line with the newest cursor, so that another run resumes there.
///
/// A cursor is stored after its events were written to standard output, never before: a kill in between duplicates a message, and
/// leaves no gap. The file is replaced as a whole (a new file, fsync, rename), so a reader finds the old cursor or the new one.
/// The folder is not synchronised: after a power failure the older cursor does no harm.
final class CursorFile: Sendable {
    private struct State {
        /// How many batches of output wait after the one being written.
        var waiting = 0
        var savedAt: ContinuousClock.Instant?
        var hasFailed = false
    }

    /// Cursors have some 64 bytes, with many partitions a few thousand.
    private static let maximumBytes = 16 * 1024
    /// How often the cursor is stored while output keeps waiting, because an fsync may last longer than a write.
    private static let maximumDelay = Duration.seconds(1)

    private let path: String
    private let state = Mutex(State())

    init(_ path: String) { self.path = path }

    /// Returns the cursor that an earlier run has stored; nil if the file is missing or empty.
    func read() throws(StartProblem) -> String? {
        let bytes: [UInt8]
        do throws(BoundedFile.Unreadable) {
            bytes = try BoundedFile.read(path, maximumBytes: Self.maximumBytes, followsLinks: false)
        } catch {
            if error.isMissing { return nil }
            throw .unreadable("cannot read \(path.printable): \(error.reason)")
        }
        var text = bytes[...]
        while let last = text.last, last <= 0x20 { text.removeLast() }
        guard text.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .unreadable("\(path.printable) holds no cursor")
        }
        return text.isEmpty ? nil : String(decoding: text, as: UTF8.self)
    }

    /// Notes that output with a cursor after it was passed to the writer.
    func announce() { state.withLock { $0.waiting += 1 } }

    /// That output is written. Stores the cursor, unless more output with a newer one follows at once.
    ///
    /// - Returns: the error, if it could not be stored; reported once.
    func keep(_ cursor: String) -> String? {
        let isDue = state.withLock { state in
            state.waiting -= 1
            guard !state.hasFailed else { return false }
            let isLate = state.savedAt.map { .now - $0 >= Self.maximumDelay } ?? true
            guard state.waiting == 0 || isLate else { return false }
            state.savedAt = .now
            return true
        }
        guard isDue, let problem = replace(Array((cursor + "\n").utf8)) else { return nil }
        state.withLock { $0.hasFailed = true }
        return problem
    }

    /// Whether a cursor could not be stored. The run then ends, with a status for it.
    var hasFailed: Bool { state.withLock { $0.hasFailed } }

    /// The corresponding C functions are open, write, fsync and rename.
    ///
    /// The new file must not exist before, and must not be a link: in a shared folder another user may have put one there that
    /// leads to another file of ours. A file that an earlier run left is removed; of a link, only the link and not its target.
    private func replace(_ bytes: [UInt8]) -> String? {
        let new = path + ".new"
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        var descriptor = unsafe open(new, flags, 0o644)
        if descriptor < 0, errno == EEXIST {
            guard unsafe unlink(new) == 0 else { return failure(errno) }
            descriptor = unsafe open(new, flags, 0o644)
        }
        guard descriptor >= 0 else { return failure(errno) }
        let problem = WholeWrite.write(bytes, to: descriptor)
        guard problem == 0 else { return abandon(descriptor, problem) }
        guard fsync(descriptor) == 0 else { return abandon(descriptor, errno) }
        close(descriptor)
        guard unsafe rename(new, path) == 0 else { return failure(errno) }
        return nil
    }

    private func abandon(_ descriptor: Int32, _ error: Int32) -> String {
        close(descriptor)
        return failure(error)
    }

    private func failure(_ error: Int32) -> String {
        "cannot keep the cursor in \(path.printable): \(WholeWrite.reason(error))"
    }
}

/// A file with one token. It is read again at each connection and before the token of a stream ends, because tokens expire.
enum TokenFile {
    /// Tokens have a few hundred bytes. A file larger than a request may be is not a token.
    private static let maximumBytes = 16 * 1024

    /// The token, without the blanks and line ends around it.
    static func token(_ path: String) throws(StartProblem) -> String {
        let bytes: [UInt8]
        do throws(BoundedFile.Unreadable) {
            bytes = try BoundedFile.readText(path, maximumBytes: maximumBytes)
        } catch {
            throw .unreadable("cannot read \(path.printable): \(error.reason)")
        }
        var token = bytes[...]
        while let last = token.last, last <= 0x20 { token.removeLast() }
        while let first = token.first, first <= 0x20 { token.removeFirst() }
        guard !token.isEmpty, token.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .unreadable("\(path.printable) holds no token")
        }
        return String(decoding: token, as: UTF8.self)
    }
}

/// A file that is written as a whole.
enum OutputFile {
    /// Writes the file; returns the error, nil on success. The corresponding C functions are open, write and close.
    static func write(_ text: String, to path: String) -> String? {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { return "cannot write \(path.printable): \(WholeWrite.reason(errno))" }
        var problem = WholeWrite.write(Array(text.utf8), to: descriptor)
        if close(descriptor) != 0, problem == 0 { problem = errno }
        return problem == 0 ? nil : "cannot write \(path.printable): \(WholeWrite.reason(problem))"
    }
}
