/// What one peer may ask of a receiver; over a limit the connection is failed.
package struct WebSocketLimits: Sendable, Hashable {
    /// Bytes of one message, over all of its fragments and after inflation: what a hostile peer can make us hold.
    package var maximumMessageBytes: Int
    /// Frames of one message, empty ones included: these cost work without counting as bytes.
    package var maximumFragments: Int
    /// Pings and pongs within a second: each costs an answer, or timers that are set again.
    package var maximumControlFramesPerSecond: Int
    /// Frames of messages within a second, fragments counted one by one. A peer to which nobody listens has no use for many.
    package var maximumMessagesPerSecond: Int
    /// Bytes within a second, as they stand on the wire: headers, and control frames with them. Empty frames cost work
    /// without bytes, large ones bytes without frames: each has a limit.
    package var maximumInboundBytesPerSecond: Int
    /// From the first frame of a message to its last byte, in milliseconds; checked when something comes. One that is not
    /// whole holds memory, compressed up to 44 KiB for the inflater; a peer that says nothing at all is found by its pongs.
    package var maximumMessageMilliseconds: UInt64
    /// What one call of a session reads before others have their turn; what is left waits for the next call.
    package var turn: Turn

    /// The work of one turn. Bytes that came bound neither: an empty frame has 6 of them, and 20 may inflate to 4 KiB.
    package struct Turn: Sendable, Hashable {
        package var maximumFrames: Int
        /// Bytes after inflation; the message that goes over it is read to the end of what came of it.
        package var maximumInflatedBytes: Int

        package init(maximumFrames: Int, maximumInflatedBytes: Int) {
            precondition(maximumFrames >= 1 && maximumInflatedBytes >= 1)
            self.maximumFrames = maximumFrames
            self.maximumInflatedBytes = maximumInflatedBytes
        }

        /// For a connection that has its loop for itself.
        package static let unlimited = Turn(maximumFrames: .max, maximumInflatedBytes: .max)
        /// For one of many on a loop: some 100 µs (an empty frame takes 0.1 µs, a KiB of inflated bytes 2 µs).
        package static let shared = Turn(maximumFrames: 512, maximumInflatedBytes: 64 * 1024)
    }

    package init(
        maximumMessageBytes: Int = 4096, maximumFragments: Int = 512, maximumControlFramesPerSecond: Int = 100,
        maximumMessagesPerSecond: Int = .max, maximumInboundBytesPerSecond: Int = .max,
        maximumMessageMilliseconds: UInt64 = .max, turn: Turn = .unlimited
    ) {
        precondition(maximumMessageBytes >= 0 && maximumFragments >= 1)
        precondition(maximumControlFramesPerSecond >= 1 && maximumMessagesPerSecond >= 1)
        precondition(maximumInboundBytesPerSecond >= 1)
        self.maximumMessageBytes = maximumMessageBytes
        self.maximumFragments = maximumFragments
        self.maximumControlFramesPerSecond = maximumControlFramesPerSecond
        self.maximumMessagesPerSecond = maximumMessagesPerSecond
        self.maximumInboundBytesPerSecond = maximumInboundBytesPerSecond
        self.maximumMessageMilliseconds = maximumMessageMilliseconds
        self.turn = turn
    }

    /// The most bytes of a message on the wire that may have so many when it is inflated. Deflate adds 5 bytes to a block
    /// of up to 64 KiB that does not shrink, and 5 to each flush, so an eighth more and 1 KiB serves any honest sender;
    /// without a bound, empty blocks would be work without end that gives no byte of output.
    static func compressedBytes(of maximumBytes: Int) -> Int {
        let (sum, overflow) = maximumBytes.addingReportingOverflow(maximumBytes / 8 + 1024)
        return overflow ? .max : sum
    }
}

/// What becomes of the payload of messages.
package enum PayloadPolicy: Sendable, Hashable {
    /// Collected and given with the event.
    case deliver
    /// Checked against every rule and limit, but never held: one that only sends reads its peer at no cost in memory.
    case discard
    /// Text that begins like a JSON object is collected and given with the event, up to so many bytes, even where that is
    /// over the limit of messages: the owner asked for one such message, and judges of any other whether it is too large.
    /// All else is as with `discard`.
    case objects(maximumBytes: Int)
}

/// What came within the running second.
struct InboundRate {
    /// The lowest bits of the time in ms: whoever says nothing for 50 days and then goes on within the same second
    /// counts on.
    private var since: UInt32 = 0
    private var control: UInt32 = 0
    private var data: UInt32 = 0
    private var bytes: UInt32 = 0

    mutating func countControl(now: UInt64, _ limits: WebSocketLimits) throws(WebSocketError) {
        let limit = limits.maximumControlFramesPerSecond
        begin(now: now)
        guard control < limit else { throw .tooManyControlFrames(limit: limit) }
        control &+= 1
    }

    mutating func countMessageFrame(now: UInt64, _ limits: WebSocketLimits) throws(WebSocketError) {
        let limit = limits.maximumMessagesPerSecond
        begin(now: now)
        guard data < limit else { throw .tooManyMessages(limit: limit) }
        data &+= 1
    }

    mutating func bytesLeft(now: UInt64, _ limits: WebSocketLimits) -> Int {
        begin(now: now)
        return max(0, limits.maximumInboundBytesPerSecond - Int(bytes))
    }

    /// Of the second in which ``bytesLeft(now:_:)`` was asked.
    mutating func countBytes(_ count: Int) { bytes = UInt32(clamping: Int(bytes) + count) }

    private mutating func begin(now: UInt64) {
        let now = UInt32(truncatingIfNeeded: now)
        guard now &- since >= 1000 else { return }
        (since, control, data, bytes) = (now, 0, 0, 0)
    }
}
