import Reactor
import TLS
import Transport

/// The parts of one run: broker, gateway, and crowds that connect to it.
final class Bench {
    let broker: BenchBroker
    let server: GatewayProcess
    private let tokens: [BenchToken]
    private let isSecure: Bool
    private var loops: [EventLoop] = []

    init(_ scenario: Scenario, program: String, loops: Int) async throws {
        broker = try await BenchBroker.start()
        tokens = scenario.accounts == 1 ? [] : (0..<scenario.accounts).map { BenchToken(account: "ACC\($0)") }
        isSecure = scenario.isSecure
        do {
            server = try GatewayProcess(
                program: program, brokers: broker.bootstrap, topic: BenchBroker.topic, loops: loops, tokens: tokens,
                isSecure: isSecure, load: scenario.load, beside: scenario.beside)
        } catch {
            broker.stop()
            throw error
        }
    }

    func stop() {
        for loop in loops { loop.stop() }
        server.stop()
        broker.stop()
    }

    /// The accounts to which events are written, in turn.
    var accounts: [String] { tokens.isEmpty ? [BenchToken.onlyAccount] : tokens.map(\.account) }

    /// A crowd on its own loop, not connected yet. With `account`, an index into ``accounts``, all its clients belong to that
    /// account.
    func crowd(
        _ connections: Int, withCursors: Bool = false, account: Int? = nil, keepsTickets: Bool = false,
        handshakesAtOnce: Int = CrowdPlan.handshakesAtOnce
    ) async throws -> LoopBound<Crowd> {
        let loop = try crowdLoop()
        let plan = CrowdPlan(
            connections: connections, port: server.port, security: try security(),
            tokens: account.map { [tokens[$0].text] } ?? tokens.map(\.text), handshakesAtOnce: handshakesAtOnce,
            withCursors: withCursors, keepsTickets: keepsTickets)
        return await loop.run { LoopBound(Crowd(plan, loop: loop), loop: loop) }
    }

    /// Hostile peers, of one account, not connected yet.
    func hostileCrowd(_ connections: Int, account: Int) async throws -> LoopBound<HostileCrowd> {
        let loop = try crowdLoop()
        let plan = CrowdPlan(
            connections: connections, port: server.port, security: try security(), tokens: [tokens[account].text],
            handshakesAtOnce: connections)
        return await loop.run { LoopBound(HostileCrowd(plan, loop: loop), loop: loop) }
    }

    private func crowdLoop() throws -> EventLoop {
        let loop = try EventLoop(label: "crowd")
        loops.append(loop)
        return loop
    }

    /// The certificate was made for this run; only the server's side is measured.
    private func security() throws -> TransportSecurity {
        isSecure ? .client(try TLSContext.client(TLSClientSettings(verifies: false)), name: "localhost") : .plain
    }
}

extension LoopBound<Crowd> {
    /// Opens every connection.
    func open() async {
        await withCheckedContinuation { done in loop.execute { value.open { done.resume() } } }
    }

    /// All clients disconnect, and keep the tickets that they got for resumption.
    func leave() async {
        await loop.run { value.leave() }
    }

    /// Waits until this many events have been received in all, or for ``Crowd/patienceMilliseconds``.
    func await(_ count: Int) async {
        await withCheckedContinuation { done in
            loop.execute { value.await(count, withinMilliseconds: Crowd.patienceMilliseconds) { done.resume() } }
        }
    }

    /// The percentiles of the latencies since the last call, in ms.
    func percentiles(_ shares: [Double]) async -> [Double] {
        Measurement.percentiles(await loop.run { value.takeLatencies() }, shares)
    }

    /// The same for the answers to pings.
    func turns(_ shares: [Double]) async -> [Double] {
        Measurement.percentiles(await loop.run { value.takeTurns() }, shares)
    }

    /// Closes the crowd; returns what it has recorded.
    func close() async -> Crowd.Outcome {
        await loop.run {
            defer { value.close() }
            return value.outcome
        }
    }
}

/// A fixed token for one account of a run.
struct BenchToken: Sendable {
    /// The account of runs in which all clients listen to one.
    static let onlyAccount = "BENCH"

    let account: String
    let text: String
    let sha256: String

    init(account: String) {
        self.account = account
        text = Base64.encodeURL(Random.bytes(16))
        let digits = Array("0123456789abcdef".utf8)
        let digest = Digest.sha256(Array(text.utf8))
        sha256 = String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
