import Glibc
import Reactor
import TLS
import TestHarness
import Testing
import Transport

/// How a handshake ends that comes to nothing.
@Suite struct HandshakeEndTests {
    @Test func `is ended by its owner too, whose own time may be over a moment sooner`() throws {
        let rig = try LoopRig()
        let sockets = Loopback.pair()
        let server = rig.start(sockets.transport, try Kind.tls.server())
        #expect(server.with(rig) { $0.isHandshaking })
        server.with(rig) { $0.expireHandshake() }
        let end = server.wait("the end") { $0.end != nil }.end
        guard case .tls(let failure) = end else {
            Issue.record("ended by \(String(describing: end))")
            return
        }
        #expect(failure.reason == .timedOut)
        #expect(rig.counters[.timedOut] == 1 && rig.counters.failedHandshakes == 1)
        close(sockets.peer)
    }

    @Test func `for which there is no memory ends that one connection, and says nothing in plain text`() throws {
        let rig = try LoopRig()
        let security = try Kind.tls.server()
        rig.perform { $0.exchange.mayMakeSession = false }
        let sockets = Loopback.pair()
        let server = rig.start(sockets.transport, security)
        let end = server.wait("the end") { $0.end != nil }.end
        guard case .tls(let failure) = end else {
            Issue.record("ended by \(String(describing: end))")
            return
        }
        #expect(failure.reason == .failed && failure.description.contains("SSL_new"))
        #expect(server.log.value.opened == 0)
        #expect(Loopback.readToEnd(sockets.peer) == [], "nothing is said in plain text")
        close(sockets.peer)
        rig.perform { $0.exchange.mayMakeSession = true }
        let next = Loopback.pair()
        let other = rig.start(next.transport, security)
        let client = try WireClient(next.peer)
        client.handshake()
        other.wait("opening") { $0.opened == 1 }
        #expect(rig.counters.failedHandshakes == 1 && rig.counters.handshakes == 1)
    }

    @Test func `is counted as failed where its peer leaves, and not where it leaves later`() throws {
        let rig = try LoopRig()
        let security = try Kind.tls.server()
        let (early, late) = (Loopback.pair(), Loopback.pair())
        let servers = [rig.start(early.transport, security), rig.start(late.transport, security)]
        close(early.peer)
        let client = try WireClient(late.peer)
        client.handshake()
        servers[1].wait("opening") { $0.opened == 1 }
        client.leave()
        for server in servers { server.wait("the end") { $0.end != nil } }
        #expect(rig.counters.failedHandshakes == 1 && rig.counters.handshakes == 1)
    }
}
