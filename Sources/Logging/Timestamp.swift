import Glibc

/// Times in the form of log lines: RFC 3339, UTC, milliseconds.
package enum Timestamp {
    /// Milliseconds since 1970, UTC.
    package static func now() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// `2026-11-21T10:40:46.123Z`, for years from 0 to 9999. RFC 3339 has no form for other years, so they become the end of the
    /// range. The corresponding C function is `gmtime_r`.
    package static func text(_ milliseconds: Int64) -> String {
        let clamped = clamped(milliseconds)
        var second = time_t(clamped.quotientRoundedDown(1_000))
        var parts = unsafe tm()
        unsafe gmtime_r(&second, &parts)
        return unsafe "\(Int64(parts.tm_year) + 1900, 4)-\(Int64(parts.tm_mon) + 1, 2)-\(Int64(parts.tm_mday), 2)"
            + "T\(Int64(parts.tm_hour), 2):\(Int64(parts.tm_min), 2):\(Int64(parts.tm_sec), 2)"
            + ".\(clamped - Int64(second) * 1_000, 3)Z"
    }

    /// The nearest time that has a form.
    fileprivate static func clamped(_ milliseconds: Int64) -> Int64 {
        min(max(milliseconds, -62_167_219_200_000), 253_402_300_799_999)
    }
}

/// Writes times in the form of ``Timestamp/text(_:)``. The text of a second is made once for all its lines.
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
