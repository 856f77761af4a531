import Testing

@testable import Gateway

struct ClockWatchTests {
    @Test func `a clock that is set is seen, and one that is slewed or waits for its process is not`() {
        var watch = ClockWatch()
        let year: Int64 = 365 * 86_400_000
        let rows: [(wall: Int64, monotonic: UInt64, jump: Int64?)] = [
            (1_795_240_000_000, 1_000, nil),
            (1_795_240_000_500, 1_500, nil),
            // The process stood still for a day.
            (1_795_326_400_500, 86_401_500, nil),
            (1_795_326_400_500 + 60_000, 86_401_500, nil),
            (1_795_326_400_500 + 120_001, 86_401_500, 60_001),
            (1_795_326_400_500 + 120_001 + year, 86_401_600, year - 100),
            (1_795_326_400_500, 86_401_600, -120_001 - year),
        ]
        #expect(rows.map { watch.shows($0.wall, monotonic: $0.monotonic) } == rows.map(\.jump))
    }
}
