/// Year, month and day of the Gregorian calendar.
package struct CivilDate: Sendable, Equatable {
    package let year: Int
    package let month: Int
    package let day: Int

    /// The n-th day since 1 January 1970, which is day 0. Earlier days are not allowed.
    ///
    /// Counts in whole cycles of 400 years that begin on 1 March, so that a leap day is the last day of its year.
    package init(daysSince1970 days: Int) {
        precondition(days >= 0, "the clock is before 1970")
        let shifted = days + 719_468
        let cycle = shifted / 146_097
        let dayOfCycle = shifted % 146_097
        let yearOfCycle = (dayOfCycle - dayOfCycle / 1460 + dayOfCycle / 36_524 - dayOfCycle / 146_096) / 365
        let dayOfYear = dayOfCycle - (365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfCycle + cycle * 400 + (month <= 2 ? 1 : 0)
    }
}

/// The form of `Date` (RFC 9110 §5.6.7, IMF-fixdate).
package enum HTTPDate {
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// `Sun, 06 Nov 1994 08:49:37 GMT` for a number of seconds since 1970. Earlier times are not allowed.
    package static func text(secondsSince1970 seconds: Int) -> String {
        let date = CivilDate(daysSince1970: seconds / 86_400)
        return days[seconds / 86_400 % 7] + ", " + two(date.day) + " " + months[date.month - 1] + " "
            + String(date.year) + " " + two(seconds / 3600 % 24) + ":" + two(seconds / 60 % 60) + ":"
            + two(seconds % 60) + " GMT"
    }

    private static func two(_ value: Int) -> String { value < 10 ? "0\(value)" : String(value) }
}

/// Times as JSON and the details of problems contain them (RFC 3339), in UTC.
package enum InternetDate {
    /// 9999-12-31T23:59:59Z: the format cannot express a later time.
    package static let lastSecond: Int64 = 253_402_300_799

    /// `2026-11-21T10:40:46Z` for seconds since 1970. Outside the years 1970 to 9999, the nearest second within them.
    package static func text(secondsSince1970 seconds: Int64) -> String { toTheSecond(seconds) + "Z" }

    /// `2026-11-21T10:40:46.123Z` for milliseconds since 1970. A time before 1970 gives the beginning of 1970.
    package static func text(millisecondsSince1970 milliseconds: Int64) -> String {
        let milliseconds = max(milliseconds, 0)
        return toTheSecond(milliseconds / 1000) + "." + padded(Int(milliseconds % 1000), 3) + "Z"
    }

    private static func toTheSecond(_ seconds: Int64) -> String {
        let seconds = Int(min(max(seconds, 0), lastSecond))
        let date = CivilDate(daysSince1970: seconds / 86_400)
        return padded(date.year, 4) + "-" + padded(date.month, 2) + "-" + padded(date.day, 2) + "T"
            + padded(seconds / 3600 % 24, 2) + ":" + padded(seconds / 60 % 60, 2) + ":" + padded(seconds % 60, 2)
    }

    private static func padded(_ value: Int, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
