// Tests: GatewayServer+Stopping.swift, Reply.swift

import Dispatch
import GatewaySettings
import LiveUpdates
import Logging
import Reactor
import TestHarness
import Testing
import Tokens

@testable import Gateway

/// A node of which one loop does not turn: nobody waits for it.
struct StuckLoopTests {
    private func server() throws -> GatewayServer {
        let text = """
            listen: ['127.0.0.1:0']
            admin: 127.0.0.1:0
            loops: 2
            auth: {anonymous: A}
            kafka: {brokers: '127.0.0.1:1', topics: [incidents]}
            lifecycle: {drain_delay: 1h, drain_window: 1h}
            """
        let settings = try #require(Settings.load(text: Array(text.utf8), file: "gate.yaml").settings)
        let parts = GatewayServer.Parts(
            settings: settings, mapping: try EventMapping(.init(preset: "rails")),
            verifier: TokenVerifier(issuers: [], anonymous: settings.auth.anonymous))
        return GatewayServer(parts, logger: Logger("test", to: SilentLog()), failure: { _ in })
    }

    static let ends: [(name: String, end: @Sendable (isolated GatewayServer) -> Void)] = [
        (
            "two SIGTERM",
            { server in
                server.terminate()
                server.terminate()
            }
        ), ("SIGINT", { $0.interrupt() }),
        (
            "SIGTERM and SIGINT in a drain by an operator",
            { server in
                server.drain(window: .zero)
                server.terminate()
                server.interrupt()
            }
        ),
    ]

    @Test(.timeLimit(.minutes(2)), arguments: ends.indices)
    func `a loop that does not turn keeps no node from its end`(index: Int) async throws {
        let server = try server()
        try await server.start()
        let stuck = await server.connectionLoops[0].loop
        let (stands, goesOn) = (Promise<Bool>(), DispatchSemaphore(value: 0))
        stuck.execute {
            stands.fulfil(true)
            goesOn.wait()
        }
        #expect(stands.wait() == true)
        await Self.ends[index].end(server)
        await server.stopped()
        // Its other loops have ended, and this one does once it turns.
        goesOn.signal()
        await stuck.stopped()
    }

    @Test func `an answer is the first one, and late ones are none`() async {
        let (early, late) = (Reply<Int>(), Reply<Int>())
        early.give(1)
        early.give(2)
        #expect(early.isGiven)
        #expect(await early.value(within: 0) == 1)
        #expect(await late.value(within: 1) == nil)
        late.give(3)
        #expect(!late.isGiven)
        let awaited = Reply<Int>()
        Task { awaited.give(4) }
        #expect(await awaited.value(within: 600_000) == 4)
    }
}
