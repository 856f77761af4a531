import LiveState

// What the app gives, and how it is asked.
extension LiveActions {
    /// What the app gives.
    public struct Functions: Sendable {
        /// Sends a batch in its order, each action with its key, and gives the result of each. It throws ``RequestError`` where
        /// there is one answer to all, or none.
        public var send: @Sendable ([DeferredAction]) async throws -> [ActionResult]
        /// Gets a new token, after a 401. Only for an API with tokens of its own: without it the function of the client is asked whose
        /// ``LiveClient/tokens`` the actions have. It throws ``LiveClientError/unauthorized`` where nobody is signed in; after any
        /// other error it is called again, behind a wait.
        public var renewToken: @Sendable () async throws -> Void
        /// Is given what became of actions without the user having asked; in their order, and not to be blocked.
        public var report: @Sendable (ActionNews) -> Void

        /// What the app gives.
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

    /// What a batch says of the API: one of its actions that is to be sent again is enough.
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
