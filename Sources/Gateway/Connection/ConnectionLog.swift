import Balancer
import Glibc
import Logging
import Reactor
import Synchronization
import Tokens

/// Log lines about connections that never became streams, or broke a limit, at a limited rate: one line in 10 s for each cause,
/// however many loops see it. At level debug each of them is a line. A failure to accept is logged once a minute.
final class ConnectionLog: Sendable {
    let logger: Logger
    private let limiter = RateLimiter()
    /// A process without free descriptors lacks them for minutes; each line states how many connections that cost.
    private let acceptLimiter = RateLimiter(interval: .seconds(60))
    /// Not accepted since the last line, on all loops.
    private let notAccepted = Atomic<Int>(0)

    init(logger: Logger) {
        self.logger = logger
    }

    /// A request was refused with a status and its stable code. `now` is monotonic, in milliseconds.
    ///
    /// - Parameter reason: why its token is refused, as the metrics name it; nil where it is refused for something else.
    func refused(_ code: String, _ status: Int, _ client: ClientAddress, reason: String? = nil, now: UInt64) {
        log("request refused", cause: reason.map { "\(code) \($0)" } ?? code, now: now) { suppressed in
            [
                .peer: .text("\(client)"), .status: .number(status), .code: .text(code),
                .reason: reason.map { .text($0) } ?? .absent, .suppressed: suppressed,
            ]
        }
    }

    /// A page may not ask here: it is foreign, or it is ours and missing in the settings.
    func originRefused(_ origin: [UInt8], _ client: ClientAddress, now: UInt64) {
        log("request refused: its page's origin is not listed", cause: "origin", .notice, now: now) { suppressed in
            [
                .peer: .text("\(client)"),
                .origin: .text(String(decoding: origin.prefix(Self.maximumOriginBytes), as: UTF8.self)),
                .advice: "if this is your own page, add it to auth.origins", .suppressed: suppressed,
            ]
        }
    }

    /// A scheme, a name of a host, which has at most 253 bytes (RFC 1035 §2.3.4), and a port.
    private static let maximumOriginBytes = 270

    /// The client of an open stream has sent a token with which it cannot go on.
    func nextTokenRefused(_ reason: String, _ account: String, _ client: ClientAddress, now: UInt64) {
        log("the next token of a stream is refused", cause: "next token \(reason)", now: now) { suppressed in
            [
                .peer: .text("\(client)"), .account: .text(account), .reason: .text(reason), .suppressed: suppressed,
            ]
        }
    }

    /// TLS ended a connection: in its handshake, mostly.
    func tlsFailed(_ reason: String, _ detail: String, _ client: ClientAddress, now: UInt64) {
        log("TLS failed", cause: reason, now: now) { suppressed in
            [
                .peer: .text("\(client)"), .reason: .text(reason), .error: .text(detail), .suppressed: suppressed,
            ]
        }
    }

    /// A client was refused because a limit is reached. A limit that refuses all clients is a warning.
    func limited(_ limit: ConnectionLimit, _ identity: Identity?, _ client: ClientAddress, now: UInt64) {
        log(
            limit.isOfNode ? "clients are refused: the node is at a limit" : "client refused: it is at a limit",
            cause: limit.name.rawValue, limit.isOfNode ? .warning : .info, now: now
        ) { suppressed in
            let refusal = limit.refusal
            return [
                .peer: .text("\(client)"), .account: identity.map { .text($0.account.text) } ?? .absent,
                .subject: identity?.subject.map { .text($0) } ?? .absent, .status: .number(refusal.status),
                .code: .text(refusal.code.rawValue), .limit: .text("\(limit)"),
                .advice: limit.isOfNode ? "add a node, or raise the limit if this node has capacity left" : .absent,
                .suppressed: suppressed,
            ]
        }
    }

    /// A client was closed because it sent more than a limit allows; `limit` is a sentence with its name and value.
    func sentTooMuch(_ limit: String, _ account: String, _ client: ClientAddress, now: UInt64) {
        log("client closed: it sent too much", cause: "sent too much", now: now) { suppressed in
            [
                .peer: .text("\(client)"), .account: .text(account), .limit: .text(limit), .suppressed: suppressed,
            ]
        }
    }

    /// A connection was closed for its PROXY header: the balancer and this node disagree, or a client bypasses the balancer.
    func proxyHeaderRejected(_ why: ProxyHeaderRejection, _ peer: ClientAddress, now: UInt64) {
        guard let passed = limiter.pass(why.rawValue, now: now) else { return }
        logger.warning(
            "connection closed: no PROXY header from a trusted peer",
            [
                .peer: .text("\(peer)"), .reason: .text(why.rawValue), .advice: .text(why.advice),
                .suppressed: passed.suppressed,
            ])
    }

    private func log(
        _ sentence: StaticString, cause: String, _ level: LogLevel = .info, now: UInt64,
        _ facts: (_ suppressed: LogValue) -> Logger.Facts
    ) {
        if logger.isEnabled(.debug) { return logger.log(level == .info ? .debug : level, sentence, facts(.absent)) }
        guard logger.isEnabled(level), let passed = limiter.pass(cause, now: now) else { return }
        logger.log(level, sentence, facts(passed.suppressed))
    }

    /// A listener cannot accept.
    func cannotAccept(_ trouble: AcceptTrouble, now: UInt64) {
        notAccepted.add(trouble.refusedConnections, ordering: .relaxed)
        guard acceptLimiter.pass("\(trouble.address) \(trouble.failure.code)", now: now) != nil else { return }
        logger.error(
            Self.sentence(trouble.failure.code),
            [
                .address: .text("\(trouble.address)"), .error: .text("\(trouble.failure)"),
                .count: .number(notAccepted.exchange(0, ordering: .relaxed)),
            ])
    }

    private static func sentence(_ code: Int32) -> StaticString {
        switch code {
        case EMFILE:
            "connections are refused: no descriptor is left for clients; raise the limit of open files (ulimit -n)"
        case ENFILE: "connections are refused: the machine has no descriptor left; raise fs.file-max"
        case ENOBUFS, ENOMEM:
            "connections wait: the kernel has no memory for them; raise net.ipv4.tcp_mem, or add a node"
        default: "connections cannot be accepted; see what the error names, accepting is tried again"
        }
    }
}
