import CLinux
import Synchronization

/// A descriptor and the file behind it; every socket and pipe has its own number.
private struct OpenedFile: Equatable {
    let descriptor: Int32
    let node: UInt64

    /// Nil for a closed descriptor, and for files that all share one number (/dev/null, epoll).
    init?(_ descriptor: Int32) {
        var node: UInt64 = 0
        guard unsafe linux_socket_number(descriptor, &node) == 1 else { return nil }
        self.descriptor = descriptor
        self.node = node
    }
}

/// Lets a test make system calls fail, and remembers which descriptors those calls opened.
///
/// A plan fails the n-th call of the kinds it names, for n = 1, 2, 3 … until a scenario no longer makes an n-th call.
package final class FaultPlan: Sendable {
    private struct State {
        var countdown: Int
        var repeats: Int
        var made: [SystemCall: Int] = [:]
        var struck = false
        var opened: [OpenedFile] = []
    }

    private let kinds: Set<SystemCall>
    private let code: Int32
    private let state: Mutex<State>

    /// Fails `repeats` calls of `kinds` with errno `code`, beginning with the `nth` (counted from 1). With `nth` 0 nothing
    /// fails, and calls are only counted.
    package init(failing kinds: Set<SystemCall> = [], nth: Int = 0, code: Int32 = 0, repeats: Int = 1) {
        self.kinds = kinds
        self.code = code
        self.state = Mutex(State(countdown: nth, repeats: repeats))
    }

    /// Whether a call failed because of this plan.
    package var hasStruck: Bool { state.withLock { $0.struck } }

    /// How many calls of a kind were made, the failed ones included.
    package func count(of call: SystemCall) -> Int { state.withLock { $0.made[call] ?? 0 } }

    /// The descriptors that calls under this plan have opened and that are still open. They are identified by the file behind
    /// the number, because other code in the process opens and closes descriptors too.
    package var leakedDescriptors: [Int32] {
        state.withLock { $0.opened.filter { OpenedFile($0.descriptor) == $0 }.map(\.descriptor) }
    }

    func noteOpened(_ descriptor: Int32) {
        guard let file = OpenedFile(descriptor) else { return }
        state.withLock { $0.opened.append(file) }
    }

    /// Nil lets the call proceed; otherwise the errno with which it fails.
    func next(_ call: SystemCall) -> Int32? {
        state.withLock { state in
            state.made[call, default: 0] += 1
            guard kinds.contains(call), state.countdown > 0, state.repeats > 0 else { return nil }
            if state.countdown > 1 {
                state.countdown -= 1
                return nil
            }
            state.repeats -= 1
            state.struck = true
            return code
        }
    }
}
