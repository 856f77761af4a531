import LiveState

/// The sums of what apps counted (`RefreshCount`), as `livecat report` shows them.
struct RefreshReport {
    /// A line that is not such a value.
    struct BadLine: Error, Equatable, CustomStringConvertible {
        let line: Int
        let problem: String
        var description: String { "line \(line): \(problem)" }
    }

    /// The sums of all screens, by day.
    private(set) var days: [CalendarDate: RefreshCount] = [:]
    /// The sums of all days, by screen.
    private var screens: [String: RefreshCount] = [:]

    /// Reads JSON lines, each an object with the members of a `RefreshCount`. Other members and empty lines are ignored.
    ///
    /// Lines of the same `device`, day and screen are one value that increased: the last one counts. Without `device`, each line
    /// counts.
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

    /// The days in at most so many columns of the same number of days, the first day first; a column without a value is nil.
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
    /// The bin of `latency` that contains this part of the events, 0.5 for the median; nil if there were no events.
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

    /// The text of a bin: `< 250 ms`, and `> 60 s` for the last.
    static func latencyText(_ bin: Int?) -> String {
        guard let bin else { return "-" }
        let end = latencyEnds[min(bin, latencyEnds.count - 1)]
        let seconds = "\(end / 1_000)" + (end % 1_000 == 0 ? "" : ".\(end % 1_000 / 100)") + " s"
        let text = end < 1_000 ? "\(end) ms" : seconds
        return (bin < latencyEnds.count ? "< " : "> ") + text
    }

    /// The share of changes that needed no separate fetch, 0 to 1; nil if there were no changes.
    var savedShare: Double? {
        let all = made + merged + avoided
        return all == 0 ? nil : Double(merged + avoided) / Double(all)
    }
}
