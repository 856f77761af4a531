/// The bytes that libFuzzer hands over.
package func fuzzInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> [UInt8] {
    unsafe Array(UnsafeBufferPointer(start: start, count: count))
}

/// States what must hold for every input; a finding otherwise, with `sentence` in the trace.
package func require(_ holds: Bool, _ sentence: @autoclosure () -> String) {
    if !holds { fatalError(sentence()) }
}

/// Ways to cut `bytes`: each byte alone while there are few, in two where `seed` says, and in pieces of seven.
///
/// What a parser makes of any of them must be what it makes of the whole.
package func cuts(of bytes: [UInt8], seed: UInt8) -> [[[UInt8]]] {
    guard bytes.count > 1 else { return [] }
    let middle = 1 + Int(seed) * (bytes.count - 1) / 256
    var cuts = [
        [Array(bytes[..<middle]), Array(bytes[middle...])],
        stride(from: 0, to: bytes.count, by: 7).map { Array(bytes[$0..<min($0 + 7, bytes.count)]) },
    ]
    if bytes.count <= 256 { cuts.append(bytes.map { [$0] }) }
    return cuts
}
