import Reactor
import Transport

/// What happened on one loop since the start.
struct LoopCounters: Sendable {
    var accepted: UInt64 = 0
    var opened: UInt64 = 0
    var deliveries: UInt64 = 0
    /// TLS handshakes in full, those that resumed a session, and those that were begun and came to nothing.
    var tlsFull: UInt64 = 0
    var tlsResumed: UInt64 = 0
    var tlsFailed: UInt64 = 0
    /// Connections that did not begin with a PROXY header of a trusted peer where one is expected.
    var proxyHeadersRejected: UInt64 = 0
    /// Refused requests by their stable code.
    var refusals: [String: UInt64] = [:]
    /// Closes that we began, by code.
    var closes: [UInt16: UInt64] = [:]
    /// Resyncs that were sent, by reason.
    var resyncs: [String: UInt64] = [:]
    /// Ends of the transport by reason.
    var ends: [String: UInt64] = [:]

    mutating func count(_ end: TransportEnd) {
        ends[end.countedAs, default: 0] += 1
    }

    static func + (a: LoopCounters, b: LoopCounters) -> LoopCounters {
        var sum = a
        sum.accepted += b.accepted
        sum.opened += b.opened
        sum.proxyHeadersRejected += b.proxyHeadersRejected
        sum.deliveries += b.deliveries
        sum.tlsFull += b.tlsFull
        sum.tlsResumed += b.tlsResumed
        sum.tlsFailed += b.tlsFailed
        sum.refusals.merge(b.refusals, uniquingKeysWith: +)
        sum.closes.merge(b.closes, uniquingKeysWith: +)
        sum.resyncs.merge(b.resyncs, uniquingKeysWith: +)
        sum.ends.merge(b.ends, uniquingKeysWith: +)
        return sum
    }
}

extension TransportEnd {
    /// The name under which an end is counted: without what differs from one to the next.
    var countedAs: String {
        switch self {
        case .tls(let failure): "tls_\(failure.reason.rawValue)"
        case .stream(.peerClosed): "peer_closed"
        case .stream(.closed): "closed"
        case .stream(.aborted): "aborted"
        case .stream(.lingerExpired): "linger_expired"
        case .stream(.failed): "failed"
        case .stream(.loopStopped): "loop_stopped"
        }
    }
}
