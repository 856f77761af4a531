import FuzzSupport
import HTTP

private struct Outcome: Equatable {
    var head: ResponseHead?
    var fault: ResponseFault?
    var body: [UInt8] = []
    var isDone = false
    var isTruncated = false
}

private let maximumBodyBytes = 300

/// Reads a response and the beginning of its body.
private func read(_ pieces: [[UInt8]]) -> Outcome {
    var parser = ResponseParser(
        limits: ResponseLimits(maximumLineBytes: 200, maximumHeaderBytes: 400, maximumHeaders: 8))
    var outcome = Outcome()
    var body: BodyReader?
    for piece in pieces {
        var rest = piece[...]
        do throws(ResponseFault) {
            if outcome.head == nil {
                switch parser.consume(piece.span) {
                case .needMore: continue
                case .failed(let fault): throw fault
                case .head(let head, let consumed):
                    outcome.head = head
                    body = BodyReader(try head.framing(), maximumBytes: maximumBodyBytes)
                    rest = piece[consumed...]
                }
            }
            let bytes = Array(rest)
            try body?.consume(bytes.span)
        } catch {
            outcome.fault = error
            break
        }
    }
    outcome.body = body?.bytes ?? []
    outcome.isDone = body?.isDone ?? false
    outcome.isTruncated = body?.isTruncated ?? false
    return outcome
}

@_cdecl("LLVMFuzzerTestOneInput")
package func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let bytes = unsafe fuzzInput(start, count)
    let whole = read([bytes])
    require(whole.body.count <= maximumBodyBytes, "a body is kept up to its limit")
    for pieces in cuts(of: bytes, seed: bytes.last ?? 0) {
        require(read(pieces) == whole, "the cuts change what a response means")
    }
    if let head = whole.head, head.status == 101 {
        let offer = UpgradeOffer(target: "/", host: "a", key: "AAAAAAAAAAAAAAAAAAAAAA==")
        _ = try? offer.agreement(in: head, accept: "x")
    }
    return 0
}
