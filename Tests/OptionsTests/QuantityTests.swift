import Options
import Testing

@Suite struct QuantityTests {
    @Test func `a duration is a whole number and one unit`() {
        let rows: [(String, Int64?)] = [
            ("250ms", 250), ("30s", 30_000), ("5m", 300_000), ("24h", 86_400_000), ("7d", 604_800_000), ("0s", 0),
            ("9223372036854775807ms", .max), ("9223372036854775808ms", nil), ("9223372036854775s", .max - 807),
            ("9223372036854776s", nil), ("106751991167d", 106_751_991_167 * 86_400_000), ("106751991168d", nil),
            ("", nil), ("5", nil), ("s", nil), ("-5s", nil), ("+5s", nil), ("5 s", nil), (" 5s", nil), ("5s ", nil),
            ("1h30m", nil), ("1.5s", nil), ("5S", nil), ("5sec", nil), ("1_000ms", nil), ("٣s", nil), ("5s\0", nil),
        ]
        for (text, milliseconds) in rows { #expect(Quantity.milliseconds(text) == milliseconds, "\(text)") }
    }

    @Test func `a size is a whole number of bytes or of KiB, MiB and GiB`() {
        let rows: [(String, Int?)] = [
            ("1", 1), ("0", 0), ("16KiB", 16_384), ("4MiB", 4_194_304), ("1GiB", 1_073_741_824),
            ("9223372036854775807", .max), ("9223372036854775808", nil), ("8589934591GiB", 8_589_934_591 << 30),
            ("8589934592GiB", nil), ("", nil), ("KiB", nil), ("-1", nil), ("1KB", nil), ("1kib", nil), ("1 KiB", nil),
            ("1.5KiB", nil), ("0x10", nil), ("1K", nil), ("1B", nil),
        ]
        for (text, bytes) in rows { #expect(Quantity.bytes(text) == bytes, "\(text)") }
    }

    @Test func `what is written is read back`() {
        for milliseconds in [1, 999, 1_000, 1_001, 60_000, 3_600_000, 90_000, 86_400_000, 604_800_000] as [Int64] {
            #expect(Quantity.milliseconds(Quantity.text(milliseconds: milliseconds)) == milliseconds)
        }
        for bytes in [1, 1023, 1024, 1025, 16_384, 1 << 20, 1 << 30, 3 << 29] {
            #expect(Quantity.bytes(Quantity.text(bytes: bytes)) == bytes)
        }
        #expect(Quantity.text(milliseconds: 90_000) == "90s" && Quantity.text(bytes: 4096) == "4KiB")
    }

    @Test func `zero is a duration only where that is said`() throws {
        #expect(throws: ValueProblem.self) { try ValueKind.duration().read("0s") }
        #expect(try ValueKind.duration(allowsZero: true).read("0s") == .zero)
        #expect(try ValueKind.duration().read("1ms") == .milliseconds(1))
        #expect(throws: ValueProblem.self) { try ValueKind.size().read("0") }
    }
}
