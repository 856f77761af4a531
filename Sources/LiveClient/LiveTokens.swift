import LiveState
import Locks

/// What a client asks the app's token function (`token` of ``LiveClient``).
public struct TokenQuestion: Equatable, Sendable {
    /// The token that was given last was refused, or ends soon: the same one again is of no use.
    public let isFresh: Bool
    /// The token that was refused or ends soon, where it is known: a function that caches tokens drops this one. An app whose cache
    /// holds another one already gives that.
    public let replacing: String?
}

/// The tokens of a client, for its connection, machines, screens and actions: one is fetched at a time, whoever needs it, and of
/// many requests that were refused with one token the first has another one fetched.
///
/// Machines have their client's; screens and actions are given it:
///
///     let screens = LiveScreens(api, gate: client.gate, tokens: client.tokens)
public final class LiveTokens: Sendable {
    typealias Give = @Sendable (TokenQuestion) async throws -> String

    private struct State {
        var queue = TokenQueue()
        var last = 0
        var waiting: [Int: CheckedContinuation<String, any Error>] = [:]
    }

    /// An app's token that takes longer than this is none: it is asked for again.
    private static let giveMilliseconds: Milliseconds = 30_000

    private let state = Lock(State())
    private let give: Give
    private let onError: OnError?

    init(_ give: @escaping Give, onError: OnError? = nil) {
        self.give = give
        self.onError = onError
    }

    /// What came last: what is asked of the app's API now is refused for that one.
    var token: String? { state.withLock { $0.queue.view.token } }

    /// The app's token; `replacing`: another one than that, which was refused.
    func ask(fresh: Bool = false, replacing: String? = nil) async throws -> String {
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                state.withLock { $0.waiting[number] = continuation }
                handle(.ask(number: number, fresh: fresh, replacing: replacing))
                // It was cancelled before it waited.
                if Task.isCancelled { leave(number) }
            }
        } onCancel: {
            leave(number)
        }
    }

    /// It waits no longer. What is being fetched is for the others, and for who asks next.
    private func leave(_ number: Int) {
        state.withLock { $0.waiting.removeValue(forKey: number) }?.resume(throwing: CancellationError())
    }

    private func handle(_ input: TokenQueue.Input, _ error: (any Error)? = nil) {
        var fetch: TokenQuestion?
        var given: [CheckedContinuation<String, any Error>] = []
        var failed: [CheckedContinuation<String, any Error>] = []
        let token = state.withLock { state in
            for effect in state.queue.handle(input, at: 0) {
                switch effect {
                case .fetch(let fresh, let replacing): fetch = TokenQuestion(isFresh: fresh, replacing: replacing)
                case .give(let number): if let one = state.waiting.removeValue(forKey: number) { given.append(one) }
                case .fail(let number): if let one = state.waiting.removeValue(forKey: number) { failed.append(one) }
                }
            }
            return state.queue.view.token
        }
        for one in given { one.resume(returning: token ?? "") }
        for one in failed { one.resume(throwing: error ?? LiveClientError.unauthorized) }
        if let fetch { begin(fetch) }
    }

    private func begin(_ question: TokenQuestion) {
        Task { [give, onError] in
            do {
                let token = try await Deadline.run(milliseconds: Self.giveMilliseconds) { try await give(question) }
                handle(.came(token: token))
            } catch {
                AppFailure(.token, error)?.report(to: onError)
                handle(.failed, error)
            }
        }
    }

    /// Gets another token for what was refused: by the app's own function, or where it has none of a client.
    ///
    /// - Parameter tokens: nil: the app's API gets its tokens by itself.
    static func renew(
        _ tokens: LiveTokens?, replacing: String?, own: @Sendable () async throws -> Void
    ) async throws {
        do {
            try await own()
        } catch is UsesClientTokens {
            _ = try await tokens?.ask(fresh: true, replacing: replacing)
        }
    }
}

/// The app has no function of its own to get another token: the client's is meant.
struct UsesClientTokens: Error {}
