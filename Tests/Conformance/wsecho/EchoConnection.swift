import ConformancePeer
import Reactor
import Transport
import WebSocket

/// Joins a conversation and its transport. Confined to their loop.
final class EchoConnection: TransportOwner {
    /// Echoes wait for the peer to read them: over this nothing more is read from it.
    private static let maximumPendingBytes = 1 << 20

    private let transport: Transport<EchoConnection>
    private var conversation: EchoConversation

    init(_ transport: Transport<EchoConnection>, deflate: DeflatePolicy?) {
        self.transport = transport
        conversation = EchoConversation(deflate: deflate)
    }

    func transportReceived(_ bytes: Span<UInt8>) {
        conversation.receive(bytes, now: transport.shared.loop.now)
        send()
    }

    private func send() {
        // What was taken has to leave before more is: that is what keeps the answers to pings at one.
        guard !transport.isBlocked else { return }
        transport.write(conversation.takeOutput())
        if transport.pendingBytes > Self.maximumPendingBytes { transport.pauseReading() }
        if conversation.isOver { transport.close() }
    }

    func transportDrained() {
        transport.resumeReading()
        send()
    }

    func transportEnded(_ end: TransportEnd) {}
}
