import Dispatch
import Glibc
import KafkaLogs
import Synchronization

@testable import Kafka

/// A consumer as the gateway runs it: a descriptor that wakes, batches without waiting, refreshes answered on another thread.
final class Reading {
    struct Entry: Equatable {
        var topic: String
        var partition: Int32
        var offset: Int64
        var value: String?
        var key: String? = nil
    }

    private final class Box: Sendable {
        let answer = Mutex<ProbeAnswer?>(nil)
    }

    let consumer: Consumer
    private(set) var entries: [Entry] = []
    private(set) var notices: [KafkaNotice] = []
    private(set) var changes: [LogChange] = []
    /// What makes everybody resync.
    var resyncs: [LogChange] {
        changes.filter {
            switch $0 {
            case .recreated, .recordsLost: true
            case .facts, .found, .vanished, .identified: false
            }
        }
    }
    /// The topics that were told as recreated, in order.
    var recreated: [String] {
        changes.compactMap {
            if case .recreated(let topic) = $0 { consumer.tracker.topicName(Int(topic)) } else { nil }
        }
    }
    private(set) var wakes = 0
    /// The first header value of this name of each record, where it has one.
    var headerName = "h"
    private(set) var headers: [String] = []
    private(set) var stamps: [Int64?] = []
    private let descriptor: Int32
    private let wakeEnd: Int32
    private let box = Box()
    private var mayHaveMore = false
    private var nextRefresh = ContinuousClock.now
    private var isRefreshing = false
    var refreshInterval = Duration.milliseconds(200)
    /// Refreshes that were answered.
    private(set) var refreshes = 0
    /// Records that were read, kept or not.
    private(set) var recordCount = 0
    var keepsEntries = true
    /// The longest time between records, or ends of partitions, that came one after the other.
    private(set) var longestPause = Duration.zero
    private var lastCameAt: ContinuousClock.Instant?
    /// Records that a turn takes at most.
    var batch = Int.max

    init(_ settings: ConsumerSettings) throws {
        consumer = try Consumer(settings)
        var ends: [Int32] = [-1, -1]
        precondition(unsafe pipe(&ends) == 0, "no pipe: \(errno)")
        for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        (descriptor, wakeEnd) = (ends[0], ends[1])
        consumer.enableWake(descriptor: wakeEnd)
    }

    /// Against the embedded broker, which answers an empty fetch only after the whole wait.
    convenience init(_ cluster: MockCluster, _ topics: String...) throws {
        try self.init(
            ConsumerSettings(
                brokers: cluster.bootstrap, topics: topics, properties: [("fetch.wait.max.ms", "10")]))
    }

    deinit {
        consumer.disableWake()
        close(descriptor)
        close(wakeEnd)
    }

    /// Runs until the condition holds; false if it does not within the time, which only ends tests that have failed.
    func run(within limit: Duration = .seconds(60), until isDone: (Reading) -> Bool) -> Bool {
        let end = ContinuousClock.now + limit
        while !isDone(self) {
            if ContinuousClock.now > end { return false }
            turn()
        }
        return true
    }

    /// Runs until the condition holds; false if it does not although so many refreshes that began from now on were answered.
    func run(refreshes count: Int, until isDone: (Reading) -> Bool) -> Bool {
        let last = refreshes + count + (isRefreshing ? 1 : 0)
        return run { isDone($0) || $0.refreshes >= last } && isDone(self)
    }

    /// Runs for a while: what must not come has that long to come.
    func run(for time: Duration) {
        _ = run(within: time) { _ in false }
    }

    /// Refreshes no more, and returns once the refresh under way is over: what comes then, a fetch has told.
    func stopRefreshing() -> Bool {
        nextRefresh = .now + .seconds(600)
        return run { !$0.isRefreshing }
    }

    /// Ends what `stopRefreshing` began.
    func refreshAgain() { nextRefresh = .now }

    private func turn() {
        var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        if unsafe poll(&watched, 1, mayHaveMore ? 0 : 20) == 1 {
            var written = [UInt8](repeating: 0, count: 4_096)
            _ = unsafe read(descriptor, &written, written.count)
            wakes += 1
            mayHaveMore = true
        }
        if mayHaveMore {
            let maximum = min(batch, Consumer.maximumBatch)
            repeat { mayHaveMore = drain(maximum) == maximum } while mayHaveMore && batch == Int.max
        }
        refresh()
        changes += consumer.tracker.takeChanges()
        notices += consumer.takeNotices()
    }

    private func drain(_ maximum: Int) -> Int {
        func text(_ read: ((Span<UInt8>) -> Void) -> Bool) -> String? {
            var bytes: [UInt8] = []
            return read { for index in $0.indices { bytes.append($0[index]) } }
                ? String(decoding: bytes, as: UTF8.self) : nil
        }
        let count = consumer.drain(maximum: maximum) { record in
            recordCount += 1
            changes += consumer.tracker.takeChanges()
            guard keepsEntries else { return }
            stamps.append(record.timestamp)
            if let header = text({ record.readHeader(headerName, $0) }) { headers.append(header) }
            entries.append(
                Entry(
                    topic: record.topic, partition: record.partition, offset: record.offset,
                    value: text { record.readValue($0) }, key: text { record.readKey($0) }))
        }
        if count > 0 {
            if let lastCameAt { longestPause = max(longestPause, .now - lastCameAt) }
            lastCameAt = .now
        }
        return count
    }

    private func refresh() {
        let answer = box.answer.withLock { answer in
            defer { answer = nil }
            return answer
        }
        if let answer {
            if let probe = consumer.receive(answer) {
                ask(probe)
            } else {
                (isRefreshing, refreshes) = (false, refreshes + 1)
            }
        }
        guard ContinuousClock.now >= nextRefresh, !isRefreshing else { return }
        nextRefresh = .now + refreshInterval
        isRefreshing = true
        ask(consumer.beginRefresh())
    }

    private func ask(_ probe: Probe) {
        let (probes, box) = (consumer.probes, box)
        DispatchQueue.global().async {
            let answer = probes.answer(probe)
            box.answer.withLock { $0 = answer }
        }
    }

    var facts: [LogFacts] { consumer.tracker.facts }
    /// Whether each log that has a record was found to be the one that is read after this moment (wall clock, ms).
    func isKnown(after moment: Int64) -> Bool {
        facts.allSatisfy { $0.next == 0 && $0.end ?? 0 == 0 || $0.known ?? .min > moment }
    }
    var loading: LoadingProgress { consumer.tracker.loading(wall: WallClock.now) }
    var readiness: Readiness { consumer.tracker.readiness }
    var positions: [Int64?] { consumer.tracker.positions.map(\.next) }
    var values: [String?] { entries.map(\.value) }
    var isStalled: Bool {
        if case .stalled = consumer.tracker.sourceState(.now) { return true }
        return false
    }
    var isReady: Bool { readiness.isReady }
    func has(_ cause: KafkaCause) -> Bool { notices.contains { $0.cause == cause } }
    func count(_ cause: KafkaCause) -> Int { notices.count { $0.cause == cause } }
    func notice(_ cause: KafkaCause) -> KafkaNotice? { notices.first { $0.cause == cause } }
}

struct NotDelivered: Error {
    var reason: String?
    var notices: [KafkaNotice]

    init(_ producer: Producer) {
        (reason, notices) = (producer.lastFailure, producer.takeNotices())
    }
}

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

extension Producer {
    /// Hands over and waits for the acknowledgement.
    func send(_ topic: String, _ partition: Int32? = nil, _ values: String...) throws {
        for value in values { _ = try produce(topic: topic, partition: partition, value: bytes(value)) }
        let failedBefore = failed
        guard flush(within: 60_000), failed == failedBefore else { throw NotDelivered(self) }
    }
}
