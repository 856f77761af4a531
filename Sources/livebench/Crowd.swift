import HTTP
import Reactor
import TLS
import Transport
import WebSocket

/// The clients of one run, on a loop of their own. Confined to it.
final class Crowd {
    /// How long to wait until everything arrives. What has not arrived by then is lost, and the report shows it.
    static let patienceMilliseconds: UInt64 = 60_000

    /// What the crowd has recorded.
    struct Outcome: Sendable {
        let opened: Int
        /// How many of these used a ticket.
        let resumed: Int
        let received: Int
        let failures: [String: Int]
        let latencies: [UInt32]
    }

    let loop: EventLoop
    /// The receiver's events of the present bytes; kept between calls only to reuse the memory.
    var events: [WebSocketEvent] = []
    private var opened = 0
    private var resumed = 0
    private var received = 0
    private var failures: [String: Int] = [:]
    /// From produce to receive, in µs.
    private var latencies: [UInt32] = []
    /// From ping to pong, in µs.
    private var turns: [UInt32] = []

    private let plan: CrowdPlan
    private let shared: TransportLoop
    private var clients: [BenchClient] = []
    /// The tickets of the present visit, and those received in it for the next one: a ticket is used once (RFC 8446 §C.4).
    private var tickets: (now: [TLSTicket], next: [TLSTicket]) = ([], [])
    /// How many times the crowd connected before.
    private var visits = 0
    private var opening = 0
    private var awaited: (received: Int, done: () -> Void)?
    private var patience: Timer?
    private var allOpen: (() -> Void)?

    init(_ plan: CrowdPlan, loop: EventLoop) {
        self.plan = plan
        self.loop = loop
        var limits = TransportLimits()
        limits.handshakesPerTick = 16
        shared = TransportLoop(loop: loop, limits: limits)
        clients.reserveCapacity(plan.connections)
    }

    var outcome: Outcome {
        Outcome(opened: opened, resumed: resumed, received: received, failures: failures, latencies: latencies)
    }

    // MARK: - Opening

    /// Opens every connection; `done` is called when all of them are open or have failed.
    func open(_ done: @escaping () -> Void) {
        allOpen = done
        for _ in 0..<min(plan.handshakesAtOnce, plan.connections) { openNext() }
    }

    private func openNext() {
        guard clients.count < plan.connections else { return }
        let client = BenchClient(crowd: self, request: plan.request(clients.count))
        clients.append(client)
        opening += 1
        let address = plan.address(clients.count - 1, visit: visits)
        Connector.connect(to: .address(address), loop: loop) { [weak self] result in
            guard let self else { return }
            switch consume result {
            case .success(let descriptor):
                client.start(descriptor, security: plan.security, ticket: tickets.now.popLast(), on: shared)
            case .failure(let error): clientFailed("\(error)")
            }
        }
    }

    func clientOpened(_ client: BenchClient) {
        opened += 1
        if client.isResumed { resumed += 1 }
        if plan.keepsTickets, let ticket = client.ticket { tickets.next.append(ticket) }
        handshakeEnded()
    }

    func clientFailed(_ reason: String) {
        failures[reason, default: 0] += 1
        handshakeEnded()
    }

    func clientLost(_ reason: String) { failures[reason, default: 0] += 1 }

    private func handshakeEnded() {
        opening -= 1
        openNext()
        if opening == 0, clients.count == plan.connections, let done = allOpen.take() { done() }
    }

    // MARK: - Receiving

    /// Calls `done` when this many messages have been received in all, or the time is over.
    func await(_ count: Int, withinMilliseconds limit: UInt64, _ done: @escaping () -> Void) {
        awaited = (count, done)
        let timer = loop.schedule(afterMilliseconds: limit) { [weak self] in self?.finishWaiting() }
        patience = timer
        if received >= count { finishWaiting() }
    }

    /// An event, with the time when it was made, in µs.
    func clientReceived(at time: Int64) {
        received += 1
        latencies.append(UInt32(clamping: BenchEvent.now() - time))
        if let awaited, received >= awaited.received { finishWaiting() }
    }

    /// The latencies since the last call, in µs.
    func takeLatencies() -> [UInt32] {
        defer { latencies = [] }
        return latencies
    }

    // MARK: - Turns

    /// From now on until the crowd is closed, one client after the other sends a ping, one each time this many milliseconds pass.
    func keepPinging(everyMilliseconds interval: UInt64, from index: Int = 0) {
        guard !clients.isEmpty else { return }
        clients[index % clients.count].ping()
        loop.schedule(afterMilliseconds: interval) { [weak self] in
            self?.keepPinging(everyMilliseconds: interval, from: index + 1)
        }
    }

    func clientAnswered(ping payload: [UInt8]) {
        guard let time = Int64(String(decoding: payload, as: UTF8.self)) else { return }
        turns.append(UInt32(clamping: BenchEvent.now() - time))
    }

    /// The times that pings waited since the last call, in µs.
    func takeTurns() -> [UInt32] {
        defer { turns = [] }
        return turns
    }

    // MARK: - Attention

    func turn(_ attention: BenchClient.Attention) {
        for client in clients { client.turn(attention) }
    }

    var tallies: [BenchClient.Tally] { clients.map(\.tally) }

    /// Passes to `done` whether each client that is still connected has the event of that time: as soon as all have it, or when
    /// the time is over.
    func await(lastEvent time: Int64, withinMilliseconds limit: UInt64, _ done: @escaping (Bool) -> Void) {
        let isOver = clients.allSatisfy { $0.hasEnded || $0.tally.last >= time }
        guard !isOver, limit > 0 else { return done(isOver) }
        let pause = min(100, limit)
        loop.schedule(afterMilliseconds: pause) { [self] in
            self.await(lastEvent: time, withinMilliseconds: limit - pause, done)
        }
    }

    private func finishWaiting() {
        guard let done = awaited?.done else { return }
        awaited = nil
        if let timer = patience.take() { loop.cancel(timer) }
        done()
    }

    /// All clients disconnect, to return with the tickets that they got for resumption.
    func leave() {
        close()
        (opened, visits) = (0, visits + 1)
        tickets = (tickets.next, [])
    }

    func close() {
        for client in clients { client.close() }
        clients.removeAll()
    }
}

@available(*, unavailable)
extension Crowd: Sendable {}

/// How a crowd connects.
struct CrowdPlan: Sendable {
    /// Enough to keep the server busy, and few enough that none waits until its deadline.
    static let handshakesAtOnce = 64

    let connections: Int
    let port: UInt16
    let security: TransportSecurity
    /// Tokens, one for each account, used by connections in turn; empty for the anonymous account.
    let tokens: [String]
    /// The most handshakes at the same time.
    let handshakesAtOnce: Int
    /// Whether clients ask for cursors, and get a resync where others are closed.
    var withCursors = false
    /// Whether returning clients resume their sessions.
    var keepsTickets = false

    /// A loopback address has 28,000 free ports, so connections are spread over several addresses. Each visit uses other ones:
    /// the kernel keeps a port for a minute after its connection.
    func address(_ index: Int, visit: Int) -> SocketAddress {
        .ipv4(0x7F00_0001 + UInt32(visit) << 8 + UInt32(index / 20_000), port: port)
    }

    func request(_ index: Int) -> [UInt8] {
        // The key's value does not matter here: RFC 6455 requires a fresh one because of caches in between, and there are none.
        var text = "GET /live/v1\(withCursors ? "?with=at" : "") HTTP/1.1\r\nHost: localhost\r\n"
        text += "Upgrade: websocket\r\nConnection: Upgrade\r\n"
        text += "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        if !tokens.isEmpty { text += "Authorization: Bearer \(tokens[index % tokens.count])\r\n" }
        return Array((text + "\r\n").utf8)
    }
}
