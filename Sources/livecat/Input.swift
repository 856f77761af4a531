import Reactor
import Terminal

/// Standard input, read on its own loop, because with this a program can wait for pipes, files and terminals in the same way.
///
/// It reads one piece for each request, so that a slow connection makes the sender wait.
final class Input {
    /// The size of one read.
    static let maximumPieceBytes = 64 * 1024

    private let loop: EventLoop
    private let reader: EventLoop
    private var isReading = false
    private var hasEnded = false
    /// Receives each piece; nil means the end.
    var received: ([UInt8]?) -> Void = { _ in }

    init(loop: EventLoop) throws(ReactorError) {
        self.loop = loop
        reader = try EventLoop(label: "input")
    }

    /// Asks for the next piece, unless a read is running.
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

/// Cuts the input from a pipe into lines; each is a message.
struct LineSplitter {
    /// The lines that one piece of input completed.
    struct Lines: Equatable {
        var lines: [[UInt8]] = []
        /// Whether a line is longer than the largest message; nothing after it is read.
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

    /// The end of input: text after the last line end is a line too.
    mutating func end() -> [UInt8]? {
        defer { partial = [] }
        return partial.isEmpty ? nil : partial
    }
}
