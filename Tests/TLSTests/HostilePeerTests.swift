// Tests: TLSReason.swift

import TLS
import TestHarness
import Testing

@Suite struct `A TLS port` {
    private func serverFails(on bytes: [UInt8]) throws -> (reason: TLSReason?, answer: [UInt8]) {
        let authority = Authority.shared
        let exchange = TLSExchange()
        let context = try TLSContext.server(certificate: authority.chain, key: authority.key)
        let session = try TLSSession(server: context, exchange: exchange)
        session.receive(bytes.span) { _ in
            Issue.record("plaintext came out of no handshake")
            return true
        }
        var answer: [UInt8] = []
        exchange.takeOutput { answer = $0.array }
        return (session.state.reason, answer)
    }

    @Test(arguments: ["GET / HTTP/1.1\r\n\r\n", "POST /", "OPTIONS * HTTP/1.1", "CONNECT a:443", "PRI * HTTP/2.0", "G"])
    func `knows plain HTTP by its method`(text: String) throws {
        let result = try serverFails(on: Array(text.utf8))
        #expect(result.reason == .plainHTTP && result.answer.isEmpty)
    }

    @Test func `knows SSL 2 and what is no TLS at all`() throws {
        // A CLIENT-HELLO of SSL 2, and one of TLS 1.2 in SSL 2's form.
        for version: [UInt8] in [[0, 2], [3, 3]] {
            let hello = [0x80, 0x2E, 1] + version + [0, 0x15, 0, 0, 0, 0x10] + [UInt8](repeating: 7, count: 37)
            #expect(try serverFails(on: hello).reason == .sslv2Hello)
        }
        #expect(try serverFails(on: [0]).reason == .notTLS)
        #expect(try serverFails(on: Array("\r\n\r\n".utf8)).reason == .notTLS)
    }

    @Test func `answers an oversized record with an alert`() throws {
        // 2^14 bytes of plaintext are the most (RFC 8446 §5.1); OpenSSL allows what an encrypted one may have.
        let result = try serverFails(on: [22, 3, 1, 0xFF, 0xFF] + [UInt8](repeating: 1, count: 100))
        #expect(result.reason == .oversizedRecord)
        // record_overflow (22), fatal.
        #expect(result.answer == [21, 3, 1, 0, 2, 2, 22] || result.answer == [21, 3, 3, 0, 2, 2, 22])
    }

    @Test func `refuses versions before 1.2`() throws {
        // A ClientHello of TLS 1.0 with one suite.
        var hello: [UInt8] = [3, 1] + [UInt8](repeating: 5, count: 32) + [0, 0, 2, 0xC0, 0x13, 1, 0]
        hello = [1, 0, 0, UInt8(hello.count)] + hello
        let result = try serverFails(on: [22, 3, 1, 0, UInt8(hello.count)] + hello)
        #expect(result.reason == .unsupportedVersion)
        #expect(result.answer.suffix(2) == [2, 70], "protocol_version")
    }

    @Test func `refuses a client without a suite in common`() throws {
        // TLS 1.2 with a suite without forward secrecy alone.
        var hello: [UInt8] = [3, 3] + [UInt8](repeating: 5, count: 32) + [0, 0, 2, 0, 0x9C, 1, 0]
        hello = [1, 0, 0, UInt8(hello.count)] + hello
        let result = try serverFails(on: [22, 3, 1, 0, UInt8(hello.count)] + hello)
        #expect(result.reason == .noSharedCipher)
        #expect(result.answer.suffix(2) == [2, 40], "handshake_failure")
    }

    @Test func `refuses a client that speaks other protocols only`() throws {
        func hello(_ protocols: [String]) -> [UInt8] {
            let names = protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
            let alpn = [0, 16, 0, UInt8(names.count + 2), 0, UInt8(names.count)] + names
            let algorithms: [UInt8] = [0, 13, 0, 4, 0, 2, 4, 3]
            let groups: [UInt8] = [0, 10, 0, 4, 0, 2, 0, 23]
            let extensions = alpn + algorithms + groups
            var hello: [UInt8] = [3, 3] + [UInt8](repeating: 5, count: 32) + [0, 0, 2, 0xC0, 0x2B, 1, 0]
            hello += [0, UInt8(extensions.count)] + extensions
            hello = [1, 0, 0, UInt8(hello.count)] + hello
            return [22, 3, 1, 0, UInt8(hello.count)] + hello
        }
        let refused = try serverFails(on: hello(["h2", "http/1.0"]))
        #expect(refused.reason == .noApplicationProtocol)
        #expect(refused.answer.suffix(2) == [2, 120], "no_application_protocol")
        #expect(try serverFails(on: hello(["h2", "http/1.1"])).reason == nil)
    }

    /// Some byte of a good conversation is changed, or the conversation is cut or lengthened somewhere. Whatever comes:
    /// no crash, no plaintext that was not sent, and a state that says what happened.
    @Test(arguments: [TLSRole.server, .client]) func `survives damaged conversations`(victim: TLSRole) throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        let authority = Authority.shared
        let context = try TLSContext.server(certificate: authority.chain, key: authority.key)
        let message = Array("GET /live/v1 HTTP/1.1\r\n\r\n".utf8)
        for round in 0..<300 {
            let pair = try MemoryPair(server: context)
            // A server says some 1,900 bytes, a client some 600.
            let damage = Damage.random(below: victim == .server ? 700 : 2000, using: &generator)
            let received = DamagedTalk(pair, victim, damage).run(message)
            #expect(message.starts(with: received), "seed \(seed), round \(round)")
            let session = victim == .server ? pair.server : pair.client
            _ = session.endOfInput()
            #expect(session.state != .handshaking && session.state != .open, "seed \(seed), round \(round)")
        }
    }

    @Test func `survives garbage`() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        for round in 0..<400 {
            let start: [UInt8] = round % 2 == 0 ? [] : [UInt8.random(in: 20...23, using: &generator), 3, 3]
            let length = Int.random(in: 1...2000, using: &generator)
            let bytes = start + (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
            _ = try serverFails(on: bytes)
        }
    }
}

/// One fault in what is said to the victim.
struct Damage {
    private var position: Int
    private var mask: UInt8
    private var kind: Int

    static func random(below limit: Int, using generator: inout SeededGenerator) -> Damage {
        Damage(
            position: Int.random(in: 0..<limit, using: &generator), mask: UInt8.random(in: 1...255, using: &generator),
            kind: Int.random(in: 0..<4, using: &generator))
    }

    /// - Parameter offset: where in the whole conversation the bytes stand.
    func apply(to bytes: [UInt8], at offset: Int) -> [UInt8] {
        guard bytes.indices.contains(position - offset) else { return bytes }
        var bytes = bytes
        switch kind {
        case 0: bytes[position - offset] ^= mask
        case 1: bytes.remove(at: position - offset)
        case 2: bytes.insert(mask, at: position - offset)
        default: bytes.removeSubrange((position - offset)...)
        }
        return bytes
    }
}

/// Two sessions that talk, with a fault on the way to one of them.
private final class DamagedTalk {
    private let pair: MemoryPair
    private let victim: TLSRole
    private let damage: Damage
    private var offset = 0
    private var received: [UInt8] = []

    init(_ pair: MemoryPair, _ victim: TLSRole, _ damage: Damage) {
        (self.pair, self.victim, self.damage) = (pair, victim, damage)
    }

    /// - Returns: what the victim took for plaintext. The other one says `message` as soon as it can.
    func run(_ message: [UInt8]) -> [UInt8] {
        let other = victim == .server ? pair.client : pair.server
        var hasSpoken = false
        pair.client.start()
        for _ in 0..<10 {
            if other.state == .open && !hasSpoken {
                hasSpoken = true
                carry()
                _ = other.send(message.span)
            }
            carry()
        }
        return received
    }

    /// Carries what both have to say.
    private func carry() {
        var toServer: [UInt8] = []
        pair.clientExchange.takeOutput { toServer = $0.array }
        give(toServer, to: pair.server)
        var toClient: [UInt8] = []
        pair.serverExchange.takeOutput { toClient = $0.array }
        give(toClient, to: pair.client)
    }

    private func give(_ bytes: [UInt8], to session: TLSSession) {
        var bytes = bytes
        if session.role == victim {
            let length = bytes.count
            bytes = damage.apply(to: bytes, at: offset)
            offset += length
        }
        session.receive(bytes.span) {
            if session.role == victim { received += $0.array }
            return true
        }
    }
}
