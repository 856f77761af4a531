import HTTP
import Kafka
import LiveUpdates
import Logging
import Reactor
import TLS
import Tokens
import Transport
import WebSocket

/// A whole gateway: loops, listeners, ingest and administration, from its start to its end.
///
///     running ──stop()──► draining ──► stopped
///
/// An actor because starting and stopping wait for other threads; no event passes through it.
package actor GatewayServer {
    /// From the stop to the end, whatever clients do: closes get the time of a close handshake, and what is left then
    /// is cut.
    static let stopLimitMilliseconds: UInt64 = 4_000

    private let parts: Parts
    private let logger: Logger
    private let readiness: NodeReadiness
    private let ready: @Sendable () -> Void
    private let failure: @Sendable (GatewayError) -> Void
    private var connectionLoops: [LoopBound<ConnectionLoop>] = []
    private var desk: LoopBound<IngestDesk>?
    private var listeners: [LoopBound<Listener>] = []
    private var loops: [EventLoop] = []
    private var isStopping = false

    /// The addresses that are listened on, with the ports that the system chose; after ``start()``.
    package private(set) var addresses: [SocketAddress] = []
    package private(set) var adminAddress: SocketAddress?

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
        readiness = NodeReadiness(graceMilliseconds: parts.settings.limits.brokerGrace?.milliseconds)
    }

    // MARK: - Start

    /// Listens and begins to read. Clients are refused with 503 until the node is ready.
    package func start() async throws(GatewayError) {
        let count = parts.settings.loops > 0 ? parts.settings.loops : ProcessLimits.usableCores
        let (ingestLoop, probeLoop, workers) = try makeLoops(count)
        loops = [ingestLoop, probeLoop] + workers

        let (desk, ingestBox) = await ingestLoop.perform { () -> (LoopBound<IngestDesk>, Mailbox<IngestMessage>) in
            let desk = LoopBound(IngestDesk(loop: ingestLoop), loop: ingestLoop)
            return (desk, Mailbox(loop: ingestLoop) { desk.value.receive($0) })
        }
        self.desk = desk
        let outlets = await makeConnectionLoops(workers, ingest: ingestBox)
        try await listen(workers)
        let assembly = IngestAssembly(
            settings: ConsumerSettings(parts.settings.kafka), mapping: parts.mapping,
            history: HistoryLimits(parts.settings.history),
            epochNumber: UInt32(clamping: parts.settings.history.epoch), outlets: outlets, readiness: readiness,
            logger: logger,
            loop: ingestLoop, probeLoop: probeLoop, ready: ready, failure: failure)
        let problem = await ingestLoop.perform { assembly.open(desk.value) }
        if let problem { throw problem }
    }

    private func makeLoops(
        _ count: Int
    ) throws(GatewayError) -> (ingest: EventLoop, probe: EventLoop, workers: [EventLoop]) {
        do throws(ReactorError) {
            var workers: [EventLoop] = []
            for index in 0..<count { workers.append(try EventLoop(label: "\(index)")) }
            return (try EventLoop(label: "ingest"), try EventLoop(label: "probe"), workers)
        } catch {
            throw .system(error)
        }
    }

    private func makeConnectionLoops(_ workers: [EventLoop], ingest: Mailbox<IngestMessage>) async -> [Ingest.Outlet] {
        let policy = ConnectionPolicy(parts)
        let admission = Admission(
            verifier: parts.verifier, readiness: readiness, agreesToDeflate: parts.settings.websocket.deflate,
            syncLimits: SyncLimits(parts.settings.limits))
        let log = ConnectionLog(logger: logger.named("connection"))
        var outlets: [Ingest.Outlet] = []
        for (index, loop) in workers.enumerated() {
            let backlog = LoopBacklog()
            let (connections, mailbox) = await loop.perform {
                () -> (LoopBound<ConnectionLoop>, Mailbox<FanOutMessage>) in
                let connections = LoopBound(
                    ConnectionLoop(
                        eventLoop: loop, index: index, policy: policy, admission: admission, log: log,
                        ingest: ingest, backlog: backlog), loop: loop)
                return (connections, Mailbox(inTurnsOn: loop) { connections.value.receive($0) })
            }
            connectionLoops.append(connections)
            outlets.append(Ingest.Outlet(mailbox: mailbox, backlog: backlog))
        }
        return outlets
    }

    // MARK: - Listening

    private func listen(_ workers: [EventLoop]) async throws(GatewayError) {
        for address in parts.settings.listen {
            let sockets = try open(address, count: workers.count)
            addresses.append(sockets[0].address)
            for (socket, connections) in zip(sockets, connectionLoops) {
                try await accept(on: connections.loop) { () throws(ReactorError) in
                    try connections.value.listen(socket)
                }
            }
        }
        guard parts.servesAdmin, let loop = workers.first else { return }
        let socket = try open(parts.settings.admin, count: 1)[0]
        adminAddress = socket.address
        try await accept(on: loop) { [readiness] () throws(ReactorError) in
            try Listener(socket, loop: loop) { descriptor, _ in
                AdminConnection(descriptor, loop: loop, readiness: readiness).start()
            }
        }
    }

    private func open(_ address: SocketAddress, count: Int) throws(GatewayError) -> [ListeningSocket] {
        do throws(ReactorError) {
            return try ListeningSocket.open(address, count: count)
        } catch {
            throw .listen(error)
        }
    }

    private func accept(
        on loop: EventLoop, _ make: @escaping @Sendable () throws(ReactorError) -> Listener
    ) async throws(GatewayError) {
        let result = await loop.perform { () -> Result<LoopBound<Listener>, ReactorError> in
            Result { () throws(ReactorError) in LoopBound(try make(), loop: loop) }
        }
        switch result {
        case .success(let listener): listeners.append(listener)
        case .failure(let error): throw .listen(error)
        }
    }

    // MARK: - Stop

    /// Closes listeners, then connections with 1001, and ends within ``stopLimitMilliseconds``. Once.
    package func stop() async {
        guard !isStopping else { return }
        isStopping = true
        readiness.drain()
        for listener in listeners { await listener.loop.perform { listener.value.close() } }
        for connections in connectionLoops { await connections.loop.perform { connections.value.closeAll(.goingAway) } }
        await waitForConnections()
        var counters = LoopCounters()
        for connections in connectionLoops {
            counters = counters + (await connections.loop.perform { connections.value.totals })
        }
        let read = await desk?.loop.perform { [desk] in desk?.value.close() }
        report(counters, (read ?? nil) ?? IngestCounters())
        await stopLoops()
    }

    /// A stop that is under way waits for no client any more.
    package func hurry() async {
        for connections in connectionLoops { await connections.loop.perform { connections.value.cutAll() } }
    }

    /// Until nothing runs on any loop: the process may end then.
    private func stopLoops() async {
        await withTaskGroup(of: Void.self) { group in
            for loop in loops { group.addTask { await loop.stopped() } }
        }
    }

    /// Until every connection has ended, or the time is up; on all loops at once.
    private func waitForConnections() async {
        await withTaskGroup(of: Void.self) { group in
            for connections in connectionLoops {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        connections.loop.execute {
                            connections.value.whenEmpty(within: Self.stopLimitMilliseconds) { continuation.resume() }
                        }
                    }
                }
            }
        }
    }

    private func report(_ counters: LoopCounters, _ read: IngestCounters) {
        logger.notice(
            "stopped",
            [
                .records: .number(Int(read.records)), .events: .number(Int(read.events)),
                .deliveries: .number(Int(counters.deliveries)), .connections: .number(Int(counters.opened)),
                .skipped: Self.text(read.skipped.map { ($0.key.rawValue, $0.value) }),
                .refused: Self.text(counters.refusals.map { ($0.key, $0.value) }),
                .resyncs: Self.text(counters.resyncs.map { ($0.key, $0.value) }),
                .closed: Self.text(counters.closes.map { ("\($0.key)", $0.value) }),
                .ended: Self.text(counters.ends.map { ($0.key, $0.value) }),
            ])
    }

    private static func text(_ counts: [(name: String, count: UInt64)]) -> LogValue {
        guard !counts.isEmpty else { return .absent }
        return .text(counts.sorted { $0.name < $1.name }.map { "\($0.name)=\($0.count)" }.joined(separator: " "))
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
