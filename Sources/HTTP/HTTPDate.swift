/// The form of `Date` (RFC 9110 §5.6.7, IMF-fixdate).
package enum HTTPDate {
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// `Sun, 06 Nov 1994 08:49:37 GMT` for a number of seconds since 1970, not before it.
    package static func text(secondsSince1970 seconds: Int) -> String {
        precondition(seconds >= 0, "the clock stands before 1970")
        let dayNumber = seconds / 86_400
        let (year, month, day) = civil(dayNumber)
        let time = seconds % 86_400
        return days[dayNumber % 7] + ", " + two(day) + " " + months[month - 1] + " " + String(year) + " "
            + two(time / 3600) + ":" + two(time / 60 % 60) + ":" + two(time % 60) + " GMT"
    }

    /// Year, month and day of the n-th day since 1970 in the Gregorian calendar, by whole cycles of 400 years that begin
    /// on 1 March, so that a leap day is the last of its year.
    private static func civil(_ dayNumber: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = dayNumber + 719_468
        let cycle = shifted / 146_097
        let dayOfCycle = shifted % 146_097
        let yearOfCycle =
            (dayOfCycle - dayOfCycle / 1460 + dayOfCycle / 36_524 - dayOfCycle / 146_096) / 365
        let dayOfYear = dayOfCycle - (365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfCycle + cycle * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    private static func two(_ value: Int) -> String { value < 10 ? "0\(value)" : String(value) }
}
