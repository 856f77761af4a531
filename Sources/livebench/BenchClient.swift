import HTTP
import Reactor
import TLS
import Transport
import WebSocket

/// One connection of the crowd: shakes hands, then counts messages. Confined to its loop.
final class BenchClient {
    private enum Phase {
        case handshake(ResponseParser)
        case open
        case ended
    }

    /// What it does with received bytes.
    enum Attention {
        case counts
        /// Reads the bytes and ignores them. What it counts afterwards begins with a whole frame only if no frame was incomplete.
        case discards
        /// Reads nothing: the kernel's buffers fill, and then the gateway's socket buffer.
        case stops
    }

    /// What it has received.
    struct Tally {
        var events = 0
        var resyncs = 0
        /// The newest event's time, in µs.
        var last: Int64 = 0
    }

    private unowned let crowd: Crowd
    private let request: [UInt8]
    private var phase = Phase.handshake(ResponseParser())
    private var transport: Transport<BenchClient>?
    private(set) var tally = Tally()
    private var attention = Attention.counts
    private var receiver = WebSocketReceiver(role: .client, limits: BenchClient.limits)

    /// Thin events are below 1 KiB; the rest is what every receiver must have.
    private static let limits = WebSocketLimits(maximumMessageBytes: 4096, maximumControlFramesPerSecond: 1000)

    init(crowd: Crowd, request: [UInt8]) {
        self.crowd = crowd
        self.request = request
    }

    /// - Parameter ticket: the ticket that resumes its former session.
    func start(
        _ descriptor: consuming FileDescriptor, security: TransportSecurity, ticket: TLSTicket?,
        on shared: TransportLoop
    ) {
        do {
            let transport = try Transport<BenchClient>(descriptor, security: security, on: shared)
            if let ticket { transport.resume(ticket) }
            self.transport = transport
            transport.start(self)
        } catch {
            crowd.clientFailed("\(error)")
        }
    }

    func turn(_ attention: Attention) {
        self.attention = attention
        tally = Tally()
        if attention == .stops { transport?.pauseReading() } else { transport?.resumeReading() }
    }

    /// Disconnects, which does not count as a loss.
    func close() {
        phase = .ended
        transport?.close(afterFlush: false)
    }

    /// Whether it shook hands with a ticket.
    var isResumed: Bool { transport?.agreement?.isResumed ?? false }

    /// The ticket for the next connection. With TLS 1.3 it comes after the handshake, before the first answer.
    var ticket: TLSTicket? { transport?.ticket }

    var hasEnded: Bool { if case .ended = phase { true } else { false } }

    private func receiveAnswer(_ bytes: Span<UInt8>, _ parser: ResponseParser) {
        var parser = parser
        switch parser.consume(bytes) {
        case .needMore: phase = .handshake(parser)
        case .head(let head, let consumed):
            guard head.status == 101 else { return fail("the handshake was answered with \(head.status)") }
            phase = .open
            crowd.clientOpened(self)
            receiveFrames(bytes.extracting(droppingFirst: consumed))
        case .failed(let fault): fail("\(fault)")
        }
    }

    private func receiveFrames(_ bytes: Span<UInt8>) {
        crowd.events.removeAll(keepingCapacity: true)
        receiver.receive(bytes, now: crowd.loop.now, into: &crowd.events)
        for event in crowd.events {
            switch event {
            case .message(_, let payload): take(payload)
            case .ping(let payload): answer(ping: payload)
            case .close(let code, _): return fail("closed with \(code.map { "\($0.rawValue)" } ?? "no code")")
            case .failed(let error): return fail("\(error)")
            case .pong(let payload): crowd.clientAnswered(ping: payload)
            case .discarded: break
            }
        }
    }

    private static let resyncMark = Array(#"{"resync""#.utf8)

    private func take(_ payload: [UInt8]) {
        if let time = BenchEvent.microseconds(in: payload) {
            tally.events += 1
            tally.last = time
            crowd.clientReceived(at: time)
        } else if payload.starts(with: Self.resyncMark) {
            tally.resyncs += 1
        }
    }

    /// Asks for a turn of the gateway's loop: RFC 6455 §5.5.2, the answer contains the time of the question, in µs.
    func ping() {
        guard case .open = phase else { return }
        write(.ping, Array("\(BenchEvent.now())".utf8))
    }

    private func answer(ping payload: [UInt8]) { write(.pong, payload) }

    private func write(_ opcode: Opcode, _ payload: [UInt8]) {
        var frame: [UInt8] = []
        // The mask is constant: no program between these two processes can be misled by it.
        FrameEncoder.append(opcode, payload: payload.span, mask: MaskKey(0x5EED_5EED), to: &frame)
        transport?.write(frame)
    }

    private func fail(_ reason: String) {
        transport?.close(afterFlush: false)
        end(reason)
    }

    private func end(_ reason: String) {
        defer { phase = .ended }
        switch phase {
        case .handshake: crowd.clientFailed(reason)
        case .open: crowd.clientLost(reason)
        case .ended: break
        }
    }
}

extension BenchClient: TransportOwner {
    func transportOpened() { transport?.write(request) }

    func transportReceived(_ bytes: Span<UInt8>) {
        switch phase {
        case .handshake(let parser): receiveAnswer(bytes, parser)
        case .open: if attention != .discards { receiveFrames(bytes) }
        case .ended: break
        }
    }

    func transportEnded(_ end: TransportEnd) {
        transport = nil
        self.end("\(end)")
    }
}

@available(*, unavailable)
extension BenchClient: Sendable {}
