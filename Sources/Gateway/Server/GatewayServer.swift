import HTTP
import Kafka
import LiveUpdates
import Logging
import Reactor
import TLS
import Tokens
import Transport
import WebSocket

/// A whole gateway: loops, listeners, ingest and administration, from its start to its end, which ``NodeLifecycle`` describes.
///
/// An actor because starting and stopping wait for other threads; no event passes through it.
package actor GatewayServer {
    /// The parts in use; replaced when settings are read again.
    var parts: Parts
    let logger: Logger
    let readiness: NodeReadiness
    /// Connected clients, of all loops together.
    let quota: ConnectionQuota
    /// How many descriptors this process may open.
    private let descriptors: Int
    /// Of these, how many the node itself has: 0 until it is ready.
    private var ownDescriptors = 0
    private let usedTickets = NodeTickets()
    let revocations: NodeRevocations
    private let ready: @Sendable () -> Void
    let failure: @Sendable (GatewayError) -> Void
    private(set) var connectionLoops: [LoopBound<ConnectionLoop>] = []
    private(set) var requests: LoopBound<IngestRequests>?
    /// Nil where no control topic is read.
    var control: LoopBound<ControlSource>?
    /// Nil where there is no archive.
    let archive: NodeArchive?
    var feeder: ArchiveFeeder?
    /// Asks other servers about tokens.
    private(set) var tokenLookup: LoopBound<TokenLookup>?
    let lookupCounters = TokenLookupCounters()
    /// The clients' listeners. That of the administration is closed last: probes are answered to the end.
    private(set) var listeners: [LoopBound<Listener>] = []
    var adminListener: LoopBound<Listener>?
    var administration: Administration?
    var loops: [EventLoop] = []

    // The state of GatewayServer+Stopping.swift.
    var lifecycle: NodeLifecycle
    var timer: Task<Void, Never>?
    /// Ends when the listeners of clients are closed; nil: they are open.
    var closing: Task<Void, Never>?
    /// Counts decisions about the closes: a spread that waits for loops is void once the count has risen.
    var spreads = 0
    /// Whether each of ``loops`` has turned since the order to close all clients; empty before.
    var turns: [Reply<Bool>] = []
    /// When they were asked to: monotonic, in milliseconds.
    var turnsAskedAt: UInt64 = 0
    var hasEnded = false
    var whenStopped: [CheckedContinuation<Void, Never>] = []
    /// How often its settings were read again.
    package nonisolated let reloads = ReloadRecord()

    /// The addresses that are listened on, with the ports that the system chose; after ``start()``.
    package private(set) var addresses: [SocketAddress] = []
    package var adminAddress: SocketAddress?

    /// - Parameters:
    ///   - ready: called once, when clients are let in.
    ///   - failure: called once, when the gateway cannot go on by itself and should be stopped.
    package init(
        _ parts: Parts, logger: Logger, ready: @escaping @Sendable () -> Void = {},
        failure: @escaping @Sendable (GatewayError) -> Void
    ) {
        self.parts = parts
        self.logger = logger
        self.ready = ready
        self.failure = failure
        lifecycle = NodeLifecycle(NodeLifecycle.Times(parts.settings.lifecycle))
        descriptors = Int(clamping: (try? ProcessLimits.raiseDescriptorLimit()) ?? 1024)
        quota = ConnectionQuota(QuotaLimits(parts.settings.limits, descriptors: descriptors, own: 0))
        readiness = NodeReadiness(
            graceMilliseconds: parts.settings.kafka.brokerGrace?.milliseconds,
            awaitsControl: parts.settings.control.topic != nil)
        revocations = NodeRevocations(retention: parts.settings.control.retention)
        archive =
            parts.settings.archive.store == .off
            ? nil : NodeArchive(topics: ConsumerSettings(parts.settings.kafka).orderedTopics)
    }

    // MARK: - Start

    /// Listens and begins to read. Clients are refused with 503 until the node is ready.
    package func start() async throws(GatewayError) {
        let count = parts.settings.loops > 0 ? parts.settings.loops : ProcessLimits.usableCores
        let (ingestLoop, probeLoop, adminLoop, lookupLoop, workers) = try makeLoops(count)
        loops = [ingestLoop, probeLoop, lookupLoop] + workers + [adminLoop]

        let (requests, ingestBox) = await ingestLoop.perform {
            () -> (LoopBound<IngestRequests>, Mailbox<IngestMessage>) in
            let requests = LoopBound(IngestRequests(loop: ingestLoop), loop: ingestLoop)
            return (requests, Mailbox(loop: ingestLoop) { requests.value.receive($0) })
        }
        self.requests = requests
        let outlets = await makeConnectionLoops(workers, ingest: ingestBox, lookup: lookupLoop)
        try await listen(workers)
        try await listenForAdministration(on: adminLoop)
        let assembly = IngestAssembly(
            settings: ConsumerSettings(parts.settings.kafka), mapping: parts.mapping,
            history: HistoryLimits(parts.settings.history),
            epochNumber: UInt32(clamping: parts.settings.history.epoch), outlets: outlets, readiness: readiness,
            intake: archive?.intake, logger: logger,
            loop: ingestLoop, probeLoop: probeLoop,
            ready: { [weak self, ready] in
                ready()
                Task { await self?.countOwnDescriptors() }
            }, failure: failure)
        let problem = await ingestLoop.perform { assembly.open(requests.value) }
        if let problem { throw problem }
        try await openArchive()
        try await openControl(requests)
    }

    private func makeLoops(
        _ count: Int
    ) throws(GatewayError) -> (
        ingest: EventLoop, probe: EventLoop, admin: EventLoop, lookup: EventLoop, workers: [EventLoop]
    ) {
        do throws(ReactorError) {
            var workers: [EventLoop] = []
            for index in 0..<count { workers.append(try EventLoop(label: "\(index)")) }
            return (
                try EventLoop(label: "ingest"), try EventLoop(label: "probe"), try EventLoop(label: "admin"),
                try EventLoop(label: "token checks"), workers
            )
        } catch {
            throw .system(error)
        }
    }

    private func makeConnectionLoops(
        _ workers: [EventLoop], ingest: Mailbox<IngestMessage>, lookup: EventLoop
    ) async -> [Ingest.Outlet] {
        let (tokenLookup, lookupBox) = await lookup.perform {
            () -> (LoopBound<TokenLookup>, Mailbox<TokenLookupRequest>) in
            let requests = LoopBound(TokenLookup(loop: lookup), loop: lookup)
            return (requests, Mailbox(loop: lookup) { requests.value.receive($0) })
        }
        self.tokenLookup = tokenLookup
        let policy = ConnectionPolicy(parts)
        let admission = Admission(
            parts, readiness: readiness, usedTickets: usedTickets, revocations: revocations)
        let log = ConnectionLog(logger: logger.named("connection"))
        let (quota, topics) = (quota, ConsumerSettings(parts.settings.kafka).orderedTopics)
        let requests = archive?.requests
        var outlets: [Ingest.Outlet] = []
        var lookupOutlets: [Mailbox<TokenLookupAnswer>] = []
        for (index, loop) in workers.enumerated() {
            let backlog = LoopBacklog()
            let (connections, mailbox, answers) = await loop.perform {
                () -> (LoopBound<ConnectionLoop>, Mailbox<FanOutMessage>, Mailbox<TokenLookupAnswer>) in
                let connections = LoopBound(
                    ConnectionLoop(
                        eventLoop: loop, index: index, policy: policy, admission: admission, log: log,
                        ingest: ingest, lookups: lookupBox, quota: quota, backlog: backlog, topics: topics,
                        archive: requests),
                    loop: loop)
                return (
                    connections, Mailbox(inTurnsOn: loop) { connections.value.receive($0) },
                    Mailbox(inTurnsOn: loop) { connections.value.receive($0) }
                )
            }
            connectionLoops.append(connections)
            outlets.append(Ingest.Outlet(mailbox: mailbox, backlog: backlog))
            lookupOutlets.append(answers)
        }
        requests?.open(outlets.map(\.mailbox))
        await lookup.perform { [lookupOutlets, parts, readiness, lookupCounters, logger, connectionLoops] in
            tokenLookup.value.open(
                parts.verifier, outlets: lookupOutlets, readiness: readiness, counters: lookupCounters,
                logger: logger.named("keys")
            ) {
                for connections in connectionLoops {
                    connections.loop.execute { connections.value.visitAllConnections() }
                }
            }
        }
        return outlets
    }

    /// The node has opened what it needs: other descriptors than clients' are its own. New clients count as clients.
    private func countOwnDescriptors() async {
        guard let open = ProcessUsage.now()?.openDescriptors else { return }
        var clients = 0
        for connections in connectionLoops {
            clients += await connections.loop.perform { connections.value.connections.count }
        }
        ownDescriptors = max(0, Int(clamping: open) - clients)
        quota.change(to: QuotaLimits(parts.settings.limits, descriptors: descriptors, own: ownDescriptors))
        let wanted = parts.settings.limits.maximumConnections
        guard wanted > QuotaLimits.clients(of: descriptors, own: ownDescriptors) else { return }
        // The settings allow more than the system: clients would be refused below the limit that was set.
        logger.warning(
            "limits.max_connections is more than descriptors allow: raise the limit of open files (ulimit -n)",
            [.limit: .number(wanted), .count: .number(descriptors)])
    }

    // MARK: - Listening

    private func listen(_ workers: [EventLoop]) async throws(GatewayError) {
        let highestDescriptor = QuotaLimits.highestDescriptor(of: descriptors)
        for address in parts.settings.listen {
            let sockets = try open(address, count: workers.count)
            addresses.append(sockets[0].address)
            for (socket, connections) in zip(sockets, connectionLoops) {
                listeners.append(
                    try await listener(on: connections.loop) { () throws(ReactorError) in
                        try connections.value.listen(socket, highestDescriptor: highestDescriptor)
                    })
            }
        }
    }

    func open(_ address: SocketAddress, count: Int) throws(GatewayError) -> [ListeningSocket] {
        do throws(ReactorError) {
            return try ListeningSocket.open(address, count: count)
        } catch {
            throw .listen(error)
        }
    }

    func listener(
        on loop: EventLoop, _ make: @escaping @Sendable () throws(ReactorError) -> Listener
    ) async throws(GatewayError) -> LoopBound<Listener> {
        let result = await loop.perform { () -> Result<LoopBound<Listener>, ReactorError> in
            Result { () throws(ReactorError) in LoopBound(try make(), loop: loop) }
        }
        switch result {
        case .success(let listener): return listener
        case .failure(let error): throw .listen(error)
        }
    }

    // MARK: - Settings that were read again

    /// Continues with other parts. New connections get the new certificate and verifier, all have the new limits, and none is
    /// dropped. What counts only after a restart must be unchanged in them.
    ///
    /// Each loop adopts them between two of its ticks, as whole values. No connection ever sees half of them, and no loop waits
    /// for another. A loop's questions based on them arrive behind them.
    package func adopt(_ parts: Parts) {
        self.parts = parts
        readiness.setGrace(milliseconds: parts.settings.kafka.brokerGrace?.milliseconds)
        administration?.adopt(parts.administrationRules)
        let policy = ConnectionPolicy(parts)
        let admission = Admission(
            parts, readiness: readiness, usedTickets: usedTickets, revocations: revocations)
        quota.change(to: QuotaLimits(parts.settings.limits, descriptors: descriptors, own: ownDescriptors))
        tokenLookup?.loop.execute { [tokenLookup] in tokenLookup?.value.adopt(parts.verifier) }
        for connections in connectionLoops {
            connections.loop.execute { connections.value.adopt(policy, admission) }
        }
    }
}

extension EventLoop {
    /// Runs work on the loop and waits for its result; for starting and stopping, never on the data path.
    func perform<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            execute { continuation.resume(returning: work()) }
        }
    }

    /// Stops the loop and waits until nothing runs on it.
    func stopped() async {
        await withCheckedContinuation { continuation in stop { continuation.resume() } }
    }
}
