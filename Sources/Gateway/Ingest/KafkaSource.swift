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
    /// Between two glances at what looks and records have told: whether answers flow, how far the window is loaded.
    static let glanceIntervalMilliseconds: UInt64 = 500
    private static let unreachable = "no Kafka broker can be reached"

    private let loop: EventLoop
    private let scoutLoop: EventLoop
    let consumer: Consumer
    private let ingest: Ingest
    private let names: PartitionNames
    private let epochNumber: UInt32
    private let readiness: NodeReadiness
    private let logger: Logger
    private let report: KafkaReport
    /// Called once, when every partition has answered and the window is loaded.
    private let ready: () -> Void
    /// Called once, when librdkafka has given up for good.
    private let failed: (String) -> Void
    private let pipe: WakePipe
    private var watch: DescriptorWatch?
    private var isScheduled = false
    private var hasFailed = false
    private var hasBegun = false
    /// Nil while a look is under way.
    private var nextLook: Timer?
    private var lookBegan: UInt64 = 0
    private var factsSeen = -1
    private var loading: LoadingReport
    private var toldState: LiveUpdates.SourceState?

    init(
        consumer: Consumer, ingest: Ingest, names: PartitionNames, epochNumber: UInt32, readiness: NodeReadiness,
        logger: Logger, loop: EventLoop, scoutLoop: EventLoop, ready: @escaping () -> Void,
        failed: @escaping (String) -> Void
    ) throws(ReactorError) {
        self.consumer = consumer
        self.ingest = ingest
        self.names = names
        self.epochNumber = epochNumber
        self.readiness = readiness
        self.loop = loop
        self.scoutLoop = scoutLoop
        self.ready = ready
        self.failed = failed
        self.logger = logger
        report = KafkaReport(logger: logger)
        loading = LoadingReport(logger: logger)
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
        guard !hasFailed, !ingest.mustWait() else { return }
        let now = loop.now
        takeEvents()
        ingest.beginWake(wallClock: WallClock.milliseconds)
        let taken = consumer.drain { record in
            ingest.take(
                record, names.name(record.topic, record.partition), offset: record.offset,
                timestamp: record.timestamp ?? -1, now: now)
        }
        // A first record tells what cursors of this wake have to say.
        if factsSeen != consumer.factsVersion { takeFacts() }
        ingest.endWake(now: now)
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
        begin()
        takeEvents()
        takeFacts()
        takeEnds()
        ingest.decide(
            lookBegan: map.failure == nil ? lookBegan : nil, now: loop.now, wallClock: WallClock.milliseconds)
        judge()
        nextLook = loop.schedule(afterMilliseconds: Self.lookIntervalMilliseconds) { [weak self] in self?.look() }
    }

    /// The first answer of a broker says which cluster it is; no partition is read before.
    private func begin() {
        guard !hasBegun, let cluster = consumer.clusterID else { return }
        hasBegun = true
        ingest.begin(Epoch(cluster: cluster, topics: names.topics, setting: Int(epochNumber)))
    }

    /// Before the next record is drained: it may be of another log.
    private func takeEvents() {
        let events = consumer.takeEvents()
        guard !events.isEmpty, hasBegun else { return }
        for event in events {
            switch event {
            case .madeAnew(let topic):
                logger.warning("everybody begins anew: another log has the name", [.topic: .text(topic)])
            case .positionsLost(let topic, let partition):
                logger.warning(
                    "everybody begins anew: records were lost before they were read",
                    [.topic: .text(topic), .partition: .number(Int(partition))])
            }
        }
        ingest.reset(.epoch, wallClock: WallClock.milliseconds)
        openAnew(events)
    }

    /// After a reset logs hold nothing: what was read before counts as not read, save of the logs that begin now.
    private func openAnew(_ events: [SourceEvent]) {
        let now = WallClock.milliseconds
        for fact in consumer.partitionFacts {
            let isNew = events.contains { $0.concerns(fact) }
            let next = fact.next ?? fact.start
            ingest.history.open(
                names.name(fact.topic, fact.number), start: isNew ? fact.start : next, began: isNew ? fact.began : now,
                born: fact.born, notBefore: fact.notBefore, known: fact.known)
        }
        factsSeen = -1
    }

    private func takeFacts() {
        guard hasBegun else { return }
        let hasChanged = factsSeen != consumer.factsVersion
        factsSeen = consumer.factsVersion
        for fact in consumer.partitionFacts {
            let name = names.name(fact.topic, fact.number)
            ingest.history.open(
                name, start: fact.start, began: fact.began, born: fact.born, notBefore: fact.notBefore,
                known: fact.known)
            if hasChanged {
                ingest.history.setBorn(name, fact.born)
                ingest.history.setKnown(name, at: fact.known)
            }
            if let next = fact.next { ingest.history.setNext(name, next) }
        }
    }

    /// Of the look that was just adopted. A leader that was silent in it leaves the end as it was.
    private func takeEnds() {
        guard hasBegun else { return }
        for fact in consumer.partitionFacts where fact.isEndNew {
            guard let end = fact.end else { continue }
            ingest.history.setEnd(names.name(fact.topic, fact.number), end, asked: lookBegan)
        }
    }

    // MARK: - What is told

    private func glance() {
        guard watch != nil else { return }
        if readiness.hasBeenReady { tellState() } else { judge() }
        ingest.sweep(wallClock: WallClock.milliseconds)
        loop.schedule(afterMilliseconds: Self.glanceIntervalMilliseconds) { [weak self] in self?.glance() }
    }

    private func tellState() {
        let state: LiveUpdates.SourceState =
            switch consumer.sourceState() {
            case .live(let since): .live(since: since)
            case .stalled(let since): .stalled(since: since)
            }
        // Nobody is told that all is well who has not heard otherwise.
        guard state != toldState, toldState != nil || state.isStalled else { return }
        toldState = state
        if state.isStalled {
            logger.warning("no answer from the leader of a partition: clients are told that the source is stalled")
        } else {
            logger.notice("answers flow again: clients are told that the source is live")
        }
        ingest.tell(state)
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
            } else if !isLoaded {
                readiness.wait(for: loading.text)
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

    private var isLoaded: Bool {
        if readiness.hasBeenReady { return true }
        return loading.take(consumer.loading, now: loop.now)
    }
}

extension SourceEvent {
    /// Whether it is about the log that the fact is of.
    fileprivate func concerns(_ fact: PartitionFacts) -> Bool {
        switch self {
        case .madeAnew(let topic): topic == fact.topic
        case .positionsLost(let topic, let partition): topic == fact.topic && partition == fact.number
        }
    }
}

@available(*, unavailable)
extension KafkaSource: Sendable {}
