import ConformancePeer
import Reactor
import Transport

/// Joins a conversation and its transport, and tells when both are over. Confined to their loop.
final class CaseConnection: TransportOwner {
    /// The suite gives up on a case after at most 480 s by itself; this is for a suite that hangs.
    private static let limitMilliseconds: UInt64 = 600_000
    private static let maximumPendingBytes = 1 << 20

    private let transport: Transport<CaseConnection>
    private var conversation: CaseConversation
    private var fault: String?
    private let ended: (_ firstText: [UInt8]?, _ fault: String?) -> Void
    private var deadline: Timer?

    init(
        _ transport: Transport<CaseConnection>, _ conversation: consuming CaseConversation,
        ended: @escaping (_ firstText: [UInt8]?, _ fault: String?) -> Void
    ) {
        self.transport = transport
        self.conversation = conversation
        self.ended = ended
    }

    func transportOpened() {
        deadline = transport.shared.loop.schedule(afterMilliseconds: Self.limitMilliseconds) { [self] in
            deadline = nil
            fault = "no end after \(Self.limitMilliseconds / 1000) s"
            transport.close(afterFlush: false)
        }
        send()
    }

    func transportReceived(_ bytes: Span<UInt8>) {
        do {
            try conversation.receive(bytes, now: transport.shared.loop.now)
            send()
        } catch {
            fault = "\(error)"
            transport.close()
        }
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

    func transportEnded(_ end: TransportEnd) {
        if let deadline { transport.shared.loop.cancel(deadline) }
        if fault == nil, !conversation.isOpen { fault = "\(end)" }
        ended(conversation.firstText, fault)
    }
}
