// Tests: ControlIntake.swift, NodeRevocations.swift

import KafkaLogs
import LiveUpdates
import Logging
import Reactor
import Synchronization
import TestHarness
import Testing
import Tokens

@testable import Gateway

/// Losses of the control topic under a wall clock that is set.
@Suite struct ControlIntakeTests {
    private static let hour: Int64 = 3_600_000

    /// A clock at the present, and by how much it is set.
    private final class Clock: Sendable {
        let ahead: Mutex<Int64>
        init(ahead: Int64) { self.ahead = Mutex(ahead) }
        var milliseconds: Int64 { WallClock.milliseconds + ahead.withLock { $0 } }
        func set(ahead milliseconds: Int64) { ahead.withLock { $0 = milliseconds } }
    }

    private let clock: Clock
    private let revocations: NodeRevocations
    private let intake: ControlIntake
    private let tracker = LogTracker(topics: ["control"], windowMilliseconds: nil, canAskIDs: false)

    init() { self.init(ahead: 0) }

    private init(ahead: Int64) {
        let clock = Clock(ahead: ahead)
        self.clock = clock
        revocations = NodeRevocations(retention: .seconds(86_400), wallClock: { clock.milliseconds })
        intake = ControlIntake(
            revocations: revocations, retentionMilliseconds: 86_400_000, logger: Logger("test", to: SilentLog()),
            erased: { _, _ in })
    }

    private func lose(_ change: LogChange = .recordsLost(PartitionName(topic: 0, number: 0), .unreadable)) {
        intake.take(change, of: tracker, now: 0)
        intake.endOverdueLosses(now: ControlLosses.patienceMilliseconds)
    }

    private func refusal(issued milliseconds: Int64) -> TokenRefusal? {
        revocations.refusal(
            of: Identity(account: Account("A"), subject: nil, expiresAt: nil, issuedAt: milliseconds / 1000))
    }

    @Test(arguments: [false, true]) func `a topic that was created anew while it was read has lost something`(
        isLoaded: Bool
    ) {
        intake.isLoaded = isLoaded
        lose(.recreated(topic: 0))
        #expect(intake.takeNotice() && revocations.counts.rejected == 1)
        #expect(refusal(issued: WallClock.milliseconds - 2_000) != nil)
    }

    @Test func `a clock that is set back while a loss ends lets in nobody of before, and is told of`() {
        intake.isLoaded = true
        let started = WallClock.milliseconds
        clock.set(ahead: -Self.hour)
        lose()
        // By the clock that was set these tokens are of the future.
        #expect(
            refusal(issued: started - 1_000) == .unsettled && refusal(issued: started - Self.hour / 2) == .unsettled)
        #expect(refusal(issued: started + 60_000) == nil)
        #expect(revocations.timeOutOfReach.map { $0 * 1000 >= started } == true)
        clock.set(ahead: 60_000)
        #expect(revocations.timeOutOfReach == nil && refusal(issued: started - 1_000) == .olderThanRevoked)
    }

    /// Each row: by how much the clock was ahead when records were lost, and by how much it is still.
    static let corrected: [(then: Int64, now: Int64, isReported: Bool)] = [
        (hour, 0, true), (120_000, 0, true), (60_000, 0, false), (0, 0, false), (hour, hour, false), (-hour, 0, false),
    ]

    @Test(arguments: corrected)
    func `a clock that was ahead and is put right is told of as long as no token would be good`(
        row: (then: Int64, now: Int64, isReported: Bool)
    ) {
        let tests = Self(ahead: row.then)
        tests.intake.isLoaded = true
        tests.lose()
        #expect(tests.revocations.timeOutOfReach == nil)
        tests.clock.set(ahead: row.now)
        #expect((tests.revocations.timeOutOfReach != nil) == row.isReported)
        // Whatever is told, nobody is sent to fetch a token that would be refused.
        if row.isReported { #expect(tests.refusal(issued: WallClock.milliseconds) == .unsettled) }
    }
}
