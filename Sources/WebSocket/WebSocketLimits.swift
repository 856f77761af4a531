/// What one peer may ask of a receiver; over a limit the connection is failed.
package struct WebSocketLimits: Sendable, Hashable {
    /// Bytes of one message, over all of its fragments and after inflation: what a hostile peer can make us hold.
    package var maximumMessageBytes: Int
    /// Frames of one message, empty ones included: these cost work without counting as bytes.
    package var maximumFragments: Int
    /// Pings and pongs within a second: each costs an answer or a look at the timers.
    package var maximumControlFramesPerSecond: Int

    package init(
        maximumMessageBytes: Int = 4096, maximumFragments: Int = 512, maximumControlFramesPerSecond: Int = 100
    ) {
        precondition(maximumMessageBytes >= 0 && maximumFragments >= 1 && maximumControlFramesPerSecond >= 1)
        self.maximumMessageBytes = maximumMessageBytes
        self.maximumFragments = maximumFragments
        self.maximumControlFramesPerSecond = maximumControlFramesPerSecond
    }

    /// Bytes of one message as they stand on the wire when it is compressed. Deflate adds 5 bytes to a block of up
    /// to 64 KiB that does not shrink, and 5 to each flush, so an eighth more and 1 KiB serves any honest sender;
    /// without a bound, empty blocks would be work without end that gives no byte of output.
    var maximumCompressedBytes: Int {
        let (sum, overflow) = maximumMessageBytes.addingReportingOverflow(maximumMessageBytes / 8 + 1024)
        return overflow ? .max : sum
    }
}

/// What becomes of the payload of messages.
package enum PayloadPolicy: Sendable {
    /// Collected and given with the event.
    case deliver
    /// Checked against every rule and limit, but never held: one that only sends reads its peer at no cost in memory.
    case discard
}
