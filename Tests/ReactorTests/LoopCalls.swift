import TestHarness

@testable import Reactor

extension EventLoop {
    /// Runs work on the loop and waits for its result.
    func run<Result: Sendable>(_ work: @escaping () -> Result) -> Result {
        let promise = Promise<Result>()
        let parcel = UncheckedParcel(work)
        execute { promise.fulfil(parcel.work()) }
        return promise.wait()!
    }

    /// Is something ready for ever? Then it comes between any two of the works that are given here one after another.
    func spins() -> Bool {
        let rounds = 300
        let first = run { self.tickNumber }
        for _ in 0..<rounds { run {} }
        let ticks = run { self.tickNumber } - first
        return ticks > UInt64(rounds) + 50
    }
}

// SAFETY: tests hand a closure to one loop and wait for it.
private struct UncheckedParcel<Result>: @unchecked Sendable {
    let work: () -> Result

    init(_ work: @escaping () -> Result) { self.work = work }
}

/// What the reactor threw, if it did.
func errorOf(_ body: () throws -> Void) -> ReactorError? {
    do {
        try body()
        return nil
    } catch {
        return error as? ReactorError
    }
}
