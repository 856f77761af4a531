import LiveState

// The functions that the app provides, and how they are called.
extension LiveActions {
    /// The functions that the app provides.
    public struct Functions: Sendable {
        /// Sends a batch in order, each action with its key, and returns the result of each. It throws ``RequestError`` if there
        /// is one answer for all of them, or none.
        public var send: @Sendable ([DeferredAction]) async throws -> [ActionResult]
        /// Gets a new token after a 401. Needed only for an API with its own tokens. Without it, the actions ask the client whose
        /// ``LiveClient/tokens`` they have. It throws ``LiveClientError/unauthorized`` if no user is signed in. After any other
        /// error it is called again, after a wait.
        public var renewToken: @Sendable () async throws -> Void
        /// Receives what happened to actions without a request of the user, in order. It must not block.
        public var report: @Sendable (ActionNews) -> Void

        /// Makes the functions that the app provides.
        public init(
            send: @escaping @Sendable ([DeferredAction]) async throws -> [ActionResult],
            renewToken: (@Sendable () async throws -> Void)? = nil,
            report: @escaping @Sendable (ActionNews) -> Void
        ) {
            self.send = send
            self.renewToken = renewToken ?? { throw UsesClientTokens() }
            self.report = report
        }
    }

    func send(_ batch: Int, _ actions: [DeferredAction]) {
        let (send, deadline, gate) = (functions.send, requestDeadline, gate)
        refusedToken = tokens?.token
        sending = Task { [weak self] in
            let input: ActionQueue.Input
            do {
                let results = try await gate.run(.send, trouble: Self.trouble) {
                    try await Deadline.run(milliseconds: deadline) { try await send(actions) }
                }
                input = .answered(batch: batch, results: results)
            } catch {
                let error = RequestError(error)
                input = .failed(batch: batch, status: error.status, retryAfter: error.retryAfter)
            }
            await self?.give(input)
        }
    }

    /// The API's trouble that the results show: one action that has to be sent again is enough.
    @Sendable private static func trouble(_ results: [ActionResult]) -> RequestError? {
        let again = results.filter { ActionOutcome(status: $0.status) == .again }
        return again.first.map { RequestError(status: $0.status, retryAfter: again.compactMap(\.retryAfter).max()) }
    }

    func renewToken() {
        let (renew, deadline, tokens, refused) = (functions.renewToken, requestDeadline, tokens, refusedToken)
        Task { [weak self] in
            do {
                try await Deadline.run(milliseconds: deadline) {
                    try await LiveTokens.renew(tokens, replacing: refused, own: renew)
                }
                await self?.give(.token)
            } catch {
                let isUnauthorized = RequestFailure(error) == .unauthorized
                await self?.give(.tokenFailed(isUnauthorized: isUnauthorized ? true : nil))
            }
        }
    }
}
