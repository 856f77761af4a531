import Glibc
import Options
import Reactor

/// Standard output and standard error, written on a loop of their own: a reader that stalls stops neither the
/// connection's timers nor a signal. What is written within a tick leaves in one call, in its order.
final class Output {
    enum Stream: Sendable {
        case standardOutput, standardError

        var descriptor: Int32 { self == .standardOutput ? STDOUT_FILENO : STDERR_FILENO }
    }

    private struct Piece: Sendable {
        let stream: Stream
        var bytes: [UInt8]
    }

    /// Over it the connection is read no further, until the half of it is written.
    static let maximumPendingBytes = 1 << 20

    private let loop: EventLoop
    private let writer: EventLoop
    private var batch: [Piece] = []
    /// What standard output has not taken yet.
    private(set) var pendingBytes = 0
    private(set) var isClosed = false
    /// Called when little enough waits again.
    var drained: () -> Void = {}
    /// Called when nobody reads standard output any more, or it fails with another error than that.
    var failed: (_ error: Int32) -> Void = { _ in }

    init(loop: EventLoop) throws(ReactorError) {
        self.loop = loop
        writer = try EventLoop(label: "output")
    }

    var isFull: Bool { pendingBytes > Self.maximumPendingBytes }

    func write(_ bytes: [UInt8], to stream: Stream) {
        guard !bytes.isEmpty, !(isClosed && stream == .standardOutput) else { return }
        if batch.isEmpty { loop.executeNextTick { self.flush() } }
        if stream == .standardOutput { pendingBytes += bytes.count }
        if batch.last?.stream == stream {
            batch[batch.count - 1].bytes += bytes
        } else {
            batch.append(Piece(stream: stream, bytes: bytes))
        }
    }

    private func flush() {
        let pieces = batch
        batch = []
        let bound = LoopBound(self, loop: loop)
        writer.execute {
            for piece in pieces {
                let error = WholeWrite.write(piece.bytes, to: piece.stream.descriptor)
                guard piece.stream == .standardOutput else { continue }
                let count = piece.bytes.count
                bound.loop.execute { bound.value.wrote(count, error: error) }
            }
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
        writer.execute { exit(status.code) }
    }
}

@available(*, unavailable) extension Output: Sendable {}
