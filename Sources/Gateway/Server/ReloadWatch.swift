import GatewaySettings
import Synchronization

/// Checks the files repeatedly and decides when settings are to be read again. They must differ from what was last read, and
/// two checks must agree. A single check may see a file that is half written.
struct ReloadWatch {
    /// What was there when settings were last read, with any result: a broken file is not read again and again.
    private var read: FileMarks
    /// The result of the last check, if it differed.
    private var seen: FileMarks?

    init(read marks: FileMarks) { read = marks }

    /// The files to check.
    var files: some Sequence<NamedFile> { read.keys }

    /// Whether settings are to be read again.
    mutating func check(_ marks: FileMarks) -> Bool {
        let before = exchange(&seen, with: marks == read ? nil : marks)
        return seen != nil && seen == before
    }

    /// Settings were read again, for whatever reason.
    mutating func wasRead(_ marks: FileMarks) {
        read = marks
        seen = nil
    }
}

/// How often settings were read again, and the last result. Any thread may ask.
package final class ReloadRecord: Sendable {
    package struct Counts: Equatable, Sendable {
        package var succeeded: UInt64 = 0
        package var failed: UInt64 = 0
        /// Why the last one failed, with the file; nil when it did not, or there was none.
        package var problem: String?
    }

    private let kept = Mutex(Counts())

    package init() {}

    package var counts: Counts { kept.withLock { $0 } }

    func count(_ problem: String?) {
        kept.withLock {
            if problem == nil { $0.succeeded += 1 } else { $0.failed += 1 }
            $0.problem = problem
        }
    }
}
