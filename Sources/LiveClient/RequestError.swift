import LiveState

/// What an app's request to its API came to, where it is not what was asked for: the one error that an app throws, wherever it
/// answers the SDK (<doc:Errors>). Whatever else it throws counts as a request without an answer.
public struct RequestError: Error, Equatable, Sendable {
    /// A status of HTTP; nil: no answer.
    public var status: Int?
    /// What `Retry-After` asks for, in milliseconds.
    public var retryAfter: Milliseconds?

    /// What a request came to.
    ///
    /// - Parameters:
    ///   - status: of HTTP; nil: no answer.
    ///   - retryAfter: what `Retry-After` asks for, in milliseconds.
    public init(status: Int?, retryAfter: Milliseconds? = nil) {
        self.status = status
        self.retryAfter = retryAfter
    }
}

extension RequestError {
    /// What an error says of the request that ended with it.
    init(_ error: any Error) {
        switch error {
        case let error as RequestError: self = error
        case RequestFailure.unauthorized, LiveClientError.unauthorized: self.init(status: 401)
        case RequestFailure.rejected(let status): self.init(status: status)
        case RequestFailure.retry(let after): self.init(status: nil, retryAfter: after)
        case LiveClientError.refused(let status, body: _): self.init(status: status)
        default: self.init(status: nil)
        }
    }
}

extension RequestError {
    /// A server's refusal.
    init(_ answer: ServerAnswer) {
        self.init(status: answer.status, retryAfter: answer.retryAfterMilliseconds.map(Milliseconds.init))
    }
}

extension RequestFailure {
    /// What a failed request means to a machine. A refusal with `Retry-After` is none: it asks to come again.
    init(_ error: any Error) {
        if let failure = error as? RequestFailure {
            self = failure
            return
        }
        let request = RequestError(error)
        switch request.status {
        case 401?: self = .unauthorized
        case let status? where status < 500 && status != 408 && status != 429 && request.retryAfter == nil:
            self = .rejected(status: status)
        default: self = .retry(after: request.retryAfter)
        }
    }
}

extension Reloaded {
    /// What an error says of the thing that was asked for: 404, 410 and 403 are answers, also where they are thrown. Nil: the
    /// request has failed.
    init?(_ error: any Error) {
        switch RequestError(error).status {
        case 404?, 410?: self = .gone
        case 403?: self = .notOurs
        default: return nil
        }
    }
}

/// Gives up what takes too long.
enum Deadline {
    /// What `body` gives; after the deadline it is cancelled, and this throws as if there had been no answer. A body that takes
    /// no notice of being cancelled is waited for.
    static func run<Value: Sendable>(
        milliseconds: Milliseconds, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await Task.sleep(for: .milliseconds(milliseconds))
                return nil
            }
            defer { group.cancelAll() }
            guard let value = try await group.next() ?? nil else { throw RequestError(status: nil) }
            return value
        }
    }
}
