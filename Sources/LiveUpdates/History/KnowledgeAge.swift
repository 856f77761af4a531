/// How long before a cursor's issue its node last knew a log to be the one it reads, in two bytes.
///
/// Exact to the millisecond below 8 s, which is more than passes between two looks, and within 1/4,096 above. One byte
/// would do for safety, but it would refuse good cursors: a log that was born 5 ms before it was known must not seem
/// known before it was born.
enum KnowledgeAge {
    static let never: UInt16 = .max
    private static let linear: Int64 = 8192
    private static let steps: Int64 = 4096

    /// Rounded up, so that what is read from it is never later than the truth. `known` nil is never.
    static func code(known: Int64?, issue: Int64) -> UInt16 {
        guard let known else { return never }
        let (age, overflow) = issue.subtractingReportingOverflow(known)
        guard !overflow else { return known > issue ? 0 : never }
        if age < linear { return UInt16(max(0, age)) }
        var octave: Int64 = 0
        var mantissa = age
        while mantissa >= 2 * steps {
            mantissa = mantissa >> 1 + mantissa & 1
            octave += 1
        }
        // Rounding may have made it the first of the next octave, which is the same number.
        let code = linear + (octave - 1) * steps + mantissa - steps
        return code < Int64(never) ? UInt16(code) : never
    }

    /// Nil for never.
    static func known(code: UInt16, issue: Int64) -> Int64? {
        guard code != never else { return nil }
        guard code >= linear else { return issue - Int64(code) }
        let (octave, rest) = (Int64(code) - linear).quotientAndRemainder(dividingBy: steps)
        return issue - (steps + rest) << (octave + 1)
    }
}
