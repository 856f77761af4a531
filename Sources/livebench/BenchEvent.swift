import Glibc

/// The records of a run: Rails-shaped, about 130 bytes, with the time at which they were made as their id.
enum BenchEvent {
    /// Monotonic µs; the same clock in all processes of a machine.
    static func now() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    static func record(account: String, at time: Int64) -> [UInt8] {
        Array(
            #"{"account_id":"\#(account)","entity":"incidents::incident","id":"\#(time)","type":"updated"}"#.utf8)
    }

    private static let idMark = Array(#""id":""#.utf8)

    /// The time in a message's id.
    static func microseconds(in payload: [UInt8]) -> Int64? {
        guard let mark = payload.firstRange(of: idMark) else { return nil }
        var value: Int64 = 0
        for byte in payload[mark.upperBound...] {
            guard byte >= 0x30, byte <= 0x39 else { break }
            value = value * 10 + Int64(byte - 0x30)
        }
        return value
    }
}
