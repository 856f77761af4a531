import LiveState
import Locks

/// What a client asks the app's token function (the `token` parameter of ``LiveClient``).
public struct TokenQuestion: Equatable, Sendable {
    /// True: the last token was refused, or ends soon. The same one again is of no use.
    public let isFresh: Bool
    /// The token that was refused or ends soon, if it is known. A function that caches tokens drops this one. If the app's cache
    /// already holds another one, the function returns that.
    public let replacing: String?
}

/// The tokens of a client, for its connection, machines, screens and actions. It fetches one token at a time for all callers. If
/// many requests were refused with the same token, only the first makes it fetch another one.
///
/// Machines use their client's tokens; screens and actions receive them:
///
///     let screens = LiveScreens(api, gate: client.gate, tokens: client.tokens)
public final class LiveTokens: Sendable {
    typealias Give = @Sendable (TokenQuestion) async throws -> String

    private struct State {
        var queue = TokenQueue()
        var last = 0
        var waiting: [Int: CheckedContinuation<String, any Error>] = [:]
    }

    /// The time limit for the app's token function. After it the attempt counts as failed, and the client asks again.
    private static let giveMilliseconds: Milliseconds = 30_000

    private let state = Lock(State())
    private let give: Give
    private let onError: OnError?

    init(_ give: @escaping Give, onError: OnError? = nil) {
        self.give = give
        self.onError = onError
    }

    /// The last token received. If the app's API refuses a request now, it refuses this token.
    var token: String? { state.withLock { $0.queue.view.token } }

    /// Returns the app's token. `replacing`: a token that was refused; the result is another one.
    func ask(fresh: Bool = false, replacing: String? = nil) async throws -> String {
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                state.withLock { $0.waiting[number] = continuation }
                handle(.ask(number: number, fresh: fresh, replacing: replacing))
                // The task was cancelled before it waited.
                if Task.isCancelled { leave(number) }
            }
        } onCancel: {
            leave(number)
        }
    }

    /// The caller no longer waits. The fetch goes on for the other callers and the next one.
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

    /// Gets another token after a refusal: with the app's own function, or from the client if the app has no such function.
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

/// The app has no function of its own to get another token: use the client's tokens.
struct UsesClientTokens: Error {}
