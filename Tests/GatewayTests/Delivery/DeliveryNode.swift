import LiveUpdates
import Logging
import Reactor

@testable import Gateway

/// The delivering half of a node in virtual time: the real ingest with its history, subscriptions and requests, and two loops
/// with their fan-out, streams and polls. Each message between them arrives when a step says so.
final class DeliveryNode {
    /// One thing that happens. A number is that of a client's place, a loop or a partition.
    enum Step: Hashable, Sendable {
        case wake(Wake)
        /// Ingest handles one message of the loops; a loop one of ingest.
        case serve
        case deliver(Int)
        case come(Int)
        case leave(Int)
        /// The kernel takes no more of a client's bytes, or takes all.
        case block(Int)
        case send(Int)
        /// All that is held becomes older than the retention.
        case trim
        case lose(Int)
        case recreate
        /// A loop goes over its connections; it answers one poll.
        case walk(Int)
        case answer(Int)
        case pass
    }

    /// What one wake brings.
    enum Wake: CaseIterable, Sendable {
        case one, both, other, burst

        /// Account, partition, entity, and the offsets that are left out before it.
        var records: [(account: Int, partition: Int, entity: String, hole: Int64)] {
            switch self {
            case .one: [(0, 0, "incident", 0)]
            case .both: [(0, 1, "note", 2), (1, 0, "incident", 0), (0, 0, "note", 1)]
            case .other: [(1, 1, "incident", 3), (1, 0, "note", 0)]
            case .burst: (0..<5).map { (0, $0 % 2, $0 == 2 ? "note" : "incident", 0) }
            }
        }
    }

    /// Where clients are, one after the other.
    struct Route: Sendable {
        let account: Int
        let loop: Int
        /// `@` stands for a cursor of the moment at which the client comes.
        let target: String
        var carrier = StreamForm.Carrier.webSocket
    }

    struct Event {
        let number: Int
        let account: Int
        let partition: PartitionName
        let offset: Int64
        let entity: String
    }

    static let loops = 2
    static let partitions = 2
    static let retention: Int64 = 10_000
    static let eventsPerAccount = 8

    let ingest: Ingest
    let fanOuts: [LoopFanOut<DeliveryClient>]
    let routes: [Route]
    /// In the order in which ingest took them.
    private(set) var events: [Event] = []
    /// The last client of each place.
    private(set) var clients: [DeliveryClient?]
    private(set) var all: [DeliveryClient] = []
    /// From here on a partition is read, since it lost its records before.
    private(set) var readFrom: [Int64]
    private var next: [Int64]
    private var requests = RequestQueue()
    /// What the loops have said and ingest has not heard.
    private var uplink: [IngestMessage] = []
    private var downlinks: [[FanOutMessage]]
    private var owesWalk: [Bool]
    private(set) var now: UInt64 = 1_000
    private var wall: Int64 = 1_000_000
    private var hasLost = false
    let mutant: DeliveryMutant?
    /// Messages that loops were sent.
    private var sent = 0
    /// What is wrong first; nil: nothing.
    private(set) var problem: String?

    init(_ routes: [Route], mutant: DeliveryMutant? = nil) throws {
        self.routes = routes
        self.mutant = mutant
        clients = routes.map { _ in nil }
        readFrom = Array(repeating: 0, count: Self.partitions)
        next = readFrom
        downlinks = Array(repeating: [], count: Self.loops)
        owesWalk = Array(repeating: false, count: Self.loops)
        let limits = HistoryLimits(
            retentionMilliseconds: Self.retention, maximumEventsPerAccount: Self.eventsPerAccount,
            maximumLogBytes: 1_000_000,
            maximumTimestampDelayMilliseconds: 1_000)
        ingest = Ingest(
            mapper: EventMapper(try EventMapping(.init(preset: "rails"))), limits: limits,
            outlets: (0..<Self.loops).map { _ in Ingest.Outlet(mailbox: Mailbox(), backlog: LoopBacklog()) },
            skipped: SkipLog(logger: Logger("test", to: SilentLog())))
        var policy = StreamPolicy()
        policy.maximumPendingBytes = 300
        policy.maximumPassedOver = 6
        policy.eventsPerPage = 2
        fanOuts = (0..<Self.loops).map { _ in LoopFanOut(policy: policy, topics: ["t"]) }
        ingest.begin(Epoch(number: 1))
        for partition in 0..<Self.partitions { open(partition) }
    }

    deinit { for client in all { client.subscription = nil } }

    static func name(_ partition: Int) -> PartitionName { PartitionName(topic: 0, number: Int32(partition)) }
    static func account(_ number: Int) -> Account { Account("A\(number)") }

    func expect(_ isTrue: Bool, _ problem: @autoclosure () -> String) {
        if !isTrue, self.problem == nil { self.problem = problem() }
    }

    // MARK: - What may happen

    func happen(_ step: Step) {
        switch step {
        case .wake(let wake): read(wake)
        case .serve: serve()
        case .deliver(let loop): deliver(loop)
        case .come(let route): come(route)
        case .leave(let route): clients[route]?.leave()
        case .block(let route): clients[route]?.isBlocked = true
        case .send(let route): clients[route]?.isBlocked = false
        case .trim:
            hasLost = true
            wall += Self.retention + 1
            ingest.sweep(wallClock: wall)
        case .lose(let partition): lose([.partition(Self.name(partition))], [partition])
        case .recreate: lose([.topic(0)], Array(0..<Self.partitions))
        case .walk(let loop): walk(loop)
        case .answer(let loop): if mutant != .answersNoPoll { _ = fanOuts[loop].answerNext() }
        case .pass: pass(2_000)
        }
        for client in all { client.endTick() }
    }

    /// Until nothing more happens by itself; then each client has what it is owed, and both sides count the same.
    func settleDown() {
        for client in clients { client?.isBlocked = false }
        for _ in 0..<12 {
            while !uplink.isEmpty || !requests.isEmpty { happen(.serve) }
            for loop in 0..<Self.loops {
                while !downlinks[loop].isEmpty { happen(.deliver(loop)) }
                for _ in 0..<all.count where fanOuts[loop].owesAnswers { happen(.answer(loop)) }
                expect(!fanOuts[loop].owesAnswers, "polls are owed an answer")
                happen(.walk(loop))
            }
            happen(.pass)
        }
        for client in all { client.expectNothingOwed() }
        for (loop, fanOut) in fanOuts.enumerated() {
            for number in 0..<2 {
                let account = Self.account(number)
                let here = all.count { $0.account == account && $0.route.loop == loop && !$0.hasEnded }
                let counted = ingest.history.number(of: account).flatMap { ingest.subscriptions[$0] }
                expect(Int(counted?.connectionsPerLoop[loop] ?? 0) == here, "ingest counts others than there are")
                let members = (fanOut.audiences[account]?.groups ?? []).reduce(0) {
                    $0 + $1.streams.count + $1.behindStreams.count + $1.waitingPolls
                }
                expect(members == here, "the loop has others than there are")
            }
        }
    }

    // MARK: - Kafka

    private func open(_ partition: Int) {
        let offset = next[partition]
        ingest.history.apply(
            Self.name(partition), LogFacts(start: offset, liveFrom: offset, born: 0, known: wall, next: offset))
    }

    private func read(_ wake: Wake) {
        ingest.beginWake(wallClock: wall, microseconds: now * 1_000)
        for (account, partition, entity, hole) in wake.records {
            next[partition] += hole
            let event = Event(
                number: events.count, account: account, partition: Self.name(partition), offset: next[partition],
                entity: entity)
            next[partition] += 1
            events.append(event)
            let json = #"{"account_id":"A\#(account)","entity":"\#(entity)","id":"\#(event.number)","type":"t"}"#
            ingest.take(
                PlainRecord(value: json), event.partition, offset: event.offset, timestamp: wall, now: now)
        }
        ingest.endWake(now: now)
        collect()
    }

    private func lose(_ lost: [LostLogs], _ partitions: [Int]) {
        ingest.endWake(now: now)
        hasLost = true
        for partition in partitions { readFrom[partition] = next[partition] }
        ingest.reset(lost, wallClock: wall)
        ingest.beginWake(wallClock: wall)
        for partition in partitions { open(partition) }
        while ingest.owesReset { ingest.continueReset(wallClock: wall) }
        for client in all { client.isOwedReset = client.hasJoined && !client.hasEnded }
        collect()
    }

    // MARK: - Messages

    func post(_ message: IngestMessage) { uplink.append(message) }

    private func serve() {
        _ = requests.add(exchange(&uplink, with: []))
        requests.serveSlice { message in
            _ = ingest.handle(message, now: now, wallClock: wall)
            if case .subscribe(let subscriber, _) = message { client(subscriber.connection)?.join(at: events.count) }
            return RequestQueue.maximumWork
        }
        collect()
    }

    private func collect() {
        for loop in 0..<Self.loops {
            for message in ingest.outlets[loop].mailbox.take() {
                sent += 1
                if let mutant {
                    mutant.change(message, sent).map { downlinks[loop].append($0) }
                } else {
                    downlinks[loop].append(message)
                }
            }
        }
    }

    private func client(_ id: ConnectionID) -> DeliveryClient? {
        let client = all[Int(id.number)]
        return client.hasEnded ? nil : client
    }

    private func deliver(_ loop: Int) {
        guard !downlinks[loop].isEmpty else { return }
        let message = downlinks[loop].remove(at: mutant?.next(of: downlinks[loop]) ?? 0)
        switch fanOuts[loop].receive(message, now: now, subscription: { client($0)?.subscription }) {
        case .nothing, .delivered: break
        case .joined(let id, let answer): client(id)?.subscription?.joined(answer, now: now)
        case .walk: owesWalk[loop] = true
        case .archive, .snapshotCursor: preconditionFailure("nobody asks for that here")
        }
    }

    private func walk(_ loop: Int) {
        guard owesWalk[loop] else { return }
        owesWalk[loop] = false
        if mutant != .skipsWalk { for client in all where client.route.loop == loop { client.settle() } }
        fanOuts[loop].forgetResets()
    }

    // MARK: - Clients and time

    /// Whether something of an account was let go that somebody may have been owed.
    func mayClose(_ account: Int) -> Bool {
        hasLost || events.count { $0.account == account } > Self.eventsPerAccount
    }

    private func come(_ route: Int) {
        guard clients[route]?.hasEnded ?? true else { return }
        let account = Self.account(routes[route].account)
        let since = ingest.history.freshCursor(account: account, now: wall)
        let client = DeliveryClient(ConnectionID(number: UInt64(all.count)), routes[route], since, on: self)
        clients[route] = client
        all.append(client)
        client.begin()
    }

    private func pass(_ milliseconds: UInt64) {
        now += milliseconds
        wall += Int64(milliseconds)
        ingest.endWaits(now: now, wallClock: wall)
        collect()
        for client in all { client.wake() }
    }
}
