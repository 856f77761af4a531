// Tests: BoardSign.swift, Display.swift

import Foundation
import LiveState
import Testing

@testable import liveboard

struct BoardSignTests {
    private static func settled(
        _ sign: BoardSign, at now: Milliseconds, isFetching: Bool = false,
        _ change: (inout BoardSign) -> Void = { _ in }
    ) -> BoardSign {
        var sign = sign
        change(&sign)
        sign.settle(isFetching: isFetching, at: now) { "at \($0)" }
        return sign
    }

    private static var well: BoardSign { settled(BoardSign(), at: 0) { $0.freshness = .connected } }

    @Test func `at the start nothing is well, not even for a moment`() {
        #expect(Self.settled(BoardSign(), at: 0).words == "starting")
        let begun = Self.settled(BoardSign(), at: 1) { $0.freshness = .connecting(since: 1) }
        #expect(begun.words == "connecting since at 1" && begun.isOld)
        let fetching = Self.settled(begun, at: 2, isFetching: true) { $0.freshness = .connected }
        #expect(fetching.words == "connecting since at 2" && fetching.isOld && fetching.wakeAt == nil)
        let well = Self.settled(fetching, at: 3)
        #expect(well.words == "connected" && !well.isOld)
    }

    @Test func `a short gap changes no words, and a longer one does`() {
        let gap = Self.settled(Self.well, at: 1_000) { $0.freshness = .connecting(since: 1_000) }
        #expect(gap.words == "connected" && !gap.isOld)
        let shown = Self.settled(gap, at: 1_300) { $0.shown = .connecting(since: 1_000) }
        #expect(shown.words == "connecting since at 1000" && shown.isOld)
        let failed = Self.settled(shown, at: 6_000) {
            $0.freshness = .cannotConnect(since: 1_000)
            $0.shown = .cannotConnect(since: 1_000)
        }
        #expect(failed.words == "cannot connect since at 1000" && failed.isOld)
    }

    @Test func `what is fetched for long is not called well, and when that is due is known`() {
        let fetching = Self.settled(Self.well, at: 1_000, isFetching: true)
        #expect(fetching.words == "connected" && fetching.wakeAt == 1_300)
        let late = Self.settled(fetching, at: 1_300, isFetching: true)
        #expect(late.words == "connecting since at 1000" && late.isOld && late.wakeAt == nil)
        #expect(Self.settled(late, at: 1_400).words == "connected")
        #expect(Self.settled(fetching, at: 1_299).wakeAt == nil)
    }

    @Test func `a silent source, a token that is refused and an end are told, the last one first`() {
        var sign = Self.settled(Self.well, at: 5) {
            $0.freshness = .sourceStalled(since: 3)
            $0.shown = .sourceStalled(since: 3)
        }
        #expect(sign.words == "no news since at 3" && sign.isOld)
        sign = Self.settled(sign, at: 6) { $0.refusedSince = 6 }
        #expect(sign.words == "token refused since at 6" && sign.isOld)
        sign = Self.settled(sign, at: 7) { $0.ending = "it was closed" }
        #expect(sign.words == "no more news: it was closed" && sign.isOld)
    }

    @Test func `a time of another day has its date`() throws {
        let zone = try #require(TimeZone(secondsFromGMT: 3_600))
        let noon: Milliseconds = 1_750_000_000_000  // 2025-06-15 15:06:40 UTC
        #expect(LocalTime.text(noon, now: noon + 60_000, zone: zone) == "16:06:40")
        #expect(LocalTime.text(noon, now: noon + 8 * 3_600_000, zone: zone) == "2025-06-15 16:06:40")
        #expect(LocalTime.text(-1, now: noon, zone: zone) == "1970-01-01 00:59:59")
    }
}
