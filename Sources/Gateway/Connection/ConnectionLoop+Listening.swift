import Glibc
import HTTP
import Logging
import Reactor
import Synchronization

extension ConnectionLoop {
    /// Accepts this loop's share of an address. Only on the loop.
    func listen(_ socket: ListeningSocket, troubles: AcceptTroubleLog) throws(ReactorError) -> Listener {
        try Listener(
            socket, loop: eventLoop,
            accept: { [unowned self] descriptor, peer in accept(descriptor, peer: "\(peer)") },
            overflow: { [unowned self] descriptor, _ in refuseForWantOfDescriptors(descriptor) },
            trouble: { [unowned self] trouble in troubles.tell(trouble, now: eventLoop.now) })
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

/// Tells the operator that connections are being refused at the listeners: one line in 10 s for each address and cause,
/// however many loops listen there.
final class AcceptTroubleLog: Sendable {
    private let logger: Logger
    private let limiter = RateLimiter()
    /// Refused since the last line, on all loops.
    private let refused = Atomic<Int>(0)

    init(logger: Logger) {
        self.logger = logger
    }

    /// `now` is monotonic, in milliseconds.
    func tell(_ trouble: AcceptTrouble, now: UInt64) {
        refused.add(trouble.refusedConnections, ordering: .relaxed)
        guard limiter.pass("\(trouble.address) \(trouble.failure.code)", now: now) != nil else { return }
        logger.error(
            Self.sentence(trouble.failure.code),
            [
                .address: .text("\(trouble.address)"), .error: .text("\(trouble.failure)"),
                .count: .number(refused.exchange(0, ordering: .relaxed)),
            ])
    }

    private static func sentence(_ code: Int32) -> StaticString {
        switch code {
        case EMFILE: "connections are refused: no descriptor is left; raise the limit of open files (ulimit -n)"
        case ENFILE: "connections are refused: the machine has no descriptor left; raise fs.file-max"
        case ENOBUFS, ENOMEM: "connections wait: the kernel has no memory for them"
        default: "connections cannot be accepted"
        }
    }
}
