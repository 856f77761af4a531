import FuzzSupport
import HTTP

private let maximumEventBytes = 200

private struct Outcome: Equatable {
    var events: [StreamedEvent] = []
    var retryMilliseconds: UInt64?
    var isTooLong = false
}

private func read(_ pieces: [[UInt8]]) -> Outcome {
    var parser = EventStreamParser(maximumEventBytes: maximumEventBytes)
    var outcome = Outcome()
    do throws(EventStreamFault) {
        for piece in pieces { try parser.consume(piece, into: &outcome.events) }
    } catch {
        outcome.isTooLong = true
    }
    outcome.retryMilliseconds = parser.retryMilliseconds
    return outcome
}

@_cdecl("LLVMFuzzerTestOneInput")
package func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let bytes = unsafe fuzzInput(start, count)
    let whole = read([bytes])
    for event in whole.events {
        require(event.data.count <= maximumEventBytes, "an event is kept up to its limit")
        require(!event.name.contains(0x0A) && !event.name.contains(0x0D), "a name is one line")
        require(event.lastID?.contains(0) != true, "an id with a NUL is none")
    }
    for pieces in cuts(of: bytes, seed: bytes.last ?? 0) {
        require(read(pieces) == whole, "the cuts change what a stream means")
    }
    return 0
}
