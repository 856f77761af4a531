import Glibc

/// Moments as log lines have them: RFC 3339, UTC, milliseconds.
package enum Timestamp {
    /// Milliseconds since 1970, UTC.
    package static func now() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// `2026-11-21T10:40:46.123Z`; years from 0 to 9999, beyond which RFC 3339 has no form and the end of the range
    /// stands.
    package static func text(_ milliseconds: Int64) -> String {
        let clamped = clamped(milliseconds)
        let day = clamped.quotientRoundedDown(86_400_000)
        let rest = clamped - day * 86_400_000
        let date = civil(day)
        return "\(date.year, 4)-\(date.month, 2)-\(date.day, 2)T\(rest / 3_600_000, 2):\(rest / 60_000 % 60, 2)"
            + ":\(rest / 1_000 % 60, 2).\(rest % 1_000, 3)Z"
    }

    /// The nearest moment that has a form.
    fileprivate static func clamped(_ milliseconds: Int64) -> Int64 {
        min(max(milliseconds, -62_167_219_200_000), 253_402_300_799_999)
    }

    /// The Gregorian date of a day since 1970. Counted from a 1 March, so that the leap day ends the year.
    private static func civil(_ day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let daysOf400Years: Int64 = 146_097
        let sinceMarch = day + 719_468
        let era = sinceMarch.quotientRoundedDown(daysOf400Years)
        let dayOfEra = sinceMarch - era * daysOf400Years
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let march = (5 * dayOfYear + 2) / 153
        let month = march < 10 ? march + 3 : march - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * march + 2) / 5 + 1)
    }
}

/// Writes moments as ``Timestamp/text(_:)`` has them. The text of a second is made once and serves all its lines.
struct SecondStamp {
    private var second = Int64.min
    private var text: [UInt8] = []

    mutating func append(_ milliseconds: Int64, to bytes: inout [UInt8]) {
        let moment = Timestamp.clamped(milliseconds)
        let second = moment.quotientRoundedDown(1_000)
        if second != self.second {
            self.second = second
            text = Array(Timestamp.text(moment).utf8)
        }
        // `…:46.123Z`: three digits before the last character.
        var rest = moment - second * 1_000
        for index in stride(from: text.count - 2, through: text.count - 4, by: -1) {
            text[index] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        }
        bytes.append(contentsOf: text)
    }
}

extension Int64 {
    fileprivate func quotientRoundedDown(_ divisor: Int64) -> Int64 {
        self / divisor - (self % divisor < 0 ? 1 : 0)
    }
}

extension DefaultStringInterpolation {
    /// A number that is not negative, with zeros before it.
    fileprivate mutating func appendInterpolation(_ number: Int64, _ width: Int) {
        let digits = String(number)
        appendLiteral(String(repeating: "0", count: Swift.max(0, width - digits.count)) + digits)
    }
}
