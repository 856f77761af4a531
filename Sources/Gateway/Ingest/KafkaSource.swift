import Kafka
import LiveUpdates
import Logging
import Reactor

extension Kafka.Record: RecordReading {}

/// The way from Kafka into ingest: wakes, and looks at the cluster. What looks tell goes to ``HistoryFacts`` and
/// ``SourceJudge``.
///
/// Confined to the ingest loop. What blocks (metadata, offsets) happens on a loop of its own, whose answers come back
/// as messages.
final class KafkaSource {
    /// Between two looks at the cluster: a partition that was added is read within two of them.
    static let lookIntervalMilliseconds: UInt64 = 2_000
    /// Between two glances at what looks and records have told: whether answers flow, how far the window is loaded.
    static let glanceIntervalMilliseconds: UInt64 = 500

    private let loop: EventLoop
    private let scoutLoop: EventLoop
    let consumer: Consumer
    private let ingest: Ingest
    private let names: PartitionNames
    private let facts: HistoryFacts
    private let judge: SourceJudge
    private let report: KafkaReport
    private let pipe: WakePipe
    private var watch: DescriptorWatch?
    private var isScheduled = false
    /// Nil while a look is under way.
    private var nextLook: Timer?
    private var lookBegan: UInt64 = 0

    init(
        consumer: Consumer, ingest: Ingest, names: PartitionNames, epochNumber: UInt32, readiness: NodeReadiness,
        logger: Logger, loop: EventLoop, scoutLoop: EventLoop, ready: @escaping () -> Void,
        failed: @escaping (String) -> Void
    ) throws(ReactorError) {
        self.consumer = consumer
        self.ingest = ingest
        self.names = names
        self.loop = loop
        self.scoutLoop = scoutLoop
        facts = HistoryFacts(consumer, ingest: ingest, names: names, epochNumber: epochNumber, logger: logger)
        judge = SourceJudge(
            consumer, ingest: ingest, readiness: readiness, logger: logger, ready: ready, failed: failed)
        report = KafkaReport(logger: logger)
        pipe = try WakePipe()
    }

    func start() throws(ReactorError) {
        watch = try pipe.watch(on: loop) { [weak self] in self?.drain() }
        consumer.enableWake(descriptor: pipe.writeDescriptor)
        look()
        glance()
    }

    func stop() {
        consumer.disableWake()
        watch?.cancel()
        watch = nil
    }

    // MARK: - Records

    /// Takes what waits, at most one batch a tick, so that subscriptions get their turn in between.
    func drain() {
        isScheduled = false
        // A loop that owes too much calls this again when it has caught up.
        guard !judge.hasFailed, !ingest.mustWait() else { return }
        let now = loop.now
        facts.takeEvents()
        ingest.beginWake(wallClock: WallClock.milliseconds)
        let taken = consumer.drain { record in
            facts.takeIfChanged()
            ingest.take(
                record, names.name(record.topic, record.partition), offset: record.offset,
                timestamp: record.timestamp ?? -1, now: now)
        }
        ingest.endWake(now: now)
        report.tell(consumer.takeNotices(), now: now)
        if taken > 0 { judge.recordsCame(now: now) }
        // librdkafka rings only when its queue was empty.
        if taken == Consumer.maximumBatch { drainAgain() }
    }

    private func drainAgain() {
        guard !isScheduled else { return }
        isScheduled = true
        loop.executeNextTick { [weak self] in self?.drain() }
    }

    // MARK: - The cluster

    /// Looks at once, if no look is under way: somebody waits for what it will tell.
    func lookSoon() {
        guard let timer = nextLook.take() else { return }
        loop.cancel(timer)
        look()
    }

    private func look() {
        nextLook = nil
        lookBegan = loop.now
        let scout = consumer.scout
        let anchors = consumer.anchors
        let loop = loop
        let source = LoopBound(self, loop: loop)
        scoutLoop.execute {
            let map = scout.look(anchors)
            loop.execute { source.value.adopt(map) }
        }
    }

    private func adopt(_ map: PartitionMap) {
        guard watch != nil else { return }
        consumer.adopt(map)
        report.tell(consumer.takeNotices(), now: loop.now)
        facts.begin()
        facts.takeEvents()
        facts.take(asked: lookBegan)
        ingest.decide(now: loop.now, wallClock: WallClock.milliseconds)
        judge.lookCame(now: loop.now)
        nextLook = loop.schedule(afterMilliseconds: Self.lookIntervalMilliseconds) { [weak self] in self?.look() }
    }

    private func glance() {
        guard watch != nil else { return }
        judge.glance(now: loop.now)
        ingest.sweep(wallClock: WallClock.milliseconds)
        loop.schedule(afterMilliseconds: Self.glanceIntervalMilliseconds) { [weak self] in self?.glance() }
    }
}

@available(*, unavailable)
extension KafkaSource: Sendable {}
