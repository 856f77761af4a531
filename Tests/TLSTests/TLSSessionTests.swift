// Tests: TLSExchange.swift

import TLS
import Testing

@Suite struct `A TLS session` {
    private let authority = Authority.shared

    @Test func `shakes hands and carries bytes both ways`() throws {
        let pair = try MemoryPair()
        pair.pump()
        #expect(pair.server.state == .open && pair.client.state == .open)
        let agreement = try #require(pair.server.agreement)
        #expect(agreement.version == "TLSv1.3" && !agreement.isResumed)
        #expect(agreement.applicationProtocol == "http/1.1")
        pair.clientSends(Array("from the client".utf8))
        pair.serverSends(Array("from the server".utf8))
        pair.pump()
        #expect(pair.serverReceived == Array("from the client".utf8))
        #expect(pair.clientReceived == Array("from the server".utf8))
    }

    @Test(arguments: [1, 2, 5, 6, 7, 100, 1500]) func `does not care how the bytes are cut`(piece: Int) throws {
        let pair = try MemoryPair()
        pair.pieceBytes = piece
        pair.pump()
        #expect(pair.server.state == .open && pair.client.state == .open)
        let message = (0..<40_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        pair.clientSends(message)
        pair.serverSends(message)
        pair.pump()
        #expect(pair.serverReceived == message)
        #expect(pair.clientReceived == message)
    }

    @Test func `fills records to 16 KiB and no further`() throws {
        let pair = try MemoryPair()
        pair.pump()
        for (bytes, records) in [(1, 1), (16384, 1), (16385, 2), (131_072, 8)] {
            let before = pair.toClient.count
            pair.serverSends([UInt8](repeating: 9, count: bytes))
            var found = 0
            var position = before
            while position < pair.toClient.count {
                position += 5 + Int(pair.toClient[position + 3]) << 8 + Int(pair.toClient[position + 4])
                found += 1
            }
            #expect(found == records && position == pair.toClient.count, "\(bytes) bytes")
        }
        pair.pump()
        #expect(pair.clientReceived.count == 1 + 16384 + 16385 + 131_072)
    }

    @Test func `says close_notify once and knows a close from a cut`() throws {
        let pair = try MemoryPair()
        pair.pump()
        pair.closeServer()
        let count = pair.toClient.count
        pair.closeServer()
        #expect(pair.toClient.count == count)
        #expect(!pair.serverSends([1]))
        pair.pump()
        #expect(pair.client.state == .closedByPeer)
        #expect(pair.client.endOfInput() == nil)
        // The client may still speak, and answers with its own close.
        #expect(pair.clientSends(Array("last".utf8)))
        pair.closeClient()
        pair.pump()
        #expect(pair.serverReceived == Array("last".utf8))
        #expect(pair.server.state == .closedByPeer)

        let cut = try MemoryPair()
        cut.pump()
        #expect(cut.server.endOfInput()?.reason == .truncated)
        #expect(cut.server.state.reason == .truncated)
    }

    @Test func `that ends before the handshake was abandoned`() throws {
        let pair = try MemoryPair()
        #expect(pair.server.endOfInput()?.reason == .abandoned)
        #expect(pair.server.agreement == nil)
        // Closing in the middle of a handshake says nothing.
        pair.closeClient()
        #expect(pair.toServer.isEmpty)
    }

    @Test func `takes new keys when the peer wants them, but not for ever`() throws {
        let pair = try MemoryPair()
        pair.pump()
        for _ in 0..<(TLSSession.maximumLaterMessages - 1) { pair.clientUpdatesKeys() }
        pair.clientSends([1])
        pair.pump()
        #expect(pair.serverReceived == [1] && pair.server.state == .open)
        #expect(pair.serverSends([2]))
        pair.pump()
        #expect(pair.clientReceived == [2])
        pair.clientUpdatesKeys()
        pair.pump()
        #expect(pair.server.state == .open)
        pair.clientUpdatesKeys()
        pair.clientSends([3])
        pair.pump()
        #expect(pair.server.state.reason == .messageFlood)
        #expect(pair.serverReceived == [1])
        #expect(!pair.serverSends([4]))
    }

    @Test func `stops delivering when it is told to`() throws {
        let pair = try MemoryPair()
        pair.pump()
        pair.clientSends([UInt8](repeating: 1, count: 16384))
        let first = pair.toServer.count
        pair.clientSends([UInt8](repeating: 2, count: 100))
        #expect(pair.toServer.count > first)
        let wire = Array(pair.toServer.suffix(16384 + 22 + 122))
        var calls = 0
        pair.server.receive(wire.span) { bytes in
            calls += 1
            #expect(bytes.count == 16384)
            return false
        }
        #expect(calls == 1)
    }

    @Test(arguments: ["localhost", "gate.example", "gate.example.", "a.wild.example", "127.0.0.1", "::1", "[::1]"])
    func `of a client accepts the names of the certificate`(name: String) throws {
        let pair = try MemoryPair(name: name)
        pair.pump()
        #expect(pair.client.state == .open && pair.server.state == .open)
    }

    @Test(arguments: ["example.com", "b.gate.example", "a.b.wild.example", "127.0.0.2", "::2", "ecdsa"])
    func `of a client refuses another name, and the server learns it`(name: String) throws {
        let pair = try MemoryPair(name: name)
        pair.pump()
        #expect(pair.client.state.reason == .certificateForAnotherName)
        #expect(pair.server.state.reason == .peerRefusedCertificate)
    }

    @Test(arguments: ["", "a b", "line\nfeed", "nul\0.example", String(repeating: "a", count: 254)])
    func `of a client refuses what is no name`(name: String) {
        #expect(throws: TLSError.badName(name)) { try MemoryPair(name: name) }
    }

    @Test func `of a client refuses an expired certificate unless told otherwise`() throws {
        let server = try TLSContext.server(certificate: authority.expired, key: authority.expiredKey)
        let strict = try MemoryPair(server: server)
        strict.pump()
        #expect(strict.client.state.reason == .certificateOutOfDate)
        let lax = try MemoryPair(server: server, client: TLSContext.client(TLSClientSettings(verifies: false)))
        lax.pump()
        #expect(lax.client.state == .open && lax.server.state == .open)
    }

    @Test func `of a client refuses an unknown authority and a foreign name unless told otherwise`() throws {
        let strict = try MemoryPair(client: TLSContext.client())
        strict.pump()
        #expect(strict.client.state.reason == .certificateUntrusted)
        #expect(strict.server.state.reason == .peerRefusedCertificate)
        let lax = try MemoryPair(client: TLSContext.client(TLSClientSettings(verifies: false)), name: "example.com")
        lax.pump()
        #expect(lax.client.state == .open)
    }

    @Test func `of one loop leaves the buffers to the next`() throws {
        let exchange = TLSExchange()
        let context = try TLSContext.client(TLSClientSettings(verifies: false))
        let first = try TLSSession(client: context, exchange: exchange, name: "localhost")
        first.start()
        #expect(exchange.outputCount > 100)
        var hello: [UInt8] = []
        exchange.takeOutput { hello = $0.array }
        #expect(hello.first == 22 && exchange.outputCount == 0)
        do {
            let second = try TLSSession(client: context, exchange: exchange, name: "localhost")
            second.start()
            #expect(exchange.outputCount > 100)
        }
        // What a session that is gone wanted to say goes with it.
        #expect(exchange.outputCount == 0)
    }
}
