import Reactor
import Terminal

/// Standard input, read on a loop of its own, because pipes, files and terminals alike can be waited for that way.
///
/// One piece is read for each request, so that a connection that does not keep up holds the sender back.
final class Input {
    /// One read.
    static let maximumPieceBytes = 64 * 1024

    private let loop: EventLoop
    private let reader: EventLoop
    private var isReading = false
    private var hasEnded = false
    /// Gets each piece; nil is the end.
    var received: ([UInt8]?) -> Void = { _ in }

    init(loop: EventLoop) throws(ReactorError) {
        self.loop = loop
        reader = try EventLoop(label: "input")
    }

    /// Asks for the next piece, unless that is under way.
    func request() {
        guard !isReading, !hasEnded else { return }
        isReading = true
        let bound = LoopBound(self, loop: loop)
        reader.execute {
            let piece = InputBytes.read(maximumBytes: Input.maximumPieceBytes)
            bound.loop.execute { bound.value.finish(piece) }
        }
    }

    private func finish(_ piece: [UInt8]?) {
        isReading = false
        hasEnded = piece == nil
        received(piece)
    }
}

@available(*, unavailable) extension Input: Sendable {}

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
