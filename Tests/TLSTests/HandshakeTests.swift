// Tests: TransportLoop.swift

import Dispatch
import Glibc
import Reactor
import TLS
import TestHarness
import Testing

@testable import Transport

@Suite struct `A handshake` {
    @Test func `that plain HTTP begins is answered with 400 in plain text`() throws {
        let rig = try LoopRig()
        let sockets = Loopback.pair()
        let server = rig.start(sockets.transport, try Kind.tls.server())
        Loopback.write(sockets.peer, Array("GET /live/v1 HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        let answer = String(decoding: Loopback.readToEnd(sockets.peer), as: UTF8.self)
        #expect(answer.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
        #expect(answer.contains("https://") && answer.utf8.count < 1024)
        let body = answer.split(separator: "\r\n\r\n", maxSplits: 1)[1]
        #expect(answer.contains("Content-Length: \(body.utf8.count)\r\n"))
        close(sockets.peer)
        server.wait("the end") { $0.end != nil }
        #expect(rig.counters[.plainHTTP] == 1)
    }

    @Test func `resumes the session that the client had before`() throws {
        let rig = try LoopRig()
        let (server, client) = (try Kind.tls.server(), try Kind.tls.client())
        func visit(after former: Recorder?) -> Recorder {
            let sockets = Loopback.pair()
            _ = fcntl(sockets.peer, F_SETFL, O_NONBLOCK)
            // What the server says comes behind the ticket.
            _ = rig.start(sockets.transport, server) { transport, _ in transport.write(Array("welcome".utf8)) }
            let recorder = rig.start(sockets.peer, client, after: former)
            recorder.wait("the welcome") { $0.received == Array("welcome".utf8) }
            return recorder
        }
        let first = visit(after: nil)
        #expect(first.with(rig) { $0.agreement?.isResumed } == false)
        let second = visit(after: first)
        #expect(second.with(rig) { $0.agreement?.isResumed } == true)
        // Both ends count it.
        #expect(rig.counters.handshakes == 4 && rig.counters.resumed == 2)
    }

    @Test func `that began with garbage is closed after the alert`() throws {
        let rig = try LoopRig()
        let sockets = Loopback.pair()
        let server = rig.start(sockets.transport, try Kind.tls.server())
        Loopback.write(sockets.peer, [22, 3, 1, 0xFF, 0xFF] + [UInt8](repeating: 0, count: 2000))
        #expect(Loopback.readToEnd(sockets.peer).suffix(2) == [2, 22])
        close(sockets.peer)
        server.wait("the end") { $0.end != nil }
        #expect(rig.counters[.oversizedRecord] == 1)
    }

    @Test func `has a deadline that trickling bytes do not move`() throws {
        var limits = TransportLimits()
        limits.handshakeMilliseconds = 100
        let rig = try LoopRig(limits)
        let (silent, trickling) = (Loopback.pair(), Loopback.pair())
        let security = try Kind.tls.server()
        let servers = [rig.start(silent.transport, security), rig.start(trickling.transport, security)]
        Loopback.write(trickling.peer, [22, 3, 1, 2, 0, 1, 0])
        waitFor("both ends") {
            Loopback.write(trickling.peer, [1])
            return servers.allSatisfy { $0.log.value.end != nil }
        }
        for server in servers {
            guard case .tls(let failure) = server.log.value.end else {
                Issue.record("\(String(describing: server.log.value.end))")
                continue
            }
            #expect(failure.reason == .timedOut)
        }
        #expect(rig.counters[.timedOut] == 2)
        close(silent.peer)
        close(trickling.peer)
    }

    @Test func `that was done in time has no deadline any more`() throws {
        let rig = try LoopRig()
        let sockets = Loopback.pair()
        let server = rig.start(sockets.transport, try Kind.tls.server())
        #expect(rig.perform { $0.loop.timers } == 1)
        let client = try WireClient(sockets.peer)
        client.handshake()
        server.wait("opening") { $0.opened == 1 }
        #expect(rig.perform { $0.loop.timers } == 0)
        client.send([5])
        server.wait("a byte") { $0.received == [5] }
        #expect(server.log.value.end == nil)
    }

    /// Holds the loop while peers say hello, so that the poller finds all of them at once.
    private func storm(_ count: Int, _ rig: LoopRig) throws -> (servers: [Recorder], clients: [WireClient]) {
        let security = try Kind.tls.server()
        var servers: [Recorder] = []
        var clients: [WireClient] = []
        for _ in 0..<count {
            let sockets = Loopback.pair()
            servers.append(rig.start(sockets.transport, security))
            clients.append(try WireClient(sockets.peer))
        }
        let (held, release) = (Promise<Bool>(), Promise<Bool>())
        rig.loop.execute {
            held.fulfil(true)
            _ = release.wait()
        }
        #expect(held.wait() == true)
        for client in clients { client.sendHello() }
        release.fulfil(true)
        return (servers, clients)
    }

    @Test func `waits for its turn: so many in a tick, and all get theirs`() throws {
        var limits = TransportLimits()
        limits.handshakesPerTick = 2
        let rig = try LoopRig(limits)
        let (servers, clients) = try storm(20, rig)
        for client in clients { client.handshake() }
        var openings: [UInt64: Int] = [:]
        for server in servers {
            openings[server.wait("opening") { $0.opened == 1 }.openedInTick, default: 0] += 1
        }
        #expect(openings.values.max()! <= 2)
        #expect(rig.counters.handshakes == 20)
    }

    /// A peer whose turn takes its time.
    private final class SlowPeer: HandshakeWaiting {
        let hadTurn: () -> Void

        init(_ hadTurn: @escaping () -> Void) { self.hadTurn = hadTurn }

        func continueHandshake() {
            let end = DispatchTime.now() + .microseconds(Int(EventLoop.sliceMicroseconds / 2))
            while DispatchTime.now() < end {}
            hadTurn()
        }
    }

    @Test func `that takes long leaves others their turns: a tick ends with its time, too`() throws {
        let rig = try LoopRig()
        let all = Promise<[UInt64]>()
        rig.perform { shared in
            let loop = shared.loop
            var ticks: [UInt64] = []
            for _ in 0..<12 {
                _ = shared.enqueue(
                    SlowPeer {
                        ticks.append(loop.tickNumber)
                        if ticks.count == 12 { all.fulfil(ticks) }
                    })
            }
        }
        let ticks = try #require(all.wait())
        #expect(Dictionary(grouping: ticks) { $0 }.values.allSatisfy { $0.count <= 2 })
    }

    @Test(arguments: [false, true]) func `is refused when too many wait`(byBytes: Bool) throws {
        var limits = TransportLimits()
        if byBytes { limits.waitingHandshakeBytes = 2000 } else { limits.waitingHandshakes = 3 }
        let rig = try LoopRig(limits)
        let (servers, clients) = try storm(12, rig)
        for client in clients where client.state == .handshaking { client.handshake() }
        waitFor("an outcome for all") { servers.allSatisfy { $0.log.value.opened == 1 || $0.log.value.end != nil } }
        let counters = rig.counters
        #expect(counters[.overloaded] > 0 && counters.handshakes > 0)
        #expect(counters[.overloaded] + counters.handshakes == 12)
        #expect(rig.perform { $0.waitingHandshakes } == 0)
        // The bytes of those that were refused are not counted as waiting for ever.
        let sockets = Loopback.pair()
        let next = rig.start(sockets.transport, try Kind.tls.server())
        let client = try WireClient(sockets.peer)
        client.handshake()
        next.wait("opening") { $0.opened == 1 }
    }

    @Test func `of a peer that talks without end is read no further than the limit`() throws {
        var limits = TransportLimits()
        limits.waitingBytesPerHandshake = 1000
        let rig = try LoopRig(limits)
        let sockets = Loopback.pair()
        let server = rig.start(sockets.transport, try Kind.tls.server())
        let client = try WireClient(sockets.peer)
        client.handshake()
        client.send([UInt8](repeating: 1, count: 100_000))
        server.wait("everything") { $0.received.count == 100_000 }
    }
}
