import Glibc
import Kafka
import LiveUpdates
import Logging
import Reactor

/// The embedded broker and the product that writes to it, on a loop of their own.
struct DemoFeed: Sendable {
    /// Accounts that live their lives beside each other; clients of the demo are let in as the first.
    static let accounts = ["PACC1", "PACC2", "PACC3"]
    /// From the invitation to the first event: a client that is attached at once sees the story from its beginning.
    static let headStartMilliseconds: UInt64 = 1_500
    /// Every demo shows the same story.
    static let seed: UInt64 = 1

    let bootstrap: String
    private let source: LoopBound<Source>

    static func start(logger: Logger) async throws(GatewayError) -> DemoFeed {
        let loop: EventLoop
        do throws(ReactorError) {
            loop = try EventLoop(label: "feed")
        } catch {
            throw .system(error)
        }
        let made = await loop.perform { () -> Result<DemoFeed, KafkaError> in
            Result { () throws(KafkaError) in
                let source = try Source(loop: loop, logger: logger)
                return DemoFeed(bootstrap: source.bootstrap, source: LoopBound(source, loop: loop))
            }
        }
        switch made {
        case .success(let feed): return feed
        case .failure(let error):
            loop.stop()
            throw .kafka(error)
        }
    }

    /// Begins to write.
    func go() {
        source.loop.execute { [source] in source.value.begin() }
    }

    func stop() {
        source.loop.execute { [source] in source.value.stop() }
        source.loop.stop()
    }

    private final class Source {
        let bootstrap: String
        private let loop: EventLoop
        private let logger: Logger
        private let cluster: MockCluster
        private let producer: Producer
        private var feed: IncidentFeed
        private var beganAt: UInt64 = 0
        private var isStopped = false

        init(loop: EventLoop, logger: Logger) throws(KafkaError) {
            self.loop = loop
            self.logger = logger
            cluster = try MockCluster()
            try cluster.createTopic(Demo.topic, partitions: Demo.partitions)
            bootstrap = cluster.bootstrap
            producer = try Producer(brokers: bootstrap)
            feed = IncidentFeed(
                seed: DemoFeed.seed, accounts: DemoFeed.accounts, startMilliseconds: Int64(time(nil)) * 1000)
        }

        func begin() {
            producer.learnLeaders(of: Demo.topic)
            beganAt = loop.now + DemoFeed.headStartMilliseconds
            scheduleNext()
        }

        private func scheduleNext() {
            let record = feed.next()
            loop.schedule(at: beganAt + record.due) { [weak self] in self?.produce(record) }
        }

        private func produce(_ record: IncidentFeed.Record) {
            guard !isStopped else { return }
            do {
                _ = try producer.produce(topic: Demo.topic, key: Array(record.account.utf8), value: record.value)
            } catch {
                logger.error(
                    "the feed cannot write",
                    [.error: .text("\(error)"), .advice: "start the demo again"])
            }
            producer.poll()
            scheduleNext()
        }

        func stop() { isStopped = true }
    }
}

extension FeedChange {
    /// `{"account_id":…,"entity":…,"id":…,"type":…,"occurred_at":…,"request_id":…,"changes":{…}}`
    func value(account: String, occurred: Int64, request: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        Self.append([("account_id", account), ("entity", entity), ("id", id), ("type", type)], to: &bytes)
        bytes.append(UInt8(ascii: ","))
        Self.append([("occurred_at", Timestamp.text(occurred)), ("request_id", "req-\(request)")], to: &bytes)
        bytes.append(contentsOf: ",\"changes\":{".utf8)
        Self.append(changes, to: &bytes)
        bytes.append(contentsOf: "}}".utf8)
        return [UInt8(ascii: "{")] + bytes
    }

    private static func append(_ members: [(name: String, value: String)], to bytes: inout [UInt8]) {
        for (index, member) in members.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            WireMessage.appendString(member.name, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            WireMessage.appendString(member.value, to: &bytes)
        }
    }
}
