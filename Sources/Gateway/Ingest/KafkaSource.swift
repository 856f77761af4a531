import Kafka
import LiveUpdates
import Logging
import Reactor

extension Kafka.Record: RecordReading {}

/// The way from Kafka into ingest: wakes, looks at the cluster, and what the operator is told of it.
///
/// Confined to the ingest loop. What blocks (metadata, offsets) happens on a loop of its own, whose answers come back
/// as messages.
final class KafkaSource {
    /// Between two looks at the cluster: a partition that was added is read within two of them.
    static let lookIntervalMilliseconds: UInt64 = 2_000
    private static let unreachable = "no Kafka broker can be reached"

    private let loop: EventLoop
    private let scoutLoop: EventLoop
    private let consumer: Consumer
    private let ingest: Ingest
    private let readiness: NodeReadiness
    private let logger: Logger
    private let report: KafkaReport
    /// Called once, when every partition has answered.
    private let ready: () -> Void
    /// Called once, when librdkafka has given up for good.
    private let failed: (String) -> Void
    private let pipe: WakePipe
    private var watch: DescriptorWatch?
    private var isScheduled = false
    private var hasFailed = false

    init(
        consumer: Consumer, ingest: Ingest, readiness: NodeReadiness, logger: Logger, loop: EventLoop,
        scoutLoop: EventLoop, ready: @escaping () -> Void, failed: @escaping (String) -> Void
    ) throws(ReactorError) {
        self.consumer = consumer
        self.ingest = ingest
        self.readiness = readiness
        self.loop = loop
        self.scoutLoop = scoutLoop
        self.ready = ready
        self.failed = failed
        self.logger = logger
        report = KafkaReport(logger: logger)
        pipe = try WakePipe()
    }

    func start() throws(ReactorError) {
        watch = try pipe.watch(on: loop) { [weak self] in self?.drain() }
        consumer.enableWake(descriptor: pipe.writeDescriptor)
        look()
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
        guard !hasFailed, !ingest.mustWait() else { return }
        let now = loop.now
        let taken = consumer.drain { record in
            ingest.take(record, partition: record.partition, offset: record.offset, now: now)
        }
        ingest.endWake()
        report.tell(consumer.takeNotices(), now: now)
        if !readiness.hasBeenReady, taken > 0 { judge() }
        // librdkafka rings only when its queue was empty.
        if taken == Consumer.maximumBatch { drainAgain() }
    }

    private func drainAgain() {
        guard !isScheduled else { return }
        isScheduled = true
        loop.executeNextTick { [weak self] in self?.drain() }
    }

    // MARK: - The cluster

    private func look() {
        let (scout, anchors) = (consumer.scout, consumer.anchors)
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
        judge()
        loop.schedule(afterMilliseconds: Self.lookIntervalMilliseconds) { [weak self] in self?.look() }
    }

    private func judge() {
        if let reason = consumer.fatalError {
            guard !hasFailed else { return }
            hasFailed = true
            return failed(reason)
        }
        let state = consumer.readiness
        guard let missing = state.missing else {
            if consumer.unreachableSince != nil {
                readiness.lose(Self.unreachable, now: loop.now)
            } else if readiness.becomeReady() {
                logger.notice("ready", [.partitions: .number(consumer.positions.count)])
                ready()
            }
            return
        }
        // What is not known yet is not missing, as long as nobody answers.
        let why = consumer.unreachableSince == nil ? missing : Self.unreachable
        if readiness.hasBeenReady { readiness.lose(why, now: loop.now) } else { readiness.wait(for: why) }
    }
}

@available(*, unavailable)
extension KafkaSource: Sendable {}
