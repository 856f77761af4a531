import CLinux

/// The descriptor for lines, and the lines that it did not accept.
///
/// A full file system accepts a part of the written bytes, or none. A line that was accepted in part is lost too, and the next
/// one begins on a line of its own.
struct LogOutput {
    /// Lines not reported yet: those that no reader read, and those that could not be written.
    var unread = 0
    var unwritten = 0
    /// The error number of the last write that failed.
    private(set) var failure: Int32 = 0
    private let descriptor: Int32
    private var isTorn = false

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Writes lines, each with its end. May wait for the reader.
    /// - Parameter count: the number of lines.
    /// - Returns: the number of lost lines.
    mutating func write(_ lines: [UInt8], count: Int) -> Int {
        let lost = isTorn && take([LogText.lineEnd]) == 0 ? count : count - take(lines)
        unwritten += lost
        return lost
    }

    /// Writes a line that reports lost ones. Returns whether it was written.
    mutating func report(_ line: [UInt8]) -> Bool {
        isTorn ? take([LogText.lineEnd] + line) == 2 : take(line) == 1
    }

    /// Returns how many line ends the descriptor accepted.
    private mutating func take(_ bytes: [UInt8]) -> Int {
        var written: UInt64 = 0
        let answer = unsafe bytes.withUnsafeBytes {
            unsafe linux_write_all(descriptor, $0.baseAddress, UInt64($0.count), &written)
        }
        if answer < 0 { failure = -answer }
        let taken = bytes[..<Int(written)]
        if let last = taken.last { isTorn = last != LogText.lineEnd }
        return taken.count { $0 == LogText.lineEnd }
    }
}
