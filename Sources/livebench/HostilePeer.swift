import Reactor
import Transport
import WebSocket

/// A hostile peer. Its request is the same as a client's; it differs only in what it does afterwards. Confined to its crowd's
/// loop.
final class HostilePeer {
    enum Manner: CaseIterable {
        /// Writes for ever, as fast as the gateway reads, and reads nothing.
        case writes
        /// Reads or writes a little once a second.
        case trickles
        /// Neither reads nor writes.
        case idles
    }

    /// How far its request gets.
    enum Approach: CaseIterable {
        /// Its request does not end.
        case request
        case webSocket
        case eventStream
        case sync
    }

    /// The size of one piece of its endless data.
    private static let pieceBytes = 16 * 1024

    let manner: Manner
    private let approach: Approach
    private let token: String
    private unowned let crowd: HostileCrowd
    private var transport: Transport<HostilePeer>?

    init(_ number: Int, token: String, crowd: HostileCrowd) {
        let (manners, approaches) = (Manner.allCases, Approach.allCases)
        manner = manners[number % manners.count]
        approach = approaches[number / manners.count % approaches.count]
        self.token = token
        self.crowd = crowd
    }

    func start(_ descriptor: consuming FileDescriptor, security: TransportSecurity, on shared: TransportLoop) {
        guard let transport = try? Transport<HostilePeer>(descriptor, security: security, on: shared) else { return }
        self.transport = transport
        transport.start(self)
    }

    func close() { transport?.close(afterFlush: false) }

    // MARK: - What it does

    private var request: [UInt8] {
        let path = approach == .sync ? "/sync/v1" : "/live/v1"
        var text = "GET \(path) HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\n"
        switch approach {
        case .webSocket:
            text += "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            text += "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        case .eventStream: text += "Accept: text/event-stream\r\n"
        case .request, .sync: break
        }
        return Array((approach == .request ? text : text + "\r\n").utf8)
    }

    /// One piece of its endless data: of a head, of requests, or of small messages.
    private lazy var piece: [UInt8] = {
        var part: [UInt8] = []
        switch approach {
        case .request, .eventStream: part = Array("X-Filler: \(String(repeating: "x", count: 100))\r\n".utf8)
        case .webSocket: FrameEncoder.append(.text, payload: [0x78].span, mask: MaskKey(0x5EED_5EED), to: &part)
        case .sync: part = request
        }
        return Array(repeatElement(part, count: max(1, Self.pieceBytes / part.count)).joined())
    }()

    /// For a peer that writes for ever: it adds nothing to what the gateway has not read yet.
    func writeOn() {
        guard let transport, transport.isOpen, transport.pendingBytes == 0 else { return }
        transport.write(piece)
    }

    /// Once a second.
    func trickle() {
        guard let transport else { return }
        if approach == .request { transport.write([0x78]) } else { transport.resumeReading() }
    }
}

extension HostilePeer: TransportOwner {
    func transportOpened() {
        transport?.pauseReading()
        transport?.write(request)
    }

    func transportReceived(_ bytes: Span<UInt8>) { transport?.pauseReading() }

    func transportEnded(_ end: TransportEnd) {
        transport = nil
        crowd.peerEnded(self)
    }
}

@available(*, unavailable)
extension HostilePeer: Sendable {}

/// The hostile peers, on a loop of their own. A peer that is cut connects again. Confined to the loop.
final class HostileCrowd {
    private static let writeEveryMilliseconds: UInt64 = 20
    private static let trickleEveryMilliseconds: UInt64 = 1_000
    /// From an end to the next attempt.
    private static let pauseMilliseconds: UInt64 = 100

    private let loop: EventLoop
    private let plan: CrowdPlan
    private let shared: TransportLoop
    private var peers: [HostilePeer] = []
    private var isClosed = false
    /// How many times the gateway has ended one of them.
    private(set) var ends = 0

    init(_ plan: CrowdPlan, loop: EventLoop) {
        self.plan = plan
        self.loop = loop
        shared = TransportLoop(loop: loop)
    }

    func open() {
        for number in 0..<plan.connections {
            let peer = HostilePeer(number, token: plan.tokens[number % plan.tokens.count], crowd: self)
            peers.append(peer)
            connect(peer)
        }
        writeOn()
        trickle()
    }

    private func connect(_ peer: HostilePeer) {
        guard !isClosed else { return }
        Connector.connect(to: .address(plan.address(0, visit: 0)), loop: loop) { [weak self] result in
            guard let self else { return }
            switch consume result {
            case .success(let descriptor): peer.start(descriptor, security: plan.security, on: shared)
            case .failure: comeAgain(peer)
            }
        }
    }

    func peerEnded(_ peer: HostilePeer) {
        guard !isClosed else { return }
        ends += 1
        comeAgain(peer)
    }

    private func comeAgain(_ peer: HostilePeer) {
        loop.schedule(afterMilliseconds: Self.pauseMilliseconds) { [weak self] in self?.connect(peer) }
    }

    private func writeOn() {
        guard !isClosed else { return }
        for peer in peers where peer.manner == .writes { peer.writeOn() }
        loop.schedule(afterMilliseconds: Self.writeEveryMilliseconds) { [weak self] in self?.writeOn() }
    }

    private func trickle() {
        guard !isClosed else { return }
        for peer in peers where peer.manner == .trickles { peer.trickle() }
        loop.schedule(afterMilliseconds: Self.trickleEveryMilliseconds) { [weak self] in self?.trickle() }
    }

    func close() {
        isClosed = true
        for peer in peers { peer.close() }
    }
}

@available(*, unavailable)
extension HostileCrowd: Sendable {}
