import Glibc
import Options
import Reactor

/// Standard output and standard error, written on their own loop: a reader that stalls stops neither the connection's timers nor
/// a signal. What is written within one tick is passed on in one call, in order.
final class Output {
    enum Stream: Sendable {
        case standardOutput, standardError

        var descriptor: Int32 { self == .standardOutput ? STDOUT_FILENO : STDERR_FILENO }
    }

    private struct Piece: Sendable {
        let stream: Stream
        var bytes: [UInt8]
    }

    /// Above this limit the connection is not read any further, until half of it is written.
    static let maximumPendingBytes = 1 << 20

    private let loop: EventLoop
    private let writer: EventLoop
    private var batch: [Piece] = []
    private let cursorFile: CursorFile?
    /// The newest cursor of the batch.
    private var cursor: String?
    /// The bytes that standard output has not accepted yet.
    private(set) var pendingBytes = 0
    private(set) var isClosed = false
    /// Called when few enough bytes wait again.
    var drained: () -> Void = {}
    /// Called when standard output has no reader any more, or fails with another error.
    var failed: (_ error: Int32) -> Void = { _ in }

    /// Called when a cursor cannot be stored. The error was reported.
    var cursorFailed: () -> Void = {}

    init(loop: EventLoop, cursorFile: CursorFile? = nil) throws(ReactorError) {
        self.loop = loop
        self.cursorFile = cursorFile
        writer = try EventLoop(label: "output")
    }

    var isFull: Bool { pendingBytes > Self.maximumPendingBytes }

    func write(_ bytes: [UInt8], to stream: Stream) {
        guard !bytes.isEmpty, !(isClosed && stream == .standardOutput) else { return }
        requestFlush()
        if stream == .standardOutput { pendingBytes += bytes.count }
        if batch.last?.stream == stream {
            batch[batch.count - 1].bytes += bytes
        } else {
            batch.append(Piece(stream: stream, bytes: bytes))
        }
    }

    /// Stores a cursor in the file as soon as everything before it is written.
    func keep(_ cursor: String) {
        guard !isClosed else { return }
        requestFlush()
        self.cursor = cursor
    }

    private func requestFlush() {
        if batch.isEmpty && cursor == nil { loop.executeNextTick { self.flush() } }
    }

    private func flush() {
        let (pieces, cursor, cursorFile) = (batch, cursor, cursorFile)
        batch = []
        self.cursor = nil
        let bound = LoopBound(self, loop: loop)
        if cursor != nil { cursorFile?.announce() }
        writer.execute {
            var isWritten = true
            for piece in pieces {
                let error = WholeWrite.write(piece.bytes, to: piece.stream.descriptor)
                guard piece.stream == .standardOutput else { continue }
                if error != 0 { isWritten = false }
                let count = piece.bytes.count
                bound.loop.execute { bound.value.wrote(count, error: error) }
            }
            // Output that could not be written was not shown.
            guard isWritten, let cursor, let problem = cursorFile?.keep(cursor) else { return }
            // Written here, because the end may have begun already.
            _ = WholeWrite.write(Array("error: \(problem)\n".utf8), to: STDERR_FILENO)
            bound.loop.execute { bound.value.cursorFailed() }
        }
    }

    private func wrote(_ count: Int, error: Int32) {
        let wasFull = pendingBytes > Self.maximumPendingBytes / 2
        pendingBytes -= count
        if error != 0, !isClosed {
            isClosed = true
            failed(error)
        }
        if wasFull, pendingBytes <= Self.maximumPendingBytes / 2 { drained() }
    }

    /// Ends the process when everything is written.
    func finish(_ status: ExitStatus) {
        flush()
        let cursorFile = cursorFile
        writer.execute { exit(cursorFile?.hasFailed == true ? ExitStatus.output.code : status.code) }
    }
}

@available(*, unavailable) extension Output: Sendable {}
