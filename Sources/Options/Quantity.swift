/// Durations and sizes in the form that people write: a whole number and one unit, no sign, no sum.
package enum Quantity {
    private static let durationUnits: [(suffix: String, milliseconds: Int64)] = [
        ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]

    private static let sizeUnits: [(suffix: String, bytes: Int)] = [
        ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30),
    ]

    /// Reads `250ms`, `30s`, `5m`, `24h` or `7d`. Nil for anything else, and if an Int64 cannot hold the milliseconds.
    package static func milliseconds(_ text: String) -> Int64? {
        let digits = text.utf8.prefix(while: isDigit)
        let suffix = String(text.utf8.dropFirst(digits.count)) ?? ""
        guard let number = Int64(String(digits) ?? ""), let unit = durationUnits.first(where: { $0.suffix == suffix })
        else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: unit.milliseconds)
        return overflow ? nil : product
    }

    /// Reads `4096`, `16KiB`, `4MiB` or `1GiB`. Nil for anything else, and if an Int cannot hold the bytes.
    package static func bytes(_ text: String) -> Int? {
        let digits = text.utf8.prefix(while: isDigit)
        let suffix = String(text.utf8.dropFirst(digits.count)) ?? ""
        guard let number = Int(String(digits) ?? "") else { return nil }
        if suffix.isEmpty { return number }
        guard let unit = sizeUnits.first(where: { $0.suffix == suffix }) else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: unit.bytes)
        return overflow ? nil : product
    }

    /// Writes a duration with the largest unit that leaves a whole number.
    package static func text(milliseconds: Int64) -> String {
        guard milliseconds > 0 else { return "0s" }
        let unit = durationUnits.last { milliseconds % $0.milliseconds == 0 } ?? durationUnits[0]
        return "\(milliseconds / unit.milliseconds)\(unit.suffix)"
    }

    /// Writes a size with the largest unit that leaves a whole number.
    package static func text(bytes: Int) -> String {
        guard bytes > 0, let unit = sizeUnits.last(where: { bytes % $0.bytes == 0 }) else { return "\(bytes)" }
        return "\(bytes / unit.bytes)\(unit.suffix)"
    }

    /// Reads a whole number in decimal digits, without sign, blank or separator.
    package static func wholeNumber(_ text: String) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy(isDigit) else { return nil }
        return Int(text)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }
}
