import HTTP
import Reactor

extension ConnectionLoop {
    /// Accepts this loop's share of an address. Only on the loop.
    func listen(_ socket: ListeningSocket) throws(ReactorError) -> Listener {
        try Listener(
            socket, loop: eventLoop,
            accept: { self.accept($0, peer: $1) },
            overflow: { descriptor, _ in self.refuseForWantOfDescriptors(descriptor) },
            trouble: { self.log.cannotAccept($0, now: self.eventLoop.now) })
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
