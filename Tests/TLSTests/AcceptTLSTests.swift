import Reactor
import TLS
import TestHarness
import Testing
import Transport

/// TLS that begins behind something else, as behind the PROXY header of a balancer.
struct AcceptTLSTests {
    static let header = Array("HEADER".utf8)

    /// A server whose owner reads a header and then accepts TLS, once the header is whole.
    private func serve(_ descriptor: Int32, _ rig: LoopRig) throws -> Recorder {
        let context = try TLSContext.server(certificate: Authority.shared.chain, key: Authority.shared.key)
        let begun = Shared<[UInt8]>([])
        let onReceive: Recorder.Reaction = { transport, bytes in
            let before = begun.value.count
            begun.update { $0 += bytes }
            guard before < Self.header.count, begun.value.count >= Self.header.count else { return }
            transport.acceptTLS(context, behind: bytes.span.extracting(droppingFirst: Self.header.count - before))
        }
        return rig.start(descriptor, .plain, onReceive: onReceive)
    }

    @Test(arguments: [true, false])
    func `the beginning of TLS may come in the same read as the header`(isOneRead: Bool) throws {
        let rig = try LoopRig()
        let sockets = Loopback.pair()
        let client = try WireClient(sockets.peer)
        Loopback.write(sockets.peer, Self.header)
        let server: Recorder
        if isOneRead {
            // Both are in the kernel before the server reads.
            client.sendHello()
            server = try serve(sockets.transport, rig)
        } else {
            server = try serve(sockets.transport, rig)
            server.wait("the header") { $0.received == Self.header }
            client.sendHello()
        }
        while client.state == .handshaking, client.read() {}
        client.send(Array(" secret".utf8))
        let whole = server.wait("the plaintext") { Array($0.received.suffix(7)) == Array(" secret".utf8) }
        // The second opening is that of TLS.
        #expect(whole.opened == 2 && rig.counters.handshakes == 1)
    }

    @Test func `a header with nothing behind it has the time of a handshake`() throws {
        var limits = TransportLimits()
        limits.handshakeMilliseconds = 50
        let rig = try LoopRig(limits)
        let sockets = Loopback.pair()
        Loopback.write(sockets.peer, Self.header)
        let server = try serve(sockets.transport, rig)
        let end = server.wait("the end") { $0.end != nil }.end
        guard case .tls(let failure) = end else { throw Unexpected(end: end) }
        #expect(failure.reason == .timedOut)
    }

    @Test func `plain HTTP behind a header gets the answer that it gets without one`() throws {
        let rig = try LoopRig()
        let sockets = Loopback.pair()
        Loopback.write(sockets.peer, Self.header + Array("GET / HTTP/1.1\r\n\r\n".utf8))
        let server = try serve(sockets.transport, rig)
        #expect(Loopback.readToEnd(sockets.peer).starts(with: Array("HTTP/1.1 400 ".utf8)))
        server.wait("the end") { $0.end != nil }
    }

    struct Unexpected: Error { let end: TransportEnd? }
}
