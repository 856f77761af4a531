import TestHarness
import Testing

@testable import Reactor

@Suite struct TimerWheelTests {
    private func popAll(_ wheel: inout TimerWheel<Int>, now: UInt64) -> [Int] {
        var due: [Int] = []
        while let payload = wheel.popDue(now: now) { due.append(payload) }
        return due
    }

    private static let delays: [UInt64] = [
        1, 2, 62, 63, 64, 65, 127, 128, 4_095, 4_096, 4_097, 262_143, 262_144, 262_145, 16_777_216, 16_777_217,
        1_073_741_823, 1_073_741_824, 1_073_741_825, 1_099_511_627_776, .max - 1,
    ]

    @Test(arguments: delays)
    func `a timer fires at its deadline and not one millisecond before, wherever the wheel stands`(delay: UInt64) {
        for start: UInt64 in [0, 1, 63, 64, 1_000_003, (1 << 30) - 1, 1 << 33] where delay <= .max - start {
            var wheel = TimerWheel<Int>(now: start)
            _ = wheel.schedule(at: start + delay, 7)
            #expect(popAll(&wheel, now: start + delay - 1) == [], "from \(start)")
            #expect(popAll(&wheel, now: start + delay) == [7], "from \(start)")
            #expect(wheel.count == 0)
            #expect(wheel.nextWake == nil)
        }
    }

    @Test func `a deadline that has passed is due at once`() {
        var wheel = TimerWheel<Int>(now: 1000)
        _ = wheel.schedule(at: 0, 1)
        _ = wheel.schedule(at: 1000, 2)
        #expect(wheel.nextWake == 1000)
        #expect(popAll(&wheel, now: 1000) == [1, 2])
    }

    @Test func `equal deadlines fire in the order they were scheduled, also when they were scheduled far apart`() {
        var wheel = TimerWheel<Int>()
        _ = wheel.schedule(at: 5_000_000, 1)
        #expect(popAll(&wheel, now: 4_999_000) == [])
        _ = wheel.schedule(at: 5_000_000, 2)
        #expect(popAll(&wheel, now: 4_999_999) == [])
        _ = wheel.schedule(at: 5_000_000, 3)
        #expect(popAll(&wheel, now: 6_000_000) == [1, 2, 3])
    }

    @Test func `a cancelled timer does not fire, and its handle does nothing to the one that follows in its place`() {
        var wheel = TimerWheel<Int>()
        let first = wheel.schedule(at: 10, 1)
        #expect(wheel.cancel(first) == 1)
        #expect(wheel.cancel(first) == nil)
        let second = wheel.schedule(at: 10, 2)
        #expect(second.index == first.index)
        #expect(wheel.cancel(first) == nil)
        #expect(popAll(&wheel, now: 10) == [2])
        #expect(wheel.cancel(second) == nil)
    }

    @Test func `a timer that is due and not yet taken out can still be cancelled`() {
        var wheel = TimerWheel<Int>()
        _ = wheel.schedule(at: 10, 1)
        let second = wheel.schedule(at: 10, 2)
        #expect(wheel.popDue(now: 20) == 1)
        #expect(wheel.cancel(second) == 2)
        #expect(wheel.popDue(now: 20) == nil)
    }

    @Test func `a clock that goes back moves nothing`() {
        var wheel = TimerWheel<Int>()
        _ = wheel.schedule(at: 100, 1)
        #expect(wheel.popDue(now: 50) == nil)
        #expect(wheel.popDue(now: 10) == nil)
        _ = wheel.schedule(at: 20, 2)
        #expect(popAll(&wheel, now: 10) == [2], "its deadline lies before the wheel's time")
        #expect(popAll(&wheel, now: 100) == [1])
    }

    /// The model is a plain list: the wheel must fire the same timers, at the same steps, in the same order.
    @Test func `the wheel does what a sorted list does`() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        for round in 0..<200 {
            var now = UInt64.random(in: 0...(1 << UInt64.random(in: 0...40, using: &random)), using: &random)
            var wheel = TimerWheel<Int>(now: now)
            var model: [(deadline: UInt64, order: Int)] = []
            var handles: [Int: Timer] = [:]
            var order = 0
            for _ in 0..<300 {
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<6:
                    let reach = UInt64.random(in: 0...36, using: &random)
                    let deadline = now + UInt64.random(in: 0...(1 << reach), using: &random)
                    handles[order] = wheel.schedule(at: deadline, order)
                    model.append((deadline, order))
                    order += 1
                case 6..<8:
                    guard let victim = model.randomElement(using: &random)?.order else { continue }
                    #expect(wheel.cancel(handles[victim]!) == victim, "seed \(seed), round \(round)")
                    model.removeAll { $0.order == victim }
                default:
                    now += UInt64.random(in: 0...(1 << UInt64.random(in: 0...33, using: &random)), using: &random)
                    let due = model.filter { $0.deadline <= now }
                        .sorted { ($0.deadline, $0.order) < ($1.deadline, $1.order) }.map(\.order)
                    #expect(popAll(&wheel, now: now) == due, "seed \(seed), round \(round)")
                    model.removeAll { $0.deadline <= now }
                }
                #expect(wheel.count == model.count, "seed \(seed), round \(round)")
                if let wake = wheel.nextWake {
                    let next = model.map(\.deadline).min() ?? 0
                    #expect(wake <= max(next, now), "seed \(seed), round \(round)")
                } else {
                    #expect(model.isEmpty, "seed \(seed), round \(round)")
                }
            }
        }
    }
}
