import Balancer
import FuzzSupport

/// The first byte says where the rest, which is what a connection begins with, is cut.
@_cdecl("LLVMFuzzerTestOneInput")
package func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let input = unsafe fuzzInput(start, count)
    guard let seed = input.first else { return 0 }
    let bytes = Array(input.dropFirst())
    let whole = read([bytes])
    for cut in cuts(of: bytes, seed: seed) { require(read(cut) == whole, "every cut gives the same answer") }
    switch whole {
    case .needMore: require(bytes.count < ProxyHeaderParser.maximumBinaryBytes, "nobody waits for more than the limit")
    case .rejected: break
    case .header(let client, let consumed):
        require((1...ProxyHeaderParser.maximumBinaryBytes).contains(consumed), "the limits on bytes hold")
        require(read([Array(bytes[..<consumed])]) == whole, "what stands behind a header changes nothing")
        require(read([Array(bytes[..<(consumed - 1)])]) == .needMore, "a header needs its last byte")
        guard let client else { return 0 }
        require(ClientAddress(client.description) == client, "an address has one text")
    }
    return 0
}

private func read(_ pieces: [[UInt8]]) -> ProxyHeaderProgress {
    var parser = ProxyHeaderParser()
    var before = 0
    for piece in pieces {
        switch parser.consume(piece.span) {
        case .needMore: before += piece.count
        case .header(let client, let consumed): return .header(client, consumed: before + consumed)
        case .rejected(let fault): return .rejected(fault)
        }
    }
    return .needMore
}
