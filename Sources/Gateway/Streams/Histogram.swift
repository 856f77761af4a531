/// Durations, counted in buckets. Plain integers: only one loop counts, and readers ask that loop.
struct Histogram: Sendable, Equatable {
    /// The upper bounds, included, in microseconds: from half a millisecond to a minute. Longer durations are in a bucket of
    /// their own.
    static let bounds: [UInt64] = [
        500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000,
        10_000_000, 30_000_000, 60_000_000,
    ]

    /// One for each bound, and the last.
    private(set) var counts = [UInt64](repeating: 0, count: bounds.count + 1)
    /// In microseconds.
    private(set) var sum: UInt64 = 0

    var total: UInt64 { counts.reduce(0, +) }

    static func bucket(of microseconds: UInt64) -> Int {
        var bucket = 0
        while bucket < bounds.count, microseconds > bounds[bucket] { bucket += 1 }
        return bucket
    }

    mutating func observe(_ microseconds: UInt64, times: UInt64 = 1) {
        add(times, to: Self.bucket(of: microseconds), microseconds)
    }

    /// The same where the bucket is known.
    mutating func add(_ times: UInt64, to bucket: Int, _ microseconds: UInt64) {
        counts[bucket] += times
        sum &+= microseconds &* times
    }

    static func + (a: Histogram, b: Histogram) -> Histogram {
        var result = a
        for index in result.counts.indices { result.counts[index] += b.counts[index] }
        result.sum &+= b.sum
        return result
    }

    /// What was observed since an earlier state of the same histogram.
    func since(_ earlier: Histogram) -> Histogram {
        var result = self
        for index in counts.indices { result.counts[index] -= min(counts[index], earlier.counts[index]) }
        result.sum &-= earlier.sum
        return result
    }

    /// About the time within which this share (0 to 1) stayed, in microseconds: evenly spread within its bucket. Nil where
    /// nothing was observed; the last bound for all that lasted longer.
    func quantile(_ share: Double) -> Double? {
        let total = total
        guard total > 0 else { return nil }
        let wanted = share * Double(total)
        var below = 0.0
        for (index, bound) in Self.bounds.enumerated() {
            let count = Double(counts[index])
            if count > 0, below + count >= wanted {
                let start = index == 0 ? 0 : Double(Self.bounds[index - 1])
                return start + (Double(bound) - start) * max(0, wanted - below) / count
            }
            below += count
        }
        return Self.bounds.last.map { Double($0) }
    }
}
