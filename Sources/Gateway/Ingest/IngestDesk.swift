import LiveUpdates
import Logging
import Reactor

/// Where the messages of the loops arrive. Confined to the ingest loop.
///
/// Loops need ingest's mailbox and ingest needs theirs; the desk stands first, and opens when all of them are there.
final class IngestDesk {
    private let loop: EventLoop
    private var ingest: Ingest?
    private var source: KafkaSource?

    init(loop: EventLoop) { self.loop = loop }

    func open(_ ingest: Ingest, _ source: KafkaSource) {
        self.ingest = ingest
        self.source = source
    }

    func receive(_ messages: [IngestMessage]) {
        guard let ingest else { preconditionFailure("a loop spoke before ingest was open") }
        let (now, wallClock) = (loop.now, WallClock.milliseconds)
        var mayReadOn = false
        for message in messages where ingest.take(message, now: now, wallClock: wallClock) { mayReadOn = true }
        if !ingest.undecided.isEmpty { source?.lookSoon() }
        if mayReadOn { source?.drain() }
    }

    /// Ends reading; what was read has been posted. Returns what was counted.
    func close() -> IngestCounters {
        source?.stop()
        source = nil
        return ingest?.counters ?? IngestCounters()
    }
}

@available(*, unavailable)
extension IngestDesk: Sendable {}
