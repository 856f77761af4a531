import LiveUpdates
import Logging
import Reactor

/// Where the messages of the loops arrive, and wait for their turn. Confined to the ingest loop.
///
/// Loops need ingest's mailbox and ingest needs theirs; the desk stands first, and opens when all of them are there.
final class IngestDesk {
    private let loop: EventLoop
    private var ingest: Ingest?
    private var source: KafkaSource?
    private var requests = RequestQueue()
    private var isServedLater = false

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

    /// One slice of what waits; the next one comes when records had their turn.
    private func serve() {
        guard let ingest else { return }
        let (now, wallClock) = (loop.now, WallClock.milliseconds)
        requests.serveSlice { ingest.handle($0, now: now, wallClock: wallClock) }
        if ingest.undecided.waitsForEnds { source?.refreshSoon() }
        if !ingest.undecided.isEmpty { source?.readRecordsAgain() }
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
extension IngestDesk: Sendable {}

/// What the loops have asked and was not answered yet, in the order in which it came.
///
/// Served in slices, and records are read between two of them: however many clients of one account ask for pages at
/// once, the others' events come in time. As long as the connections of a node are, so bounded is this.
struct RequestQueue {
    /// What one slice costs at most, the request that goes over it included: about 1 ms. A unit is an event of a page.
    static let maximumWork = 2_048

    private var waiting: [IngestMessage] = []
    /// Those before it were served.
    private var first = 0

    var isEmpty: Bool { first == waiting.count }

    /// Returns whether a loop allows reading on, which waits for nobody.
    mutating func add(_ messages: [IngestMessage]) -> Bool {
        var mayReadOn = false
        for message in messages {
            if case .caughtUp = message { mayReadOn = true } else { waiting.append(message) }
        }
        return mayReadOn
    }

    /// Serves in order until the work of a slice is done.
    ///
    /// - Parameter serve: answers one request, and returns the work that it was.
    mutating func serveSlice(_ serve: (IngestMessage) -> Int) {
        var work = 0
        while first < waiting.count, work < Self.maximumWork {
            work += serve(waiting[first])
            first += 1
        }
        if isEmpty {
            waiting.removeAll(keepingCapacity: waiting.count <= Self.maximumWork)
            first = 0
        } else if first > waiting.count / 2 {
            waiting.removeFirst(first)
            first = 0
        }
    }
}
