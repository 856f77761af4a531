import Reactor
import TLS

/// Limits of the transports of one loop.
package struct TransportLimits: Sendable {
    /// From the start of a handshake to its end, absolute: bytes that trickle in do not prolong it.
    package var handshakeMilliseconds: UInt64 = 10_000
    /// Handshake steps in one tick, which end with a slice of the loop's time too. A whole handshake, of two steps, takes 0.6
    /// ms of CPU with a key of P-256 and 0.8 ms with RSA 2048 (measured with OpenSSL 3.0, system calls included), on a slower
    /// machine more: a storm of handshakes delays those who are connected by a millisecond or two.
    package var handshakesPerTick = 4
    /// Peers that wait for their turn. At 1,500 handshakes a second and loop those beyond it would miss their
    /// deadline.
    package var waitingHandshakes = 16_384
    /// What all waiting peers have sent, together: a ClientHello has 300 to 1,900 bytes, a hostile one as much as it
    /// likes.
    package var waitingHandshakeBytes = 16 << 20
    /// What one waiting peer may send before it is read no further.
    package var waitingBytesPerHandshake = 32 << 10

    package init() {}
}

/// What has happened to the TLS connections of a loop since it began.
package struct TransportCounters: Equatable, Sendable {
    package internal(set) var handshakes = 0
    /// Of these, how many resumed a former session.
    package internal(set) var resumed = 0
    /// Those that were begun and came to nothing.
    package internal(set) var failedHandshakes = 0
    private var failures = [Int](repeating: 0, count: TLSReason.allCases.count)

    package init() {}

    package subscript(reason: TLSReason) -> Int {
        get { failures[TLSReason.allCases.firstIndex(of: reason)!] }
        set { failures[TLSReason.allCases.firstIndex(of: reason)!] = newValue }
    }

    /// Adds those of another loop.
    package mutating func add(_ other: TransportCounters) {
        handshakes += other.handshakes
        resumed += other.resumed
        failedHandshakes += other.failedHandshakes
        for index in failures.indices { failures[index] += other.failures[index] }
    }
}

/// What the transports of one loop share: TLS buffers, the queue of handshakes, counters. Made once for each loop, and
/// confined to it.
package final class TransportLoop {
    package let loop: EventLoop
    /// A change counts from the next handshake on.
    package var limits: TransportLimits
    package internal(set) var counters = TransportCounters()
    /// Made with the first TLS transport.
    package private(set) lazy var exchange = TLSExchange()
    /// Where small writes are put side by side, so that they share a record.
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

    /// A peer sent something in its handshake.
    ///
    /// Its turn comes in a tick of its own, behind what the poller has for those who are connected, and in the order
    /// of arrival.
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
        // Those who had their turn are let go before they are more than half of the list.
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
