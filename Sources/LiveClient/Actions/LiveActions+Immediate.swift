import LiveState

// An action that changes structure, or that others must not do twice, needs the server now. It is done while the user waits, or
// not at all. It does not use the queue, so nothing is written to the store. It is not tried again automatically: only the app
// can find out whether a request without an answer was done.
extension LiveActions {
    /// Runs an immediate action: now, once, or not at all. It is never stored.
    ///
    /// - Parameter operation: the request. It throws ``RequestError``. After a 401 nothing was done, so a new token is fetched
    ///   and it runs once more. After `requestDeadline` it is cancelled, and its later result is dropped.
    public func perform<Value: Sendable>(
        _ operation: @escaping @Sendable () async throws -> Value
    ) async throws(ImmediateActionError) -> Value {
        guard isReachable else { throw .notReachable }
        let refused = tokens?.token
        do {
            do {
                return try await Deadline.run(milliseconds: requestDeadline, operation)
            } catch {
                guard RequestFailure(error) == .unauthorized else { throw error }
                try await renewForImmediate(refused)
                give(.token)
                return try await Deadline.run(milliseconds: requestDeadline, operation)
            }
        } catch {
            throw ImmediateActionError(error)
        }
    }

    /// The refused request has done nothing. If no token arrives because there is no answer, the app can offer the action again.
    private func renewForImmediate(_ refused: String?) async throws {
        do {
            let (renew, tokens) = (functions.renewToken, tokens)
            try await Deadline.run(milliseconds: requestDeadline) {
                try await LiveTokens.renew(tokens, replacing: refused, own: renew)
            }
        } catch let error as CancellationError {
            throw error
        } catch {
            let isUnauthorized = RequestFailure(error) == .unauthorized
            throw isUnauthorized ? ImmediateActionError.unauthorized : .unavailable(status: 401, retryAfter: nil)
        }
    }
}
