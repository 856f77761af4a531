import Reactor
import Transport
import WebSocket

/// What happened on one loop since the start.
struct LoopCounters: Sendable {
    var accepted: UInt64 = 0
    var opened: UInt64 = 0
    /// Streams that began, and requests to `/sync/v1` that were admitted.
    var handshakes: UInt64 = 0
    /// Of these, those that have not ended, by kind.
    var open = [Int](repeating: 0, count: DeliveryCounts.Kind.allCases.count)
    var deliveries: UInt64 = 0
    /// TLS handshakes in full, those that resumed a session, and those that began and failed.
    var tlsFull: UInt64 = 0
    var tlsResumed: UInt64 = 0
    var tlsFailed: UInt64 = 0
    /// Connections that did not begin with a PROXY header of a trusted peer where one is expected.
    var proxyHeadersRejected: UInt64 = 0
    /// Connections that were ended before TLS, by ``EarlyClose``.
    var earlyCloses: [String: UInt64] = [:]
    /// Refused requests by their stable code.
    var refusals: [String: UInt64] = [:]
    /// Refused tokens of requests and open streams, by ``TokenRefusal/Reason``.
    var tokenRefusals: [String: UInt64] = [:]
    /// How they ended, by ``CloseLabel``.
    var closes: [String: UInt64] = [:]
    /// Resyncs that were sent, by reason.
    var resyncs: [String: UInt64] = [:]
    /// Ends of the transport by reason.
    var ends: [String: UInt64] = [:]

    mutating func begin(_ kind: DeliveryCounts.Kind) {
        handshakes += 1
        open[kind.rawValue] += 1
    }

    mutating func end(_ kind: DeliveryCounts.Kind, _ label: String) {
        open[kind.rawValue] -= 1
        closes[label, default: 0] += 1
    }

    mutating func count(_ early: EarlyClose) { earlyCloses[early.rawValue, default: 0] += 1 }

    mutating func count(_ end: TransportEnd) {
        ends[end.countedAs, default: 0] += 1
    }

    static func + (a: LoopCounters, b: LoopCounters) -> LoopCounters {
        var sum = a
        sum.accepted += b.accepted
        sum.opened += b.opened
        sum.proxyHeadersRejected += b.proxyHeadersRejected
        sum.handshakes += b.handshakes
        for index in sum.open.indices { sum.open[index] += b.open[index] }
        sum.deliveries += b.deliveries
        sum.tlsFull += b.tlsFull
        sum.tlsResumed += b.tlsResumed
        sum.tlsFailed += b.tlsFailed
        sum.earlyCloses.merge(b.earlyCloses, uniquingKeysWith: +)
        sum.refusals.merge(b.refusals, uniquingKeysWith: +)
        sum.tokenRefusals.merge(b.tokenRefusals, uniquingKeysWith: +)
        sum.closes.merge(b.closes, uniquingKeysWith: +)
        sum.resyncs.merge(b.resyncs, uniquingKeysWith: +)
        sum.ends.merge(b.ends, uniquingKeysWith: +)
        return sum
    }
}

/// Why a connection was closed before TLS, where no answer is possible.
enum EarlyClose: String, CaseIterable {
    /// No descriptor is left for clients.
    case descriptors
    /// The address has as many connections as it may.
    case address
    /// The node has had as many handshakes as it may in this second.
    case rate

    init(_ limit: ConnectionLimit) { self = limit.name == .handshakes ? .rate : .address }
}

/// Under which name the end of a stream or a wait is counted.
enum CloseLabel {
    /// The connection ended without a close.
    static let cut = "cut"
    /// A close frame without a code.
    static let none = "none"
    /// A code that the protocol does not list.
    static let other = "other"
    /// A request to `/sync/v1` that was answered.
    static let answered = "\(CloseCode.normal.rawValue)"

    static let all = CloseCode.table.map { "\($0.code.rawValue)" } + [none, cut, other]

    /// What we sent always has a name, what came has one where the protocol lists it.
    static func of(_ code: CloseCode, isOurs: Bool) -> String {
        if code == .noStatus { return none }
        return isOurs || CloseCode.table.contains { $0.code == code } ? "\(code.rawValue)" : other
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
