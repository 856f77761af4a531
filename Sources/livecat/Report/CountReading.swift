import LiveState
import LiveUpdates

/// Why a line is not a value of `RefreshCounts`.
struct BadCount: Error, Equatable {
    let problem: String
}

/// Reads one value of `RefreshCounts` (`RefreshCount`).
enum CountReading {
    /// Such a value has some 200 bytes, with an app's additions a few hundred.
    static let maximumLineBytes = 64 * 1024
    /// More than is counted in a day; and sums of all lines of a file do not overflow.
    static let maximumCount: UInt64 = 1_000_000_000_000

    /// The value, and its device, if the app added one.
    static func read(_ line: [UInt8]) throws(BadCount) -> (count: RefreshCount, device: String?) {
        let limits = JSONLimits(maximumBytes: maximumLineBytes, maximumDepth: 8)
        let root: JSONValue
        do throws(JSONError) {
            root = try JSONDocument(line, limits: limits).root
        } catch {
            throw BadCount(problem: "\(error)")
        }
        guard root.kind == .object else { throw BadCount(problem: "no JSON object") }
        if let name = root.repeatedMember { throw BadCount(problem: "duplicate member \"\(name)\"") }
        guard let day = text(root, "day"), CalendarDate(day) != nil else {
            throw BadCount(problem: "no \"day\", as 2026-11-23")
        }
        guard let screen = text(root, "screen") else { throw BadCount(problem: "no \"screen\", a text") }
        var count = RefreshCount(day: day, screen: screen)
        count.manual = try number(root, "manual")
        count.automatic = try number(root, "automatic")
        count.ahead = try number(root, "ahead")
        count.made = try number(root, "made")
        count.merged = try number(root, "merged")
        count.avoided = try number(root, "avoided")
        if let latency = member(root, "latency") { count.latency = try bins(latency) }
        return (count, text(root, "device"))
    }

    private static func bins(_ value: JSONValue) throws(BadCount) -> [Int] {
        let number = RefreshCount.latencyEnds.count + 1
        guard let elements = value.elements, elements.count == number else {
            throw BadCount(problem: "\"latency\" is no list of \(number) numbers")
        }
        var bins: [Int] = []
        for element in elements { bins.append(try whole(element, "latency")) }
        return bins
    }

    private static func member(_ root: JSONValue, _ name: String) -> JSONValue? { (try? root.member(name)) ?? nil }

    private static func text(_ root: JSONValue, _ name: String) -> String? { member(root, name)?.string }

    private static func number(_ root: JSONValue, _ name: String) throws(BadCount) -> Int {
        guard let value = member(root, name) else { return 0 }
        return try whole(value, name)
    }

    private static func whole(_ value: JSONValue, _ name: String) throws(BadCount) -> Int {
        guard case .positive(let number) = value.integer, number <= maximumCount else {
            throw BadCount(problem: "\"\(name)\": \(value.source) is not a whole number from 0 to \(maximumCount)")
        }
        return Int(number)
    }
}

/// A day of the Gregorian calendar.
struct CalendarDate: Hashable, Comparable {
    /// Days since 1970-01-01.
    let number: Int

    /// - Parameter text: such as `2026-11-23`; the result is nil if it is not a date.
    init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 10, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-") else { return nil }
        let digits = (bytes[0..<4] + bytes[5..<7] + bytes[8..<10]).map { Int($0) - Int(UInt8(ascii: "0")) }
        guard digits.allSatisfy((0...9).contains) else { return nil }
        let year = digits[0..<4].reduce(0) { $0 * 10 + $1 }
        let (month, day) = (digits[4] * 10 + digits[5], digits[6] * 10 + digits[7])
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard (1...12).contains(month), (1...lengths[month - 1]).contains(day) else { return nil }
        // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", days_from_civil: years that begin in March.
        let marchYear = month <= 2 ? year - 1 : year
        let era = (marchYear >= 0 ? marchYear : marchYear - 399) / 400
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        number = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    static func < (one: Self, other: Self) -> Bool { one.number < other.number }
}
