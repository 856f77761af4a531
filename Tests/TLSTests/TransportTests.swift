// Tests: Encryption.swift, TransportOwner.swift

import Glibc
import Reactor
import TLS
import Testing
import Transport

/// Plain and with TLS, the same face.
enum Kind: CaseIterable, Sendable {
    case plain, tls

    func server() throws -> TransportSecurity {
        self == .plain
            ? .plain
            : .server(try TLSContext.server(certificate: Authority.shared.chain, key: Authority.shared.key))
    }

    func client(_ name: String = "localhost") throws -> TransportSecurity {
        self == .plain
            ? .plain
            : .client(try TLSContext.client(TLSClientSettings(authorities: Authority.shared.root)), name: name)
    }
}

@Suite struct `A transport` {
    private func pair(
        _ kind: Kind, _ rig: LoopRig, onOpen: @escaping Recorder.Reaction = { _, _ in },
        onReceive: @escaping Recorder.Reaction = { _, _ in }
    ) throws -> (server: Recorder, client: Recorder) {
        let sockets = Loopback.pair()
        _ = fcntl(sockets.peer, F_SETFL, O_NONBLOCK)
        let server = rig.start(sockets.transport, try kind.server(), onOpen: onOpen, onReceive: onReceive)
        return (server, rig.start(sockets.peer, try kind.client()))
    }

    @Test(arguments: Kind.allCases, PollerForm.allCases)
    func `opens, carries bytes both ways and closes`(kind: Kind, poller: PollerForm) throws {
        let rig = try LoopRig(poller: poller)
        let (server, client) = try pair(kind, rig) { transport, _ in
            transport.write(Array("welcome ".utf8))
        } onReceive: { transport, bytes in
            transport.write(bytes)
        }
        client.with(rig) { $0.write(Array("hello".utf8)) }
        client.wait("the echo") { $0.received == Array("welcome hello".utf8) }
        #expect(server.log.value.opened == 1 && client.log.value.opened == 1)
        #expect((server.with(rig) { $0.agreement } != nil) == (kind == .tls))
        client.with(rig) { $0.close() }
        server.wait("the peer's end") {
            $0.peerFinished && $0.end == .stream(.peerClosed) || $0.end == .stream(.closed)
        }
        client.wait("our end") { $0.end == .stream(.closed) }
        #expect(rig.counters[.truncated] == 0)
        #expect(rig.counters.handshakes == (kind == .tls ? 2 : 0))
    }

    @Test(arguments: Kind.allCases) func `carries more than any buffer holds, in order`(kind: Kind) throws {
        let rig = try LoopRig()
        let (server, client) = try pair(kind, rig)
        let piece = (0..<100_003).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        for recorder in [server, client] {
            recorder.with(rig) { transport in
                for _ in 0..<50 { transport.write(piece) }
                #expect(transport.pendingBytes == 50 * piece.count)
            }
        }
        let whole = (0..<50).flatMap { _ in piece }
        for recorder in [server, client] {
            let log = recorder.wait("5 MB") { $0.received.count >= whole.count && $0.drained > 0 }
            #expect(log.received == whole)
            #expect(log.drained == 1)
            #expect(recorder.with(rig) { $0.pendingBytes } == 0)
        }
    }

    @Test(arguments: Kind.allCases) func `tells each tick that it is blocked, and when it is no more`(kind: Kind) throws
    {
        let rig = try LoopRig()
        let sockets = Loopback.unixPair()
        _ = fcntl(sockets.peer, F_SETFL, O_NONBLOCK)
        let server = rig.start(sockets.transport, try kind.server())
        let client = rig.start(sockets.peer, try kind.client())
        for recorder in [server, client] { recorder.wait("opening") { $0.opened == 1 } }
        client.with(rig) { $0.pauseReading() }
        server.with(rig) { $0.write([UInt8](repeating: 1, count: 4_000_000)) }
        server.wait("a full socket") { $0.blocked > 0 }
        let pending = server.with(rig) { $0.pendingBytes }
        #expect(pending > 2_000_000 && pending <= 4_000_000 + 22 * 4)
        for _ in 0..<3 {
            let before = server.log.value.blocked
            server.with(rig) { $0.write([2]) }
            server.wait("the next report") { $0.blocked > before }
        }
        let grown = server.with(rig) { $0.pendingBytes }
        #expect(grown > 2_000_000 && grown <= pending + 3)
        #expect(server.log.value.drained == 0)
        client.with(rig) { $0.resumeReading() }
        client.wait("everything") { $0.received.count == 4_000_003 }
        server.wait("the end of the queue") { $0.drained == 1 }
        #expect(server.with(rig) { $0.pendingBytes } == 0)
    }

    @Test func `puts what is written within a tick into one record`() throws {
        let rig = try LoopRig()
        let sockets = Loopback.pair()
        let server = rig.start(sockets.transport, try Kind.tls.server())
        let client = try WireClient(sockets.peer)
        client.handshake()
        server.wait("opening") { $0.opened == 1 }
        server.with(rig) { transport in
            for index in 0..<20 { transport.write([UInt8](repeating: UInt8(index), count: 100)) }
        }
        while client.received.count < 2000, client.read() {}
        // The first record after the handshake is the session ticket.
        #expect(client.records.suffix(1) == [2000 + 17])
        server.with(rig) { transport in
            transport.write([1, 2, 3])
            transport.write([UInt8](repeating: 4, count: 40_000))
            transport.write([5])
        }
        while client.received.count < 42_004, client.read() {}
        let lengths = [16384 + 17, 16384 + 17, 40_004 - 32_768 + 17]
        #expect(client.records.suffix(3) == lengths[...])
    }

    @Test(arguments: Kind.allCases) func `close lets everything leave that was written`(kind: Kind) throws {
        let rig = try LoopRig()
        // More than its kernel holds, and little enough to leave long before whoever does not read is let go.
        let sockets = Loopback.unixPair()
        _ = fcntl(sockets.peer, F_SETFL, O_NONBLOCK)
        let server = rig.start(sockets.transport, try kind.server())
        let client = rig.start(sockets.peer, try kind.client())
        client.wait("opening") { $0.opened == 1 }
        server.wait("opening") { $0.opened == 1 }
        client.with(rig) { $0.pauseReading() }
        server.with(rig) { transport in
            transport.write([UInt8](repeating: 3, count: 600_000))
            transport.close()
            transport.write([9])
            #expect(!transport.isOpen)
        }
        client.with(rig) { $0.resumeReading() }
        client.wait("the end") { $0.end != nil && $0.peerFinished }
        #expect(client.log.value.received == [UInt8](repeating: 3, count: 600_000))
        server.wait("the end") { $0.end == .stream(.closed) }
    }

    @Test func `close says close_notify before the socket's end`() throws {
        let rig = try LoopRig()
        let sockets = Loopback.pair()
        let server = rig.start(sockets.transport, try Kind.tls.server()) { transport, _ in
            transport.write([7])
            transport.close()
        }
        let client = try WireClient(sockets.peer)
        client.handshake()
        while client.read() {}
        #expect(client.received == [7])
        #expect(client.state == .closedByPeer)
        client.sayClose()
        shutdown(sockets.peer, Int32(SHUT_WR))
        server.wait("the end") { $0.end == .stream(.closed) }
    }

    @Test(arguments: Kind.allCases) func `close without a flush drops the rest`(kind: Kind) throws {
        let rig = try LoopRig()
        let (server, client) = try pair(kind, rig)
        server.wait("opening") { $0.opened == 1 }
        server.with(rig) { transport in
            transport.write([1, 2, 3])
            transport.close(afterFlush: false)
        }
        let end = server.wait("the end") { $0.end != nil }.end
        #expect(end == .stream(.aborted(unsentBytes: kind == .plain ? 3 : 0)))
        client.wait("the end") { $0.end != nil }
        #expect(client.log.value.received.isEmpty)
    }

    @Test func `tells a cut from a close, and counts it`() throws {
        let rig = try LoopRig()
        for phase in 0..<3 {
            let sockets = Loopback.pair()
            let server = rig.start(sockets.transport, try Kind.tls.server())
            do {
                let client = try WireClient(sockets.peer)
                if phase == 1 { client.sendHello() }
                if phase == 2 {
                    client.handshake()
                    while client.records.isEmpty, client.read() {}
                    server.wait("opening") { $0.opened == 1 }
                }
                shutdown(sockets.peer, Int32(SHUT_WR))
                server.wait("the end") { $0.end != nil }
            }
            guard case .tls(let failure) = server.log.value.end else {
                Issue.record("phase \(phase): \(String(describing: server.log.value.end))")
                continue
            }
            #expect(failure.reason == (phase == 2 ? .truncated : .abandoned))
        }
        #expect(rig.counters[.abandoned] == 2 && rig.counters[.truncated] == 1)
    }

    @Test(arguments: Kind.allCases)
    func `goes on sending to a peer that has finished, if its owner wants to`(kind: Kind) throws {
        let rig = try LoopRig()
        let (server, client) = try pair(kind, rig)
        server.keepOpenWhenPeerFinishes()
        server.wait("opening") { $0.opened == 1 }
        client.wait("opening") { $0.opened == 1 }
        client.with(rig) { $0.close() }
        server.wait("the peer's end") { $0.peerFinished }
        #expect(server.with(rig) { $0.isOpen })
        server.with(rig) { transport in
            transport.write([1])
            transport.close()
        }
        server.wait("the end") { $0.end != nil }
    }

    @Test func `puts TLS over a plain connection that is under way`() throws {
        let rig = try LoopRig()
        let (server, client) = try pair(.plain, rig)
        client.wait("opening") { $0.opened == 1 }
        server.wait("opening") { $0.opened == 1 }
        client.with(rig) { $0.write(Array("CONNECT".utf8)) }
        server.wait("the request") { $0.received == Array("CONNECT".utf8) }
        let (below, above) = (try Kind.tls.server(), try Kind.tls.client())
        server.with(rig) { transport in
            transport.write(Array("200".utf8))
            #expect(throws: Never.self) { try transport.secure(below) }
        }
        client.wait("the answer") { $0.received == Array("200".utf8) }
        client.with(rig) { transport in #expect(throws: Never.self) { try transport.secure(above) } }
        client.wait("the second opening") { $0.opened == 2 }
        client.with(rig) { $0.write(Array(" secret".utf8)) }
        server.wait("plaintext") { $0.received == Array("CONNECT secret".utf8) }
    }

    @Test func `of a client ends with what is wrong with the certificate`() throws {
        let rig = try LoopRig()
        let sockets = Loopback.pair()
        _ = fcntl(sockets.peer, F_SETFL, O_NONBLOCK)
        let server = rig.start(sockets.transport, try Kind.tls.server())
        let client = rig.start(sockets.peer, try Kind.tls.client("example.com"))
        client.wait("the end") { $0.end != nil }
        server.wait("the end") { $0.end != nil }
        #expect(rig.counters[.certificateForAnotherName] == 1)
        #expect(rig.counters[.peerRefusedCertificate] == 1)
        #expect(client.log.value.opened == 0 && server.log.value.opened <= 1)
    }

    @Test func `may be made out of another one's callback`() throws {
        let rig = try LoopRig()
        let (first, second) = (Loopback.pair(), Loopback.pair())
        let (below, above) = (try Kind.tls.server(), try Kind.tls.client())
        _ = fcntl(first.peer, F_SETFL, O_NONBLOCK)
        _ = fcntl(second.peer, F_SETFL, O_NONBLOCK)
        let inner = Recorder(onOpen: { transport, _ in transport.write([42]) }, onReceive: { _, _ in })
        let receiver = rig.start(second.transport, below)
        let server = rig.start(first.transport, below) { _, _ in
        } onReceive: { transport, _ in
            guard
                let other = try? Transport<Recorder>(
                    FileDescriptor(owning: second.peer), security: above, on: transport.shared)
            else { return }
            inner.bind(other)
        }
        let client = rig.start(first.peer, above)
        client.with(rig) { $0.write([1]) }
        receiver.wait("a byte through the second") { $0.received == [42] }
        #expect(server.log.value.received == [1])
    }

    @Test(arguments: Kind.allCases) func `ends with its loop`(kind: Kind) throws {
        let rig = try LoopRig()
        let (server, client) = try pair(kind, rig)
        server.wait("opening") { $0.opened == 1 }
        rig.loop.stop()
        for recorder in [server, client] { recorder.wait("the end") { $0.end == .stream(.loopStopped) } }
    }
}
