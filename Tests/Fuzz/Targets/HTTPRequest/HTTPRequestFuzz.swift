import FuzzSupport
import HTTP

private struct Outcome: Equatable {
    var heads: [RequestHead] = []
    var refusal: Refusal?
    var isInsideHead = false
}

/// Reads one request after the other, as if none had a body.
private func read(_ pieces: [[UInt8]]) -> Outcome {
    var parser = RequestParser(
        limits: RequestLimits(maximumLineBytes: 200, maximumHeaderBytes: 400, maximumHeaders: 8))
    var outcome = Outcome()
    for piece in pieces {
        var start = 0
        reading: while start < piece.count {
            switch parser.consume(piece.span.extracting(start..<piece.count)) {
            case .needMore: break reading
            case .head(let head, let consumed):
                require((1...piece.count - start).contains(consumed), "a head takes some of the input, no more")
                start += consumed
                outcome.heads.append(head)
            case .refused(let refusal):
                outcome.refusal = refusal
                return outcome
            }
        }
    }
    outcome.isInsideHead = parser.isInsideHead
    return outcome
}

private func checkMeaning(of head: RequestHead) {
    require(
        head.path.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } && !head.path.isEmpty, "a path is visible ASCII")
    require(head.headers.count <= 8, "the limit on header fields holds")
    require(head.headers.all("host").count <= 1, "no request has two hosts")
    if case .chunked = head.body { require(!head.headers.contains("content-length"), "one framing at most") }
    for index in 0..<head.headers.count {
        let (name, value) = head.headers[index]
        require(!name.isEmpty && !name.contains { $0 <= 0x20 || $0 == 0x3A }, "a name is a token")
        require(!value.contains { $0 == 0x0D || $0 == 0x0A || $0 == 0 }, "no value holds a line end")
    }
    _ = QueryParameters(head.query ?? "")
    if case .success(let upgrade) = UpgradeRequest.validate(head) {
        require(upgrade.key.count == 24 && head.body.isEmpty, "an upgrade has a whole key and no body")
    }
}

@_cdecl("LLVMFuzzerTestOneInput")
package func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let bytes = unsafe fuzzInput(start, count)
    let whole = read([bytes])
    for pieces in cuts(of: bytes, seed: bytes.last ?? 0) {
        require(read(pieces) == whole, "the cuts change what a request means")
    }
    for head in whole.heads { checkMeaning(of: head) }
    if let refusal = whole.refusal {
        require(refusal.serialized(date: nil).count <= Refusal.maximumBytes, "a refusal is below 1 KB")
    }
    return 0
}
