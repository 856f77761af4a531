import Glibc
import Kafka
import Reactor

/// The embedded broker and the records written to it, on a loop of its own.
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

    /// Writes `count` records as fast as the broker accepts them, to the accounts in turn.
    func writeAll(_ count: Int, accounts: [String]) async {
        await withCheckedContinuation { done in
            loop.execute { [source] in source.value.writeAll(count, accounts) { done.resume() } }
        }
    }

    /// Writes `count` records, `atOnce` of them every `interval` milliseconds.
    func writePaced(
        _ count: Int, atOnce: Int = 1, everyMilliseconds interval: UInt64, accounts: [String]
    ) async {
        await withCheckedContinuation { done in
            loop.execute { [source, loop] in
                source.value.writePaced(count, atOnce, interval, accounts, due: loop.now) { done.resume() }
            }
        }
    }

    /// The time that is the id of the last written record, in µs.
    func lastWritten() async -> Int64 { await loop.run { [source] in source.value.lastWritten } }

    func stop() { loop.stop() }

    private final class Source {
        let bootstrap: String
        private let loop: EventLoop
        private let cluster: MockCluster
        private let producer: Producer
        private var written = 0
        private(set) var lastWritten: Int64 = 0

        init(loop: EventLoop) throws(KafkaError) {
            self.loop = loop
            cluster = try MockCluster()
            try cluster.createTopic(BenchBroker.topic, partitions: BenchBroker.partitions)
            bootstrap = cluster.bootstrap
            producer = try Producer(brokers: bootstrap)
            // The wait of the first record is not a latency of the gateway.
            producer.learnLeaders(of: BenchBroker.topic, within: 10_000)
        }

        private func write(_ accounts: [String]) -> Bool {
            let account = accounts[written % accounts.count]
            let now = BenchEvent.now()
            let value = BenchEvent.record(account: account, at: now)
            guard (try? producer.produce(topic: BenchBroker.topic, key: Array(account.utf8), value: value)) == true
            else { return false }
            written += 1
            lastWritten = now
            return true
        }

        func writeAll(_ count: Int, _ accounts: [String], _ done: @escaping () -> Void) {
            var left = count
            while left > 0, write(accounts) { left -= 1 }
            producer.poll()
            guard left > 0 else { return done() }
            loop.schedule(afterMilliseconds: 1) { [self] in writeAll(left, accounts, done) }
        }

        /// `due` is when this part was to be written, in ms of the loop: a late part does not delay the following ones.
        func writePaced(
            _ count: Int, _ atOnce: Int, _ interval: UInt64, _ accounts: [String], due: UInt64,
            _ done: @escaping () -> Void
        ) {
            guard count > 0 else { return done() }
            var left = count
            while left > max(0, count - atOnce), write(accounts) { left -= 1 }
            producer.poll()
            loop.schedule(at: due + interval) { [self] in
                writePaced(left, atOnce, interval, accounts, due: due + interval, done)
            }
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

/// The records of a run: in the form of Rails, about 130 bytes, with the time when they were made as their id.
enum BenchEvent {
    /// Monotonic µs; the same clock in all processes of a machine.
    static func now() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    static func record(account: String, at time: Int64) -> [UInt8] {
        Array(
            #"{"account_id":"\#(account)","entity":"incidents::incident","id":"\#(time)","type":"updated"}"#.utf8)
    }

    private static let idMark = Array(#""id":""#.utf8)

    /// The time in a message's id.
    static func microseconds(in payload: [UInt8]) -> Int64? {
        guard let mark = payload.firstRange(of: idMark) else { return nil }
        var value: Int64 = 0
        for byte in payload[mark.upperBound...] {
            guard byte >= 0x30, byte <= 0x39 else { break }
            value = value * 10 + Int64(byte - 0x30)
        }
        return value
    }
}
