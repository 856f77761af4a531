import Glibc
import Reactor

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
            let piece = Input.read()
            bound.loop.execute { bound.value.finish(piece) }
        }
    }

    private func finish(_ piece: [UInt8]?) {
        isReading = false
        hasEnded = piece == nil
        received(piece)
    }

    /// The corresponding C function is read. An input that is closed or fails has ended.
    private static func read() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: maximumPieceBytes)
        while true {
            let count = unsafe Glibc.read(STDIN_FILENO, &bytes, bytes.count)
            let failure = errno
            if count > 0 { return Array(bytes[..<count]) }
            if count == 0 { return nil }
            if failure == EAGAIN {
                var wait = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
                _ = unsafe poll(&wait, 1, -1)
            } else if failure != EINTR {
                return nil
            }
        }
    }
}

@available(*, unavailable) extension Input: Sendable {}
