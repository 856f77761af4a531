/// What a node had done at one moment, as far as rates and charts need it.
struct LoadSample: Sendable {
    /// Monotonic, in milliseconds.
    var time: UInt64 = 0
    /// Totals since the start.
    var events: UInt64 = 0
    var deliveries: UInt64 = 0
    var handshakes: UInt64 = 0
    var refusals: UInt64 = 0
    var delivery = Histogram()
    var age = Histogram()
    /// At that moment.
    var connections = 0
    var lagRecords: Int64 = 0
}

/// The samples of the last ten minutes, one a second. A value without a clock.
struct LoadHistory: Sendable {
    static let keptMilliseconds: UInt64 = 600_000
    /// A second each, and some that came early.
    static let maximumSamples = 660
    /// The time span of the quantiles.
    static let quantileMilliseconds: UInt64 = 60_000
    /// Between two points of a chart.
    static let pointMilliseconds: UInt64 = 5_000

    private var samples: [LoadSample] = []

    /// In the order of their time.
    mutating func note(_ sample: LoadSample) {
        samples.append(sample)
        while let first = samples.first,
            samples.count > Self.maximumSamples || sample.time - min(sample.time, first.time) > Self.keptMilliseconds
        {
            samples.removeFirst()
        }
    }

    /// The last sample that is at least so old, else the oldest; nil without any.
    private func sample(before now: UInt64, by milliseconds: UInt64) -> LoadSample? {
        samples.last { $0.time + milliseconds <= now } ?? samples.first
    }

    /// A number a second, over the last so many seconds (or since the first sample).
    func rate(_ total: (LoadSample) -> UInt64, seconds: UInt64, until now: LoadSample) -> Double {
        guard let base = sample(before: now.time, by: seconds * 1000), now.time > base.time else { return 0 }
        return Double(total(now) - min(total(now), total(base))) * 1000 / Double(now.time - base.time)
    }

    /// In milliseconds; nil where nothing was observed.
    func quantile(_ share: Double, _ histogram: (LoadSample) -> Histogram, until now: LoadSample) -> Double? {
        let base = sample(before: now.time, by: Self.quantileMilliseconds).map(histogram) ?? Histogram()
        return histogram(now).since(base).quantile(share).map { $0 / 1000 }
    }

    /// A point of the charts.
    struct Point: Sendable {
        let secondsAgo: Double
        let connections: Int
        /// A second.
        let deliveries: Double
        let events: Double
        let refusals: Double
        /// Nil without deliveries.
        let deliveryP50Milliseconds: Double?
        let deliveryP99Milliseconds: Double?
        let lagRecords: Int64
    }

    /// From the oldest to the newest.
    func points(until now: LoadSample) -> [Point] {
        var points: [Point] = []
        var before: LoadSample?
        for sample in samples {
            guard let base = before else {
                before = sample
                continue
            }
            guard sample.time >= base.time + Self.pointMilliseconds else { continue }
            before = sample
            let seconds = Double(sample.time - base.time) / 1000
            let delivery = sample.delivery.since(base.delivery)
            func rate(_ total: KeyPath<LoadSample, UInt64>) -> Double {
                Double(sample[keyPath: total] - min(sample[keyPath: total], base[keyPath: total])) / seconds
            }
            points.append(
                Point(
                    secondsAgo: Double(now.time - min(now.time, sample.time)) / 1000,
                    connections: sample.connections, deliveries: rate(\.deliveries), events: rate(\.events),
                    refusals: rate(\.refusals), deliveryP50Milliseconds: delivery.quantile(0.5).map { $0 / 1000 },
                    deliveryP99Milliseconds: delivery.quantile(0.99).map { $0 / 1000 },
                    lagRecords: sample.lagRecords))
        }
        return points
    }
}
