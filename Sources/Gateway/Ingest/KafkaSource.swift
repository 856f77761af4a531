import Kafka
import KafkaLogs
import LiveUpdates
import Logging
import Reactor

extension Kafka.Record: RecordReading {}

/// Passes records from Kafka to ingest when librdkafka wakes us, and runs metadata refreshes.
///
/// Confined to the ingest loop. Blocking questions (metadata, offsets, single records) run on a loop of their own, whose
/// answers arrive as messages.
final class KafkaSource {
    /// Between two metadata refreshes: a partition that was added is read within two of them.
    static let refreshIntervalMilliseconds: UInt64 = 2_000
    /// Between two checks of what refreshes and records have shown: whether answers flow, how far the window is loaded.
    static let checkIntervalMilliseconds: UInt64 = 500

    private let loop: EventLoop
    private let probeLoop: EventLoop
    let consumer: Consumer
    private let ingest: Ingest
    private let mapping: EventMapping
    private let facts: HistoryFacts
    private let status: SourceStatus
    private let report: KafkaReport
    private var clock: ClockReport
    private let pipe: WakePipe
    private var watch: DescriptorWatch?
    private var isScheduled = false
    private var isResetting = false
    /// Nil while a refresh is running.
    private var nextRefresh: (timer: Timer, time: UInt64)?
    private var pace = RefreshPace()
    /// Refreshes that were begun.
    private(set) var refreshes: UInt64 = 0
    private var turns = ProbeTurns()

    init(
        consumer: Consumer, ingest: Ingest, mapping: EventMapping, epochNumber: UInt32, readiness: NodeReadiness,
        logger: Logger, loop: EventLoop, probeLoop: EventLoop, ready: @escaping () -> Void,
        failed: @escaping (String) -> Void
    ) throws(ReactorError) {
        self.consumer = consumer
        self.ingest = ingest
        self.mapping = mapping
        self.loop = loop
        self.probeLoop = probeLoop
        facts = HistoryFacts(consumer, ingest: ingest, epochNumber: epochNumber, logger: logger)
        status = SourceStatus(
            consumer, ingest: ingest, readiness: readiness, logger: logger, ready: ready, failed: failed)
        report = KafkaReport(logger: logger)
        clock = ClockReport(logger: logger)
        pipe = try WakePipe()
    }

    func start() throws(ReactorError) {
        watch = try pipe.watch(on: loop) { [weak self] in self?.drain() }
        consumer.enableWake(descriptor: pipe.writeDescriptor)
        refresh()
        check()
    }

    func stop() {
        consumer.disableWake()
        watch?.cancel()
        watch = nil
    }

    // MARK: - Records

    /// Reads what waits, at most one batch a tick, so that subscriptions get their turn in between.
    func drain() {
        isScheduled = false
        guard !status.hasFailed else { return }
        // A loop that owes too much calls this again when it has caught up.
        status.isReading = !ingest.mustWait()
        guard status.isReading else { return }
        let now = loop.now
        facts.apply(now: now)
        ingest.beginWake(wallClock: WallClock.milliseconds, microseconds: EventLoop.microseconds)
        let taken = consumer.drain { record in
            if consumer.hasChanges { facts.apply(now: now) }
            ingest.take(
                record, record.partitionName, offset: record.offset, timestamp: record.timestamp ?? -1, now: now)
        }
        // Live followers lose its events: all clients are notified to resync.
        if let partitions = ingest.takePassedOver() { consumer.passOver(partitions) }
        facts.apply(now: now)
        ingest.endWake(now: now)
        report.log(consumer.takeNotices(), now: now)
        if taken > 0 { status.recordsCame(now: now) }
        if consumer.tracker.wantsRefresh { refreshSoon() }
        continueReset()
        // librdkafka wakes us only when its queue was empty.
        if taken == Consumer.maximumBatch { drainAgain() }
    }

    private func drainAgain() {
        guard !isScheduled else { return }
        isScheduled = true
        loop.executeNextTick { [weak self] in self?.drain() }
    }

    /// Goes on notifying all accounts of a reset, a slice a tick.
    private func continueReset() {
        guard !isResetting, ingest.owesReset else { return }
        isResetting = true
        loop.executeNextTick { [weak self] in
            guard let self else { return }
            isResetting = false
            ingest.continueReset(wallClock: WallClock.milliseconds)
            continueReset()
        }
    }

    // MARK: - The cluster

    /// Refreshes as soon as the pace allows it, if no refresh is running: somebody waits for its result.
    func refreshSoon() {
        let time = max(loop.now, pace.earliest)
        guard let next = nextRefresh, time < next.time else { return }
        loop.cancel(next.timer)
        if time == loop.now { refresh() } else { refresh(at: time) }
    }

    private func refresh(at time: UInt64) {
        nextRefresh = (loop.schedule(at: time) { [weak self] in self?.refresh() }, time)
    }

    private func refresh() {
        nextRefresh = nil
        refreshes += 1
        turns.ask(consumer.beginRefresh())
        askNext()
    }

    private func receive(_ answer: ProbeAnswer) {
        turns.answered()
        guard watch != nil else { return }
        let next = consumer.receive(answer)
        // Before the facts of partitions that exist again.
        if next == nil { ingest.tap?.intake.refreshed(consumer.tracker.topicAnswers) }
        facts.apply(now: loop.now)
        continueReset()
        report.log(consumer.takeNotices(), now: loop.now)
        if let next { turns.ask(next) } else { endRefresh() }
        askNext()
    }

    private func endRefresh() {
        ingest.decide(now: loop.now, wallClock: WallClock.milliseconds)
        status.refreshEnded(now: loop.now)
        let next = pace.refreshEnded(
            now: loop.now, isStillAwaited: ingest.undecided.waitsForEnds,
            isSilenceSuspected: consumer.suspectsSilence)
        refresh(at: next)
    }

    private func check() {
        guard watch != nil else { return }
        status.check(now: loop.now)
        let wallClock = WallClock.milliseconds
        ingest.history.clockWasSet(forward: clock.check(wallClock, monotonic: loop.now))
        ingest.endWaits(now: loop.now, wallClock: wallClock)
        loop.schedule(afterMilliseconds: Self.checkIntervalMilliseconds) { [weak self] in self?.check() }
    }

    // MARK: - Questions to brokers

    /// Asks the next question, unless an answer is outstanding. To be called whenever there is a new question.
    func askNext() {
        switch turns.next(wantsRecords: ingest.undecided.wantsRecords) {
        case .refresh(let probe): ask(probe)
        case .records: read(ingest.undecided.takeProbes())
        case nil: break
        }
    }

    private func ask(_ probe: Probe) {
        let (probes, loop) = (consumer.probes, loop)
        let source = LoopBound(self, loop: loop)
        probeLoop.execute {
            let answer = probes.answer(probe)
            loop.execute { source.value.receive(answer) }
        }
    }

    /// Reads records that undecided joins wait for.
    private func read(_ records: [RecordProbes.Probe]) {
        let (probes, loop, mapping) = (consumer.probes, loop, mapping)
        let source = LoopBound(self, loop: loop)
        probeLoop.execute {
            let found = RecordProbes(records).found(probes, EventMapper(mapping))
            loop.execute { source.value.receive(found) }
        }
    }

    private func receive(_ records: [RecordProbes.Found]) {
        turns.answered()
        guard watch != nil else { return }
        ingest.probed(records, now: loop.now, wallClock: WallClock.milliseconds)
        askNext()
    }
}

@available(*, unavailable)
extension KafkaSource: Sendable {}

/// How soon a refresh may follow another one because somebody waits. A refresh asks every leader. Without a pause, a cursor
/// that cannot be decided would start the next refresh as soon as the last has ended.
struct RefreshPace {
    static let shortestMilliseconds: UInt64 = 250
    /// Between two refreshes of which the first asked a leader in vain, until its partitions count as stalled. Mostly a
    /// connection was cut and is opened again at once; clients must not be notified of an outage for that.
    static let suspicionMilliseconds: UInt64 = 500
    /// So many in a row are enough. A leader that gives only records is not asked at that pace for ever.
    static let suspicionLimit = 4

    private var pause = Self.shortestMilliseconds
    private var suspicions = 0
    /// When the next refresh may begin that is waited for.
    private(set) var earliest: UInt64 = 0

    /// `isStillAwaited`: the refresh did not report what somebody waits for. The pause doubles then, up to the interval at
    /// which refreshes come in any case. `now` is monotonic, in ms.
    /// - Returns: when the next one begins at the latest.
    mutating func refreshEnded(now: UInt64, isStillAwaited: Bool, isSilenceSuspected: Bool) -> UInt64 {
        earliest = now + pause
        pause =
            isStillAwaited
            ? min(2 * pause, KafkaSource.refreshIntervalMilliseconds) : Self.shortestMilliseconds
        suspicions = isSilenceSuspected ? suspicions + 1 : 0
        let isSoon = isSilenceSuspected && suspicions <= Self.suspicionLimit
        return now + (isSoon ? Self.suspicionMilliseconds : KafkaSource.refreshIntervalMilliseconds)
    }
}

/// Records that are read once more, to check whether they are where a cursor names them.
struct RecordProbes: Sendable {
    typealias Probe = UndecidedJoins<Ingest.Joiner>.Probe

    struct Found: Sendable {
        let probe: Probe
        /// Nil where the leader did not answer within the time.
        var record: ProbedRecord?
    }

    let probes: [Probe]

    init(_ probes: [Probe]) { self.probes = probes }

    /// The records there. Blocks for ``ProbeTurns/recordTimeoutMilliseconds`` at most.
    func found(_ client: ProbeClient, _ mapper: EventMapper) -> [Found] {
        let questions = probes.map { RecordQuestion(partition: $0.partition, offset: $0.offset) }
        var found = probes.map { Found(probe: $0) }
        let answers = client.records(questions, timeout: ProbeTurns.recordTimeoutMilliseconds) { index, record in
            var account: Account?
            if case .event(let owner, _) = mapper.map(record) { account = owner }
            found[index].record = .record(
                timestamp: record.timestamp ?? -1, account: account, left: account == nil ? nil : mapper.left?.account)
        }
        for (index, answer) in answers.enumerated() where answer != .silent && found[index].record == nil {
            found[index].record = ProbedRecord.none
        }
        return found
    }
}
