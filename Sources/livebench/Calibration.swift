import Glibc

/// What the machine gives today: one send and one receive of 64 bytes over a loopback connection, in µs of wall time.
enum Calibration {
    private static let rounds = 50_000

    static func measure() -> Double {
        var ends: [Int32] = [0, 0]
        guard unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else { return 0 }
        defer { for end in ends { close(end) } }
        var bytes = [UInt8](repeating: 0x61, count: 64)
        let start = BenchEvent.now()
        for _ in 0..<rounds {
            _ = unsafe send(ends[0], bytes, bytes.count, 0)
            _ = unsafe recv(ends[1], &bytes, bytes.count, 0)
        }
        return Double(BenchEvent.now() - start) / Double(rounds)
    }
}
