/// What the connections of one loop have in common: their limits, and an inflater that they use in turn.
///
/// So an idle connection holds a reference to it instead of either. Confined to the loop.
package final class WebSocketLoop {
    /// May be changed between two turns; counts from the next frame on.
    package var limits: WebSocketLimits
    package let payloads: PayloadPolicy

    /// One is enough for messages that come whole, which nearly all do.
    private var spare: Inflater?
    /// How many inflaters were made, for tests.
    private(set) var inflatersMade = 0

    /// What the turn that is running has done so far.
    var turnFrames = 0
    var turnInflatedBytes = 0

    package init(limits: WebSocketLimits, payloads: PayloadPolicy = .deliver) {
        self.limits = limits
        self.payloads = payloads
    }

    /// Whether the running turn has had its share.
    var turnIsOver: Bool {
        turnFrames >= limits.turn.maximumFrames || turnInflatedBytes >= limits.turn.maximumInflatedBytes
    }

    func beginTurn() { (turnFrames, turnInflatedBytes) = (0, 0) }

    /// An inflater for a message that refers to none before it.
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
