import LiveClient

/// A loop whose time passes when a test says so.
// SAFETY: a test uses its loop from one thread alone.
final class VirtualLoop: ClientLoop, @unchecked Sendable {
    private struct Pending {
        let at: UInt64
        let work: () -> Void
    }

    private var pending: [Int: Pending] = [:]
    private var next = 0
    private(set) var now: UInt64 = 0

    @discardableResult
    private func add(_ at: UInt64, _ work: @escaping () -> Void) -> Int {
        next += 1
        pending[next] = Pending(at: at, work: work)
        return next
    }

    func execute(_ work: sending @escaping () -> Void) { add(now, work) }

    func executeNextTick(_ work: @escaping () -> Void) { add(now, work) }

    func wait(milliseconds: UInt64, _ action: @escaping () -> Void) -> LoopTimer {
        let number = add(now + milliseconds, action)
        return LoopTimer { self.pending[number] = nil }
    }

    func preconditionOnLoop() {}

    func end() { pending = [:] }

    /// Does what is due, in its order, until a moment.
    func run(until moment: UInt64) {
        while let (number, due) = pending.min(by: { ($0.value.at, $0.key) < ($1.value.at, $1.key) }), due.at <= moment {
            pending[number] = nil
            now = max(now, due.at)
            due.work()
        }
        now = moment
    }

    func run() { run(until: now) }

    /// The process is suspended until a moment: then all that is due is done, late.
    func suspend(until moment: UInt64) {
        now = moment
        run()
    }

    /// How many actions wait.
    var waiting: Int { pending.count }
}
