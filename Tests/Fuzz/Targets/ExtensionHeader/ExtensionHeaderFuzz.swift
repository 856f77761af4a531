import FuzzSupport
import WebSocket

@_cdecl("LLVMFuzzerTestOneInput")
package func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    let bytes = unsafe fuzzInput(start, count)
    guard let elements = try? ExtensionListParser.parse(bytes) else { return 0 }
    require((1...ExtensionListParser.maximumElements).contains(elements.count), "the limit on elements holds")
    for policy in [DeflatePolicy.accommodating, .shared] {
        guard let (parameters, answer) = policy.accept(elements) else { continue }
        let range = DeflateParameters.windowBitsRange
        require(
            range.contains(parameters.serverWindowBits) && range.contains(parameters.clientWindowBits),
            "windows are in their range")
        let read = try? ExtensionListParser.parse(Array(answer.utf8))
        require(read?.count == 1, "an answer is one element")
        // A client that asked for nothing in particular understands every answer.
        require(DeflateOffer().read(answer: read ?? []) != nil, "an answer is understood")
    }
    for offer in [DeflateOffer(), DeflateOffer(serverNoContextTakeover: true, serverWindowBits: 10)] {
        guard let parameters = offer.read(answer: elements) else { continue }
        require(!offer.serverNoContextTakeover || !parameters.serverContextTakeover, "what was asked is granted")
    }
    return 0
}
