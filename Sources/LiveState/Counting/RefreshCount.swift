/// How often one screen was refreshed on one day: a value that an app can send to any service.
///
/// Its JSON is one line of the input of `livecat report`. A day that continues is sent again. Of several values of the same
/// device, screen and day, only the last counts.
public struct RefreshCount: Codable, Hashable, Sendable {
    /// The upper limits of the bins of ``latency``, in milliseconds, each exclusive. The last bin counts what is above.
    public static let latencyEnds: [Milliseconds] = [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 60_000]

    /// `2026-11-23`, in the time zone that the app chose.
    public var day: String
    /// The app's name for the screen.
    public var screen: String
    /// Refreshes that a person asked for: they did not trust what they saw.
    public var manual = 0
    /// Refreshes that an event caused.
    public var automatic = 0
    /// Events by the time from their `ts` to the screen. It has one bin more than ``latencyEnds``.
    public var latency = [Int](repeating: 0, count: RefreshCount.latencyEnds.count + 1)
    /// Events that reached the screen before their `ts`: this device's clock is behind the server's.
    public var ahead = 0
    /// Fetches made.
    public var made = 0
    /// Changes that needed no fetch of their own, because one was waiting already.
    public var merged = 0
    /// Changes of things that no screen showed: no fetch.
    public var avoided = 0

    /// A count of a screen on a day, with nothing counted yet.
    public init(day: String, screen: String) {
        self.day = day
        self.screen = screen
    }

    /// Missing members are 0, so that a line of an older release can be read.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            day: try values.decode(String.self, forKey: .day), screen: try values.decode(String.self, forKey: .screen))
        manual = try values.decodeIfPresent(Int.self, forKey: .manual) ?? 0
        automatic = try values.decodeIfPresent(Int.self, forKey: .automatic) ?? 0
        latency = try values.decodeIfPresent([Int].self, forKey: .latency) ?? latency
        ahead = try values.decodeIfPresent(Int.self, forKey: .ahead) ?? 0
        made = try values.decodeIfPresent(Int.self, forKey: .made) ?? 0
        merged = try values.decodeIfPresent(Int.self, forKey: .merged) ?? 0
        avoided = try values.decodeIfPresent(Int.self, forKey: .avoided) ?? 0
    }

    /// The share of manual refreshes among all, 0 to 1; nil: there were none.
    public var manualShare: Double? {
        let all = Double(manual) + Double(automatic)
        return all == 0 ? nil : Double(manual) / all
    }

    /// Adds another value's numbers. Its day and screen are ignored.
    public mutating func add(_ other: RefreshCount) {
        manual.add(other.manual)
        automatic.add(other.automatic)
        for bin in latency.indices where bin < other.latency.count { latency[bin].add(other.latency[bin]) }
        ahead.add(other.ahead)
        made.add(other.made)
        merged.add(other.merged)
        avoided.add(other.avoided)
    }

    /// Counts an event that reached the screen this long after its `ts`.
    mutating func count(latency milliseconds: Milliseconds) {
        if milliseconds < 0 {
            ahead.add(1)
        } else {
            latency[Self.latencyEnds.firstIndex { milliseconds < $0 } ?? Self.latencyEnds.count].add(1)
        }
    }
}

extension Int {
    /// Adds up to the largest number, because a damaged or foreign file may come close to it.
    mutating func add(_ more: Int) {
        let (sum, isOver) = addingReportingOverflow(more)
        self = isOver ? (more > 0 ? .max : .min) : sum
    }
}

/// The days of Unix time in the Gregorian calendar.
enum CalendarDay {
    /// `2026-11-23`, of a time in milliseconds.
    ///
    /// After Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`: years begin in March, so that
    /// the leap day is their last.
    static func text(_ time: Milliseconds) -> String {
        let days = Int((Double(time) / 86_400_000).rounded(.down)) + 719_468
        let era = (days >= 0 ? days : days - 146_096) / 146_097
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return [padded(year, 4), padded(month, 2), padded(day, 2)].joined(separator: "-")
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
