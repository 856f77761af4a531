@testable import HTTP

/// Everything that a parser made of some input.
struct Parsed: Equatable {
    var heads: [RequestHead] = []
    var refusal: Refusal?
    /// Bytes behind the last whole head.
    var rest: [UInt8] = []
}

/// Gives the pieces to one parser, one after the other, as a connection does that pipelines.
func parse(_ pieces: [[UInt8]], limits: RequestLimits = RequestLimits()) -> Parsed {
    var parser = RequestParser(limits: limits)
    var parsed = Parsed()
    for piece in pieces {
        var piece = piece[...]
        parsed.rest += piece
        progress: while !piece.isEmpty {
            switch parser.consume(Array(piece).span) {
            case .needMore: break progress
            case .head(let head, let consumed):
                parsed.heads.append(head)
                piece = piece.dropFirst(consumed)
                parsed.rest = Array(piece)
            case .refused(let refusal):
                parsed.refusal = refusal
                parsed.rest = []
                return parsed
            }
        }
    }
    return parsed
}

func parse(_ text: String, limits: RequestLimits = RequestLimits()) -> Parsed {
    parse([Array(text.utf8)], limits: limits)
}

/// Every way to give some bytes to a parser: in two pieces cut at each place, and byte by byte.
func cuts(of bytes: [UInt8]) -> [[[UInt8]]] {
    (0...bytes.count).map { [Array(bytes[..<$0]), Array(bytes[$0...])] } + [bytes.map { [$0] }]
}

/// A request with these lines between the request line and the empty one.
func request(_ lines: String..., first: String = "GET / HTTP/1.1", host: String? = "Host: a") -> String {
    ([first] + [host].compactMap { $0 } + lines).map { $0 + "\r\n" }.joined() + "\r\n"
}

func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }
