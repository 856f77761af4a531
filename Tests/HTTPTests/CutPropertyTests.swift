import TestHarness
import Testing

@testable import HTTP

@Suite struct `Damaged bytes` {
    /// Pieces of which messages are made, honest and not.
    static let words = [
        "GET", "POST", " ", "/", "*", "/live/v1?a=%zz", "HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "\r\n", "\r\n", "\r\n\r\n",
        "\n", "\r",
        "Host: a", "Host:", "Content-Length: 5", "Content-Length: +5", "Transfer-Encoding: chunked",
        "Upgrade: websocket", ": ",
        " x", "\t", "\0", "\u{FC}", "HTTP/1.1 200 OK", "HTTP/1.1 103 Early", "HTTP/1.1 101 S", "5", "hello", "0", ";",
    ]

    /// An honest message with some bytes changed, taken out or doubled; or a row of words.
    private static func bytes(_ random: inout SeededGenerator, honest: String) -> [UInt8] {
        if Bool.random(using: &random) {
            return (0..<Int.random(in: 1...20, using: &random)).flatMap { _ in
                Array(words.randomElement(using: &random)!.utf8)
            }
        }
        var bytes = Array(honest.utf8)
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            let place = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<3, using: &random) {
            case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes.remove(at: place)
            default: bytes.insert(bytes[place], at: place)
            }
        }
        return bytes
    }

    private static func pieces(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = min(rest.count, Int.random(in: 1...9, using: &random))
            pieces.append(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return pieces
    }

    @Test func `give the same requests and refusals for every cut`() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let honest = request("Content-Length: 5", "Upgrade: websocket", "X: a, b", first: "GET /live/v1?a=b HTTP/1.1")
        for round in 0..<3000 {
            let bytes = Self.bytes(&random, honest: honest)
            let pieces = Self.pieces(bytes, &random)
            #expect(parse(pieces) == parse([bytes]), "seed \(seed), round \(round): \(text(bytes).debugDescription)")
        }
    }

    @Test func `give the same responses and faults for every cut`() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let honest = "HTTP/1.1 103 E\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        for round in 0..<3000 {
            let bytes = Self.bytes(&random, honest: honest)
            let pieces = Self.pieces(bytes, &random)
            let whole = `Responses for a client`.read([bytes])
            #expect(
                `Responses for a client`.read(pieces) == whole,
                "seed \(seed), round \(round): \(text(bytes).debugDescription)")
        }
    }

    @Test func `give the same bodies for every cut`() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        func read(_ pieces: [[UInt8]]) -> (bytes: [UInt8], isDone: Bool, fault: ResponseFault?) {
            var reader = BodyReader(.chunked, maximumBytes: 12)
            do throws(ResponseFault) {
                for piece in pieces { try reader.consume(piece.span) }
                return (reader.bytes, reader.isDone, nil)
            } catch {
                return (reader.bytes, reader.isDone, error)
            }
        }
        for round in 0..<3000 {
            let bytes = Self.bytes(&random, honest: "5;a\r\nhello\r\n1\r\nx\r\n0\r\nT: v\r\n\r\nrest")
            #expect(read(Self.pieces(bytes, &random)) == read([bytes]), "seed \(seed), round \(round)")
        }
    }
}
