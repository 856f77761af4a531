/// Cuts what comes from a pipe into lines, a message each.
struct LineSplitter {
    /// What one piece of input gave.
    struct Lines: Equatable {
        var lines: [[UInt8]] = []
        /// A line is longer than the largest message; nothing after it is read.
        var isTooLong = false
    }

    let maximumLineBytes: Int
    private var partial: [UInt8] = []
    private(set) var isEmpty = true

    init(maximumLineBytes: Int) { self.maximumLineBytes = maximumLineBytes }

    mutating func split(_ bytes: [UInt8]) -> Lines {
        var result = Lines()
        if !bytes.isEmpty { isEmpty = false }
        var start = 0
        while let end = bytes[start...].firstIndex(of: 0x0A) {
            partial += bytes[start..<end]
            start = end + 1
            guard partial.count <= maximumLineBytes else { return Lines(lines: result.lines, isTooLong: true) }
            result.lines.append(partial)
            partial = []
        }
        partial += bytes[start...]
        result.isTooLong = partial.count > maximumLineBytes
        return result
    }

    /// The end of input: what stands behind the last line end is a line too.
    mutating func end() -> [UInt8]? {
        defer { partial = [] }
        return partial.isEmpty ? nil : partial
    }
}
