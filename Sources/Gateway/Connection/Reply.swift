import Reactor
import Synchronization

/// An answer of a loop. The caller waits for it only for a limited time, because a loop may be stuck.
final class Reply<Answer: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Answer?, Never>)
        /// Nil: it did not come in time.
        case given(Answer?)
    }

    private let state = Mutex(State.open)

    /// Gives the answer, from any thread. The first one counts.
    func give(_ answer: Answer?) {
        let waiting: CheckedContinuation<Answer?, Never>? = state.withLock { state in
            switch state {
            case .given: return nil
            case .open:
                state = .given(answer)
                return nil
            case .awaited(let continuation):
                state = .given(answer)
                return continuation
            }
        }
        waiting?.resume(returning: answer)
    }

    /// Whether the answer has come.
    var isGiven: Bool { state.withLock { if case .given(_?) = $0 { true } else { false } } }

    /// The answer; nil where it does not come within so long from now. Awaited once.
    func value(within milliseconds: UInt64) async -> Answer? {
        let late = Task {
            guard (try? await Task.sleep(for: .milliseconds(milliseconds))) != nil else { return }
            give(nil)
        }
        defer { late.cancel() }
        return await withCheckedContinuation { continuation in
            let given: Answer?? = state.withLock { state in
                if case .given(let answer) = state { return .some(answer) }
                state = .awaited(continuation)
                return nil
            }
            if let given { continuation.resume(returning: given) }
        }
    }
}

extension LoopBound {
    /// Asks on the loop, behind what is queued there. From any thread; nothing is waited for.
    func ask<Answer: Sendable>(_ question: @escaping @Sendable (Value) -> Answer) -> Reply<Answer> {
        let reply = Reply<Answer>()
        loop.execute { reply.give(question(value)) }
        return reply
    }
}
