import Kafka
import KafkaLogs
import LiveUpdates
import Logging
import Reactor
import Tokens

/// Reads the control topic: on a loop of its own, apart from events, so that nothing in it waits behind them and no event
/// ever comes from it.
///
/// What the topic or its brokers do takes nothing back: a loss keeps what is known, a topic that was recreated is read from
/// its beginning on top of it, and behind what cannot be read it goes on. Confined to its loop; what blocks is asked on
/// another one.
final class ControlSource {
    /// Between two looks at what refreshes and records have told.
    static let checkIntervalMilliseconds: UInt64 = 500
    /// Between two times at which revocations that have ended are let go: they count no more anyway, and to look through a
    /// full table takes the lock that handshakes take.
    static let sweepIntervalMilliseconds: UInt64 = 60_000

    private let loop: EventLoop
    private let probeLoop: EventLoop
    private let consumer: Consumer
    private let revocations: NodeRevocations
    private let readiness: NodeReadiness
    private let logger: Logger
    private let report: KafkaReport
    private let limiter = RateLimiter()
    /// Called when connections may have lost their right to stay.
    private let revoked: () -> Void
    /// Called for each record that erases; whether it is to be logged.
    private let erased: (Erasure, _ isNews: Bool) -> Void
    /// For so long after its time a record may be read again.
    private let retentionMilliseconds: Int64
    /// Called once, when librdkafka has given up for good.
    private let failed: (String) -> Void
    private let pipe: WakePipe
    private var watch: DescriptorWatch?
    private var isScheduled = false
    private var hasFailed = false
    /// The topic was read back as far as it counts.
    private var isLoaded = false
    private var isStalled = false
    /// Something was revoked of which loops are not told yet.
    private var owesNotice = false
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
        self.erased = erased
        self.retentionMilliseconds = retentionMilliseconds
        self.failed = failed
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

    /// Takes what waits, one batch a tick.
    private func drain() {
        isScheduled = false
        guard !hasFailed, watch != nil else { return }
        takeChanges()
        let taken = consumer.drain { record in
            if consumer.hasChanges { takeChanges() }
            take(record)
        }
        takeChanges()
        report.log(consumer.takeNotices(), now: loop.now)
        if exchange(&owesNotice, with: false) { revoked() }
        if !isLoaded { update() }
        // librdkafka rings only when its queue was empty.
        guard taken == Consumer.maximumBatch, !isScheduled else { return }
        isScheduled = true
        loop.executeNextTick { [weak self] in self?.drain() }
    }

    private func take(_ record: borrowing Record) {
        do throws(ControlRecord.Problem) {
            switch try read(record) {
            case .revoke(let revocation): revoke(revocation)
            case .erase(let account, let moment):
                let (end, isForEver) = moment.addingReportingOverflow(retentionMilliseconds)
                erased(Erasure(account: account, moment: moment, end: isForEver ? .max : end), isLoaded)
            }
        } catch {
            revocations.countRejected()
            guard let passed = limiter.pass("\(error)", now: loop.now) else { return }
            logger.warning(
                "a control record is ignored",
                [
                    .topic: .text(record.topic), .partition: .number(Int(record.partition)),
                    .offset: .number(Int(record.offset)), .reason: .text("\(error)"),
                    .advice: "write once more what was meant, or use livegate revoke and livegate erase",
                    .suppressed: passed.suppressed,
                ])
        }
    }

    private func read(_ record: borrowing Record) throws(ControlRecord.Problem) -> ControlRecord {
        // Kafka lets a record have 2 GiB: of one that is too large nothing is copied.
        guard record.valueByteCount <= ControlRecord.maximumBytes else { throw .tooLarge }
        var value: [UInt8]?
        _ = record.readValue { bytes in value = bytes.indices.map { bytes[$0] } }
        return try ControlRecord.read(value, timestamp: record.timestamp)
    }

    private func revoke(_ revocation: Revocation) {
        guard revocations.add(revocation) else { return }
        owesNotice = true
        reportRoom()
        // A line for each account and person, but not for each token: those are many where all are revoked that sign out.
        let (cause, account, subject): (String, LogValue, LogValue) =
            switch revocation.target {
            case .account(let account): ("account \(account)", .text(account.text), .absent)
            case .subject(let account, let subject):
                ("subject \(subject.text) of \(account)", .text(account.text), .text(subject.text))
            case .token: ("token", .absent, .absent)
            }
        guard isLoaded, let passed = limiter.pass(cause, now: loop.now) else { return }
        logger.notice(
            "revoked: connections with tokens from before it are closed",
            [
                .kind: .text(revocation.target.kind.rawValue), .account: account, .subject: subject,
                .suppressed: passed.suppressed,
            ])
    }

    private func reportRoom() {
        switch revocations.room {
        case .enough: break
        case .nearlyNone:
            guard let passed = limiter.pass("nearly full", now: loop.now) else { return }
            logger.warning(
                "over three quarters are taken of what a node can remember of revocations; more will count for everybody",
                [
                    .count: .number(revocations.count), .limit: .number(revocations.maximumEntries),
                    .advice: "revoke accounts instead of token after token", .suppressed: passed.suppressed,
                ])
        case .none:
            guard let passed = limiter.pass("overfull", now: loop.now) else { return }
            logger.error(
                "more is revoked than a node can remember: what has no room counts for everybody with an older token",
                [
                    .limit: .number(revocations.maximumEntries),
                    .advice: "whoever is refused fetches a new token; revoke accounts instead of token after token",
                    .suppressed: passed.suppressed,
                ])
        }
    }

    // MARK: - The topic

    private func takeChanges() {
        guard consumer.hasChanges else { return }
        for change in consumer.tracker.takeChanges() {
            switch change {
            case .recordsLost(let partition, let loss):
                revocations.countRejected()
                logger.error(
                    loss == .retention
                        ? "retention removed control records before they were read"
                        : "control records could not be read",
                    [
                        .advice: "revoke and erase once more what was meant lately",
                        .topic: .text(consumer.tracker.topicName(Int(partition.topic))),
                        .partition: .number(Int(partition.number)),
                    ])
            // What was revoked by the one before stays so; notices say what became of the topic.
            case .recreated, .facts, .found, .vanished, .identified: break
            }
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

    private func receive(_ answer: ProbeAnswer) {
        guard watch != nil else { return }
        let next = consumer.receive(answer)
        takeChanges()
        report.log(consumer.takeNotices(), now: loop.now)
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
        readiness.noteControl(why, now: loop.now)
        guard why == nil, !isLoaded else { return }
        isLoaded = true
        logger.notice(
            "the control topic is read",
            [.topic: .text(consumer.topics[0]), .count: .number(revocations.count)])
    }

    /// Why revocations may be missing, in one sentence; nil when nothing is.
    private var missing: String? {
        if consumer.unreachableSince != nil { return SourceStatus.unreachable }
        let state = consumer.tracker.readiness
        if let missing = consumer.missing(state) { return missing }
        if state.offsetsLeft > 0 { return "reading the topic \(consumer.topics[0]): \(state.offsetsLeft) records left" }
        return stalled
    }

    private var stalled: String? {
        guard case .stalled = consumer.sourceState() else {
            if exchange(&isStalled, with: false) { logger.notice("the control topic answers again") }
            return nil
        }
        if !exchange(&isStalled, with: true) {
            logger.warning(
                "the control topic does not answer: what is revoked meanwhile counts later",
                [.topic: .text(consumer.topics[0]), .advice: "see whether the brokers that lead it are well"])
        }
        return "the topic \(consumer.topics[0]) does not answer, or stands still"
    }
}

@available(*, unavailable)
extension ControlSource: Sendable {}
