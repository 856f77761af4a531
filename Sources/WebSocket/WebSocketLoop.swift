/// What the connections of one loop share: their limits, and an inflater that they use in turn.
///
/// So an idle connection holds only a reference to it. Confined to the loop.
package final class WebSocketLoop {
    /// May be changed between two turns; applies from the next frame on.
    package var limits: WebSocketLimits
    package let payloads: PayloadPolicy

    /// One is enough for messages that arrive in one piece, which nearly all do.
    private var spare: Inflater?
    /// How many inflaters were made, for tests.
    private(set) var inflatersMade = 0

    /// The work that the running turn has done so far.
    var turnFrames = 0
    var turnInflatedBytes = 0

    package init(limits: WebSocketLimits, payloads: PayloadPolicy = .deliver) {
        self.limits = limits
        self.payloads = payloads
    }

    /// Whether the running turn has reached its limit.
    var turnIsOver: Bool {
        turnFrames >= limits.turn.maximumFrames || turnInflatedBytes >= limits.turn.maximumInflatedBytes
    }

    func beginTurn() { (turnFrames, turnInflatedBytes) = (0, 0) }

    /// An inflater for a message that does not refer to an earlier one.
    func borrowInflater(windowBits: Int) throws(WebSocketError) -> Inflater {
        guard var inflater = spare.take() else {
            inflatersMade += 1
            return try Inflater(windowBits: windowBits)
        }
        try inflater.reset(windowBits: windowBits)
        return inflater
    }

    func giveBack(_ inflater: consuming Inflater) { spare = consume inflater }
}

@available(*, unavailable) extension WebSocketLoop: Sendable {}
