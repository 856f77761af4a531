/// The limits of a receiver for one peer. Over a limit the connection is failed.
package struct WebSocketLimits: Sendable, Hashable {
    /// Bytes of one message, over all its fragments and after inflation: the memory that a hostile peer can make us use.
    package var maximumMessageBytes: Int
    /// Frames of one message, including empty ones: they cost work without counting as bytes.
    package var maximumFragments: Int
    /// Pings and pongs within a second: each costs an answer, or sets timers again.
    package var maximumControlFramesPerSecond: Int
    /// Frames of messages within a second; each fragment counts. A peer whose messages are not used has no need for many.
    package var maximumMessagesPerSecond: Int
    /// Bytes within a second, as they are sent: including headers and control frames. Empty frames cost work without bytes,
    /// large ones bytes without frames: each has a limit.
    package var maximumInboundBytesPerSecond: Int
    /// From the first frame of a message to its last byte, in ms; checked when bytes arrive. An incomplete message uses memory,
    /// a compressed one up to 44 KiB for the inflater. A peer that sends nothing at all is detected by its missing pongs.
    package var maximumMessageMilliseconds: UInt64
    /// How much one call of a session reads before others have their turn. The rest waits for the next call.
    package var turn: Turn

    /// The work of one turn. The received bytes limit neither value: an empty frame has 6, and 20 may inflate to 4 KiB.
    package struct Turn: Sendable, Hashable {
        package var maximumFrames: Int
        /// Bytes after inflation. The message that exceeds it is read to the end of its received bytes.
        package var maximumInflatedBytes: Int

        package init(maximumFrames: Int, maximumInflatedBytes: Int) {
            precondition(maximumFrames >= 1 && maximumInflatedBytes >= 1)
            self.maximumFrames = maximumFrames
            self.maximumInflatedBytes = maximumInflatedBytes
        }

        /// For a connection that has its own loop.
        package static let unlimited = Turn(maximumFrames: .max, maximumInflatedBytes: .max)
        /// For one of many on a loop: some 100 µs (an empty frame costs 0.1 µs, a KiB of inflated bytes 2 µs).
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

    /// The most bytes on the wire of a message that has `maximumBytes` when inflated. Deflate adds 5 bytes to a block of up
    /// to 64 KiB that does not shrink, and 5 to each flush. So an eighth more and 1 KiB is enough for any honest sender.
    /// Without a limit, empty blocks would be endless work without output.
    static func compressedBytes(of maximumBytes: Int) -> Int {
        let (sum, overflow) = maximumBytes.addingReportingOverflow(maximumBytes / 8 + 1024)
        return overflow ? .max : sum
    }
}

/// What happens to the payload of messages.
package enum PayloadPolicy: Sendable, Hashable {
    /// Collected and delivered with the event.
    case deliver
    /// Checked against every rule and limit, but never stored: a sending-only owner reads its peer without any memory cost.
    case discard
    /// Text that begins like a JSON object is collected and delivered with the event, up to this many bytes, even over the limit
    /// of messages. The owner asked for one such message, and decides for any other whether it is too large. Everything
    /// else is handled as with `discard`.
    case objects(maximumBytes: Int)
}

/// Counts of what arrived within the running second.
struct InboundRate {
    /// The lowest bits of the time in ms. If a peer sends nothing for 50 days and then continues within the same second, the
    /// old counts continue.
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

    /// Counts bytes in the second in which ``bytesLeft(now:_:)`` was called.
    mutating func countBytes(_ count: Int) { bytes = UInt32(clamping: Int(bytes) + count) }

    private mutating func begin(now: UInt64) {
        let now = UInt32(truncatingIfNeeded: now)
        guard now &- since >= 1000 else { return }
        (since, control, data, bytes) = (now, 0, 0, 0)
    }
}
