/// What a JSON document may cost before it is refused.
package struct JSONLimits: Sendable {
    package var maximumBytes: Int
    /// Arrays and objects inside each other; `[[]]` is 2 deep.
    package var maximumDepth: Int

    package init(maximumBytes: Int, maximumDepth: Int) {
        precondition(maximumBytes >= 0 && maximumDepth >= 0 && maximumDepth <= Self.deepest, "no such limits")
        self.maximumBytes = maximumBytes
        self.maximumDepth = maximumDepth
    }

    /// 1,024 levels, as simdjson has it: real records stay below 20, and each level costs the reader eight bytes.
    package static let deepest = 1024

    /// A record's value. Kafka already limits its size (`max.message.bytes`, at most 2 GiB − 1), so this only keeps
    /// places in the document within 32 bits: a record that the broker took is never refused for being large.
    package static let record = JSONLimits(maximumBytes: Int(Int32.max), maximumDepth: deepest)
}
