/// A record of a log that distinguishes it from another log of the same name.
struct Landmark: Equatable, Sendable {
    let offset: Int64
    /// As Kafka has it, in ms; -1 where the record has none.
    let timestamp: Int64
}

/// Landmarks of one log: the record that was read last, and the last one of each earlier period, for as long as events are kept.
///
/// Cursors contain the last record of a period that is over. Nodes that read the same log choose nearly the same ones. So a node
/// usually finds a cursor's record in its memory; if not, many cursors ask for one record.
///
/// At most 2 KiB.
struct Landmarks: Sendable {
    /// Events are kept for this many periods.
    static let periods = 128

    /// In the order of their offsets; a ring once there are as many as there may be.
    private var landmarks: [Landmark] = []
    private var oldest = 0
    private(set) var last: Landmark?
    /// How long a period is, in ms; the first one begins at 0.
    private let periodMilliseconds: Int64
    /// When the period of the newest arrival ends, in ms.
    private var periodEnd = Int64.min

    init(periodMilliseconds: Int64) {
        self.periodMilliseconds = periodMilliseconds
    }

    /// A record was read that arrived at a moment, in ms. Returns whether it is the first of its period. Constant time.
    @inline(__always)
    mutating func read(_ offset: Int64, timestamp: Int64, arrival: Int64) -> Bool {
        let begins = arrival >= periodEnd
        if begins { beginPeriod(of: arrival) }
        last = Landmark(offset: offset, timestamp: timestamp)
        return begins
    }

    private mutating func beginPeriod(of arrival: Int64) {
        let (end, overflow) = (arrival - arrival % periodMilliseconds).addingReportingOverflow(periodMilliseconds)
        periodEnd = overflow ? .max : end
        guard let last else { return }
        guard landmarks.count == Self.periods else { return landmarks.append(last) }
        landmarks[oldest] = last
        oldest = (oldest + 1) % Self.periods
    }

    /// The newest landmark of a period that is over at a moment, in ms; if there is none yet, the record that was read last.
    func settled(at moment: Int64) -> Landmark? {
        moment >= periodEnd || landmarks.isEmpty ? last : self[landmarks.count - 1]
    }

    /// The newest landmark before an offset.
    func newest(before offset: Int64) -> Landmark? {
        if let last, last.offset < offset { return last }
        let index = count(before: offset)
        return index > 0 ? self[index - 1] : nil
    }

    /// The landmark at an offset; nil where the record there is not one.
    func landmark(at offset: Int64) -> Landmark? {
        if let last, last.offset == offset { return last }
        let index = count(before: offset)
        return index < landmarks.count && self[index].offset == offset ? self[index] : nil
    }

    private subscript(index: Int) -> Landmark { landmarks[(oldest + index) % landmarks.count] }

    private func count(before offset: Int64) -> Int {
        var (low, high) = (0, landmarks.count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].offset < offset { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
