/// Numbers that look random and are the same for a seed on every machine: SplitMix64 (Steele, Lea, Flood 2014).
struct FeedNumbers: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    /// From 0 to `bound - 1`. The remainder's bias is of no account at these bounds.
    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    mutating func isOneIn(_ chance: Int) -> Bool { below(chance) == 0 }

    /// From half of `middle` to one and a half of it.
    mutating func around(_ middle: UInt64) -> UInt64 { middle / 2 + next() % (middle + 1) }

    mutating func pick<Element>(_ choices: [Element]) -> Element { choices[below(choices.count)] }

    /// An id in the manner of incident services: a P and six capitals or digits.
    mutating func identifier() -> String {
        let characters = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
        var bytes = [UInt8(ascii: "P")]
        for _ in 0..<6 { bytes.append(pick(characters)) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
