import HTTP
import Kafka
import KafkaLogs
import Logging
import Reactor
import Tokens

/// Reads the control topic on a loop of its own, separate from events: nothing in it waits behind events, and no event comes from
/// it.
///
/// Nothing that happens to the topic or its brokers revokes less. A recreated topic is read from its beginning, in addition to
/// what is known; after an unreadable record the reading goes on. ``ControlIntake`` handles the meaning of records, and losses.
/// Confined to its loop; blocking questions run on another one.
final class ControlSource {
    /// Between two checks of what refreshes and records have reported.
    static let checkIntervalMilliseconds: UInt64 = 500
    /// Between two removals of revocations that have ended: they count no more anyway, and the search through a full table needs
    /// the lock that handshakes use.
    static let sweepIntervalMilliseconds: UInt64 = 60_000

    private let loop: EventLoop
    private let probeLoop: EventLoop
    private let consumer: Consumer
    private let revocations: NodeRevocations
    private let readiness: NodeReadiness
    private let logger: Logger
    private let report: KafkaReport
    private let intake: ControlIntake
    /// Called when connections may have lost their right to stay.
    private let revoked: () -> Void
    /// Called once, when librdkafka has given up for good.
    private let failed: (String) -> Void
    private let pipe: WakePipe
    private var watch: DescriptorWatch?
    private var isScheduled = false
    private var hasFailed = false
    private var isStalled = false
    private var isOutOfReach = false
    private var sweepsAt: UInt64 = 0

    init(
        consumer: Consumer, retentionMilliseconds: Int64, revocations: NodeRevocations, readiness: NodeReadiness,
        logger: Logger, loop: EventLoop, probeLoop: EventLoop, revoked: @escaping () -> Void,
        erased: @escaping (Erasure, _ isNews: Bool) -> Void, failed: @escaping (String) -> Void
    ) throws(ReactorError) {
        self.consumer = consumer
        self.revocations = revocations
        self.readiness = readiness
        self.logger = logger
        self.loop = loop
        self.probeLoop = probeLoop
        self.revoked = revoked
        self.failed = failed
        intake = ControlIntake(
            revocations: revocations, retentionMilliseconds: retentionMilliseconds, logger: logger, erased: erased)
        report = KafkaReport(logger: logger)
        pipe = try WakePipe()
    }

    func start() throws(ReactorError) {
        watch = try pipe.watch(on: loop) { [weak self] in self?.drain() }
        consumer.enableWake(descriptor: pipe.writeDescriptor)
        ask(consumer.beginRefresh())
        check()
    }

    func stop() {
        consumer.disableWake()
        watch?.cancel()
        watch = nil
    }

    // MARK: - Records

    /// Consumes waiting records, one batch a tick.
    private func drain() {
        isScheduled = false
        guard !hasFailed, watch != nil else { return }
        takeChanges()
        let taken = consumer.drain { record in
            if consumer.hasChanges { takeChanges() }
            intake.take(record, now: loop.now)
        }
        takeChanges()
        report.log(consumer.takeNotices(), now: loop.now)
        notifyLoops()
        if !intake.isLoaded { update() }
        // librdkafka rings only when its queue was empty.
        guard taken == Consumer.maximumBatch, !isScheduled else { return }
        isScheduled = true
        loop.executeNextTick { [weak self] in self?.drain() }
    }

    private func notifyLoops() {
        if intake.takeNotice() { revoked() }
    }

    // MARK: - The topic

    private func takeChanges() {
        guard consumer.hasChanges else { return }
        for change in consumer.tracker.takeChanges() { intake.take(change, of: consumer.tracker, now: loop.now) }
    }

    private func ask(_ probe: Probe) {
        let (probes, loop) = (consumer.probes, loop)
        let source = LoopBound(self, loop: loop)
        probeLoop.execute {
            let answer = probes.answer(probe)
            loop.execute { source.value.receive(answer) }
        }
    }

    private func receive(_ answer: ProbeAnswer) {
        guard watch != nil else { return }
        let next = consumer.receive(answer)
        takeChanges()
        report.log(consumer.takeNotices(), now: loop.now)
        notifyLoops()
        if let next { return ask(next) }
        update()
        loop.schedule(afterMilliseconds: KafkaSource.refreshIntervalMilliseconds) { [weak self] in
            guard let self, watch != nil else { return }
            ask(consumer.beginRefresh())
        }
    }

    // MARK: - Readiness

    private func check() {
        guard watch != nil else { return }
        if loop.now >= sweepsAt {
            sweepsAt = loop.now + Self.sweepIntervalMilliseconds
            revocations.sweep()
        }
        update()
        loop.schedule(afterMilliseconds: Self.checkIntervalMilliseconds) { [weak self] in self?.check() }
    }

    private func update() {
        if let reason = consumer.fatalError {
            guard !hasFailed else { return }
            hasFailed = true
            return failed(reason)
        }
        let why = missing
        // Before any client is admitted.
        if intake.isLoaded || why == nil {
            intake.endOverdueLosses(now: loop.now)
            notifyLoops()
        }
        readiness.noteControl(why ?? outOfReach, now: loop.now)
        guard why == nil, !intake.isLoaded else { return }
        intake.isLoaded = true
        logger.notice(
            "the control topic is read",
            [.topic: .text(consumer.topics[0]), .count: .number(revocations.count)])
    }

    /// Why revocations may be missing, in one sentence; nil when nothing is.
    private var missing: String? {
        if consumer.unreachableSince != nil { return SourceStatus.unreachable(consumer.unreachableReason) }
        let state = consumer.tracker.readiness
        if let missing = consumer.missing(state) { return missing }
        if state.offsetsLeft > 0 { return "reading the topic \(consumer.topics[0]): \(state.offsetsLeft) records left" }
        return stalled
    }

    /// Why no token that is fetched now would be good here; nil where it would. Balancers are to send clients elsewhere: a
    /// node that refuses all of them has the fewest connections.
    private var outOfReach: String? {
        guard let second = revocations.timeOutOfReach else {
            isOutOfReach = false
            return nil
        }
        let time = InternetDate.text(secondsSince1970: second)
        if !exchange(&isOutOfReach, with: true) {
            logger.error(
                "after a loss of control records tokens are valid here only from a future time on: the clock was set back",
                [
                    .before: .text(time),
                    .advice: "correct the clock, then restart this node; find out why the clock was wrong",
                ])
        }
        return
            "records were lost, tokens are valid from \(time) on, and the clock was set back: correct it, then restart"
    }

    private var stalled: String? {
        guard case .stalled = consumer.sourceState() else {
            if exchange(&isStalled, with: false) { logger.notice("the control topic answers again") }
            return nil
        }
        if !exchange(&isStalled, with: true) {
            logger.warning(
                "the control topic does not answer: revocations are delayed",
                [.topic: .text(consumer.topics[0]), .advice: "check that the brokers that lead it are healthy"])
        }
        return "the topic \(consumer.topics[0]) does not answer or does not advance"
    }
}

@available(*, unavailable)
extension ControlSource: Sendable {}
