import LiveState

/// The sums of what apps counted (`RefreshCount`), as `livecat report` shows them.
struct RefreshReport {
    /// A line that is no such value.
    struct BadLine: Error, Equatable, CustomStringConvertible {
        let line: Int
        let problem: String
        var description: String { "line \(line): \(problem)" }
    }

    /// Of all screens, by day.
    private(set) var days: [CalendarDate: RefreshCount] = [:]
    /// Of all days.
    private var screens: [String: RefreshCount] = [:]

    /// Reads JSON lines, each an object with the members of a `RefreshCount`; other members and empty lines are passed
    /// over.
    ///
    /// Lines of the same `device`, day and screen are one value that went on growing: the last one counts. Where there is
    /// no `device` each line counts.
    init(_ bytes: [UInt8]) throws(BadLine) {
        var growing: [[String]: RefreshCount] = [:]
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() where !line.allSatisfy({ $0 == 0x20 || $0 == 0x0D || $0 == 0x09 }) {
            do throws(BadCount) {
                let (count, device) = try CountReading.read(Array(line))
                if let device { growing[[device, count.day, count.screen]] = count } else { add(count) }
            } catch {
                throw BadLine(line: index + 1, problem: error.problem)
            }
        }
        for count in growing.values { add(count) }
    }

    /// The sum of all screens and days.
    var total: RefreshCount {
        days.values.reduce(into: RefreshCount(day: "", screen: "")) { $0.add($1) }
    }

    /// Screens with their sums, those with the most refreshes first.
    var screensByUse: [RefreshCount] {
        screens.values.sorted { ($1.manual + $1.automatic, $0.screen) < ($0.manual + $0.automatic, $1.screen) }
    }

    /// The days in at most so many columns of the same length, the first day first; a column without a value is nil.
    func columns(atMost maximum: Int) -> [RefreshCount?] {
        guard let first = days.keys.min(), let last = days.keys.max() else { return [] }
        let span = last.number - first.number + 1
        let daysEach = (span + maximum - 1) / maximum
        var columns = [RefreshCount?](repeating: nil, count: (span + daysEach - 1) / daysEach)
        for (date, count) in days {
            let column = (date.number - first.number) / daysEach
            var sum = columns[column] ?? RefreshCount(day: count.day, screen: "")
            sum.add(count)
            columns[column] = sum
        }
        return columns
    }

    /// The first and the last day.
    var range: (first: String, last: String)? {
        guard let first = days.keys.min(), let last = days.keys.max() else { return nil }
        return (days[first]?.day ?? "", days[last]?.day ?? "")
    }

    private mutating func add(_ count: RefreshCount) {
        guard let date = CalendarDate(count.day) else { return }
        days[date, default: RefreshCount(day: count.day, screen: "")].add(count)
        screens[count.screen, default: RefreshCount(day: "", screen: count.screen)].add(count)
    }
}

extension RefreshCount {
    /// The bin of `latency` in which so large a part of the events ends, 0.5 the median; nil where there was none.
    func latencyBin(_ part: Double) -> Int? {
        let all = latency.reduce(0, +)
        guard all > 0 else { return nil }
        var seen = 0
        for (bin, events) in latency.enumerated() {
            seen += events
            if Double(seen) >= part * Double(all) { return bin }
        }
        return latency.count - 1
    }

    /// What a bin says: `< 250 ms`, and `> 60 s` for the last.
    static func latencyText(_ bin: Int?) -> String {
        guard let bin else { return "-" }
        let end = latencyEnds[min(bin, latencyEnds.count - 1)]
        let seconds = "\(end / 1_000)" + (end % 1_000 == 0 ? "" : ".\(end % 1_000 / 100)") + " s"
        let text = end < 1_000 ? "\(end) ms" : seconds
        return (bin < latencyEnds.count ? "< " : "> ") + text
    }

    /// Changes that needed no fetch of their own among all, 0 to 1; nil where there was none.
    var savedShare: Double? {
        let all = made + merged + avoided
        return all == 0 ? nil : Double(merged + avoided) / Double(all)
    }
}
