import Kafka
import Reactor

/// The embedded broker and what is written to it, on a loop of its own.
final class BenchBroker: Sendable {
    static let topic = "bench"
    static let partitions = 4

    let bootstrap: String
    private let loop: EventLoop
    private let source: LoopBound<Source>

    static func start() async throws -> BenchBroker {
        let loop = try EventLoop(label: "broker")
        let made = await loop.run { () -> Result<LoopBound<Source>, KafkaError> in
            Result { () throws(KafkaError) in LoopBound(try Source(loop: loop), loop: loop) }
        }
        let source = try made.get()
        let bootstrap = await loop.run { source.value.bootstrap }
        return BenchBroker(bootstrap, loop, source)
    }

    private init(_ bootstrap: String, _ loop: EventLoop, _ source: LoopBound<Source>) {
        self.bootstrap = bootstrap
        self.loop = loop
        self.source = source
    }

    /// Writes `count` records as fast as the broker takes them, to the accounts in turn.
    func writeAll(_ count: Int, accounts: [String]) async {
        await withCheckedContinuation { done in
            loop.execute { [source] in source.value.writeAll(count, accounts) { done.resume() } }
        }
    }

    /// Writes `count` records, one every `interval` µs.
    func writePaced(_ count: Int, everyMilliseconds interval: UInt64, accounts: [String]) async {
        await withCheckedContinuation { done in
            loop.execute { [source] in source.value.writePaced(count, interval, accounts) { done.resume() } }
        }
    }

    func stop() { loop.stop() }

    private final class Source {
        let bootstrap: String
        private let loop: EventLoop
        private let cluster: MockCluster
        private let producer: Producer
        private var written = 0

        init(loop: EventLoop) throws(KafkaError) {
            self.loop = loop
            cluster = try MockCluster()
            try cluster.createTopic(BenchBroker.topic, partitions: BenchBroker.partitions)
            bootstrap = cluster.bootstrap
            producer = try Producer(brokers: bootstrap)
        }

        private func write(_ accounts: [String]) -> Bool {
            let account = accounts[written % accounts.count]
            let key = Array(account.utf8)
            guard
                (try? producer.produce(topic: BenchBroker.topic, key: key, value: BenchEvent.record(account: account)))
                    == true
            else { return false }
            written += 1
            return true
        }

        func writeAll(_ count: Int, _ accounts: [String], _ done: @escaping () -> Void) {
            var left = count
            while left > 0, write(accounts) { left -= 1 }
            producer.poll()
            guard left > 0 else { return done() }
            loop.schedule(afterMilliseconds: 1) { [self] in writeAll(left, accounts, done) }
        }

        func writePaced(_ count: Int, _ interval: UInt64, _ accounts: [String], _ done: @escaping () -> Void) {
            guard count > 0 else { return done() }
            _ = write(accounts)
            producer.poll()
            loop.schedule(afterMilliseconds: interval) { [self] in writePaced(count - 1, interval, accounts, done) }
        }
    }
}

extension EventLoop {
    /// Runs work on the loop and waits for its result.
    func run<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            execute { continuation.resume(returning: work()) }
        }
    }
}
