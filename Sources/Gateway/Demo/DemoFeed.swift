import Balancer
import Glibc
import Kafka
import LiveUpdates
import Logging
import Reactor

/// The embedded broker, and the product that writes to it and answers its API, on a loop of their own.
struct DemoFeed: Sendable {
    /// The accounts, which are independent of each other; clients of the demo are admitted to the first.
    static let accounts = ["PACC1", "PACC2", "PACC3"]
    /// From the invitation to the first event: a client that connects at once gets the story from its beginning.
    static let headStartMilliseconds: UInt64 = 1_500
    /// Every demo shows the same story.
    static let seed: UInt64 = 1

    let bootstrap: String
    private let source: LoopBound<Source>

    /// - Parameters:
    ///   - socket: where the API is served, from now on.
    ///   - hasPast: yesterday's incidents are written too, before anything reads.
    static func start(
        _ door: DemoSite.Door, api socket: ListeningSocket, hasPast: Bool, logger: Logger
    ) async throws(GatewayError) -> DemoFeed {
        let loop: EventLoop
        do throws(ReactorError) {
            loop = try EventLoop(label: "feed")
        } catch {
            throw .system(error)
        }
        let made = await loop.perform { () -> Result<DemoFeed, GatewayError> in
            do throws(KafkaError) {
                let source = try Source(door, loop: loop, logger: logger)
                if hasPast { source.writePast() }
                do throws(ReactorError) { try source.listen(on: socket) } catch { return .failure(.listen(error)) }
                return .success(DemoFeed(bootstrap: source.bootstrap, source: LoopBound(source, loop: loop)))
            } catch {
                return .failure(.kafka(error))
            }
        }
        switch made {
        case .success(let feed): return feed
        case .failure(let error):
            loop.stop()
            throw error
        }
    }

    /// Begins to write, and gives pages the gateway's address.
    func go(gateway: SocketAddress) {
        source.loop.execute { [source] in source.value.begin(gateway: gateway) }
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
        private let site: DemoSite
        private var listener: Listener?
        private var beganAt: UInt64 = 0
        private var isStopped = false
        /// The count for people's records, whose numbers are separate from those of the story.
        private var requestCount: UInt64 = 1_000_000

        init(_ door: DemoSite.Door, loop: EventLoop, logger: Logger) throws(KafkaError) {
            site = DemoSite(door, accounts: DemoFeed.accounts, seed: DemoFeed.seed + 1)
            self.loop = loop
            self.logger = logger
            cluster = try MockCluster()
            try cluster.createTopic(Demo.topic, partitions: Demo.partitions)
            bootstrap = cluster.bootstrap
            producer = try Producer(brokers: bootstrap)
            feed = IncidentFeed(
                seed: DemoFeed.seed, accounts: DemoFeed.accounts, startMilliseconds: Int64(time(nil)) * 1000)
        }

        /// Answers the API from now on.
        func listen(on socket: ListeningSocket) throws(ReactorError) {
            site.publish = { [weak self] account, changes in self?.publishAction(account, changes) }
            site.setBroker = { [weak self] isUp in self?.setBroker(isUp) }
            let connections = AdminConnections(site, loop: loop)
            listener = try Listener(socket, loop: loop, accept: { connections.accept($0, peer: ClientAddress($1)) })
        }

        /// Writes the events of yesterday, with stamps of yesterday.
        func writePast() {
            let now = Timestamp.now()
            for record in IncidentFeed.past(seed: DemoFeed.seed + 2, accounts: DemoFeed.accounts, before: now) {
                for change in site.follow(record.change, of: record.account, at: record.moment) {
                    write(value(of: change, record.account, at: record.moment), record.account, at: record.moment)
                }
            }
            producer.poll()
        }

        func begin(gateway: SocketAddress) {
            site.gateway = gateway
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
            // The state changes before its event is written: a client that is notified finds it.
            for change in site.follow(record.change, of: record.account, at: Timestamp.now()) {
                write(change == record.change ? record.value : value(of: change, record.account), record.account)
            }
            producer.poll()
            scheduleNext()
        }

        /// Publishes people's changes.
        private func publishAction(_ account: String, _ changes: [FeedChange]) {
            for change in changes { write(value(of: change, account), account) }
            producer.poll()
        }

        private func value(of change: FeedChange, _ account: String, at moment: Int64 = Timestamp.now()) -> [UInt8] {
            requestCount += 1
            return change.value(account: account, occurred: moment, request: requestCount)
        }

        /// A moment of 0 is now.
        private func write(_ value: [UInt8], _ account: String, at moment: Int64 = 0) {
            do {
                _ = try producer.produce(
                    topic: Demo.topic, key: Array(account.utf8), value: value, timestamp: moment)
            } catch {
                logger.error(
                    "the feed cannot write",
                    [.error: .text("\(error)"), .advice: "start the demo again"])
            }
        }

        private func setBroker(_ isUp: Bool) {
            do {
                if isUp { try cluster.setUp() } else { try cluster.setDown() }
            } catch {
                logger.error(
                    "the broker cannot be switched",
                    [.error: .text("\(error)"), .advice: "start the demo again"])
            }
        }

        func stop() {
            isStopped = true
            listener?.close()
        }
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
