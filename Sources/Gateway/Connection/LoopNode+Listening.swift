import HTTP
import Reactor

extension LoopNode {
    /// Accepts this loop's share of an address. Only on the loop.
    func listen(_ socket: ListeningSocket, troubles: AcceptTroubleLog) throws(ReactorError) -> Listener {
        try Listener(
            socket, loop: loop,
            accept: { [unowned self] descriptor, peer in accept(descriptor, peer: "\(peer)") },
            overflow: { [unowned self] descriptor, _ in refuseForWantOfDescriptors(descriptor) },
            trouble: { [unowned self] trouble in troubles.tell(trouble, now: loop.now) })
    }

    /// There is no descriptor but the spare one, which is needed again at once: one send, without a look at the request.
    /// A peer that begins with a TLS handshake is only closed.
    private func refuseForWantOfDescriptors(_ descriptor: consuming FileDescriptor) {
        counters.refusals[RefusalCode.overloaded.rawValue, default: 0] += 1
        guard case .plain = policy.security else { return }
        let refusal = Refusal(.overloaded, retryAfterSeconds: Self.retryAfterSeconds)
        descriptor.sendLastWords(refusal.serialized(date: httpDate()))
    }
}
