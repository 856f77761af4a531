import LiveUpdates
import Logging
import Reactor

/// The messages of the loops arrive here and wait for their turn. Confined to the ingest loop.
///
/// Loops need ingest's mailbox and ingest needs theirs. So this object is made first, and opens when all of them exist.
final class IngestRequests {
    private let loop: EventLoop
    private(set) var ingest: Ingest?
    private(set) var source: KafkaSource?
    private var requests = RequestQueue()
    private var isServedLater = false
    /// Slices of partitions that were reported to the administration.
    var slices: UInt64 = 0

    init(loop: EventLoop) { self.loop = loop }

    func open(_ ingest: Ingest, _ source: KafkaSource) {
        self.ingest = ingest
        self.source = source
    }

    func receive(_ messages: [IngestMessage]) {
        guard ingest != nil else { preconditionFailure("a loop spoke before ingest was open") }
        if requests.add(messages) { source?.drain() }
        if !isServedLater { serve() }
    }

    /// Serves one slice of what waits; the next one follows after records had their turn.
    private func serve() {
        guard let ingest else { return }
        let (now, wallClock) = (loop.now, WallClock.milliseconds)
        requests.serveSlice { ingest.handle($0, now: now, wallClock: wallClock) }
        if ingest.undecided.waitsForEnds { source?.refreshSoon() }
        if ingest.undecided.wantsRecords { source?.askNext() }
        isServedLater = !requests.isEmpty
        guard isServedLater else { return }
        loop.executeNextTick { [self] in serve() }
    }

    /// Ends reading; what was read has been posted. Returns what was counted.
    func close() -> IngestCounters {
        source?.stop()
        source = nil
        return ingest?.counters ?? IngestCounters()
    }
}

@available(*, unavailable)
extension IngestRequests: Sendable {}
