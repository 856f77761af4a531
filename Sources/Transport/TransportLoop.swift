import Reactor
import TLS

/// Limits of the transports of one loop.
package struct TransportLimits: Sendable {
    /// From the start of a handshake to its end. The limit is absolute: bytes that trickle in do not extend it.
    package var handshakeMilliseconds: UInt64 = 10_000
    /// Handshake steps in one tick; the loop's time slice ends them too. A whole handshake of two steps costs 0.6 ms of CPU with
    /// a P-256 key and 0.8 ms with RSA 2048, more on a slower machine. Measured with OpenSSL 3.0, system calls included.
    /// So a storm of handshakes delays the connected clients by a millisecond or two.
    package var handshakesPerTick = 4
    /// Peers that wait for their turn. At 1,500 handshakes a second and loop, any more peers would miss their
    /// deadline.
    package var waitingHandshakes = 16_384
    /// The total bytes of all waiting peers: a ClientHello has 300 to 1,900 bytes, a hostile one has no limit of its
    /// own.
    package var waitingHandshakeBytes = 16 << 20
    /// How many bytes one waiting peer may send before reading stops.
    package var waitingBytesPerHandshake = 32 << 10

    package init() {}
}

/// Counts of the TLS connections of a loop since its start.
package struct TransportCounters: Equatable, Sendable {
    package internal(set) var handshakes = 0
    /// Of these, how many resumed an earlier session.
    package internal(set) var resumed = 0
    /// Those that were begun and failed.
    package internal(set) var failedHandshakes = 0
    private var failures = [Int](repeating: 0, count: TLSReason.allCases.count)

    package init() {}

    package subscript(reason: TLSReason) -> Int {
        get { failures[TLSReason.allCases.firstIndex(of: reason)!] }
        set { failures[TLSReason.allCases.firstIndex(of: reason)!] = newValue }
    }

    /// Adds the counters of another loop.
    package mutating func add(_ other: TransportCounters) {
        handshakes += other.handshakes
        resumed += other.resumed
        failedHandshakes += other.failedHandshakes
        for index in failures.indices { failures[index] += other.failures[index] }
    }
}

/// What the transports of one loop share: TLS buffers, the queue of handshakes, counters. Created once for each loop, and
/// confined to it.
package final class TransportLoop {
    package let loop: EventLoop
    /// A change applies from the next handshake on.
    package var limits: TransportLimits
    package internal(set) var counters = TransportCounters()
    /// Created with the first TLS transport.
    package private(set) lazy var exchange = TLSExchange()
    /// The buffer in which small writes are joined, so that they share a record.
    var record: [UInt8] = []

    private var waiting: [any HandshakeWaiting] = []
    private var nextWaiting = 0
    private var waitingBytes = 0
    private var hasTurn = false

    package init(loop: EventLoop, limits: TransportLimits = TransportLimits()) {
        self.loop = loop
        self.limits = limits
        record.reserveCapacity(TLSExchange.maximumRecordBytes)
    }

    /// Peers whose handshake waits for its turn.
    package var waitingHandshakes: Int { waiting.count - nextWaiting }

    /// A peer sent bytes in its handshake.
    ///
    /// Its turn comes in a separate tick, after the poller's events for connected clients, and in the order of
    /// arrival.
    ///
    /// - Returns: false if too many are waiting already.
    func enqueue(_ peer: any HandshakeWaiting) -> Bool {
        guard waitingHandshakes < limits.waitingHandshakes else { return false }
        waiting.append(peer)
        if !hasTurn {
            hasTurn = true
            loop.executeNextTick { [self] in runTurn() }
        }
        return true
    }

    /// Counts bytes that a waiting peer has sent; negative when they are used or dropped.
    ///
    /// - Returns: false, and counts nothing, if they are more than the limit allows.
    func account(_ bytes: Int) -> Bool {
        guard waitingBytes + bytes <= limits.waitingHandshakeBytes else { return false }
        waitingBytes += bytes
        return true
    }

    private func runTurn() {
        var steps = 0
        _ = loop.runSlice {
            let peer = waiting[nextWaiting]
            nextWaiting += 1
            steps += 1
            peer.continueHandshake()
            return steps < limits.handshakesPerTick && nextWaiting < waiting.count
        }
        if nextWaiting == waiting.count {
            waiting.removeAll(keepingCapacity: waiting.count <= limits.handshakesPerTick)
            nextWaiting = 0
            hasTurn = false
            return
        }
        // Peers that had their turn are removed before they are more than half of the list.
        if nextWaiting > waiting.count / 2 {
            waiting.removeFirst(nextWaiting)
            nextWaiting = 0
        }
        loop.executeNextTick { [self] in runTurn() }
    }
}

@available(*, unavailable) extension TransportLoop: Sendable {}

/// A transport whose peer waits for an answer in its handshake.
protocol HandshakeWaiting: AnyObject {
    func continueHandshake()
}
