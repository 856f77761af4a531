import LiveState

// What changes structure, or what others must not do twice, needs the server now: it is done while somebody looks, or not at all.
// Nothing of it goes through the queue, so nothing is written to the store either, and no attempt is made again by itself: whether
// a request without an answer was done, only the app can find out.
extension LiveActions {
    /// Runs an immediate action: now, once, or not at all. It is never kept.
    ///
    /// - Parameter operation: the request. It throws ``RequestError``; after a 401 a new token is fetched and it is run once
    ///   more, for nothing was done. After `requestDeadline` it is cancelled, and what it still brings is dropped.
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

    /// The refused request has done nothing. Where no token comes for want of an answer, it can be offered again.
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
