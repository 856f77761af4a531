import LiveState

/// What an app's request to its API came to, where it is not what was asked for: the one error that an app throws, wherever it
/// answers the SDK (<doc:Errors>). Whatever else it throws counts as a request without an answer.
public struct RequestError: Error, Equatable, Sendable {
    /// A status of HTTP; nil: no answer.
    public var status: Int?
    /// What `Retry-After` asks for, in milliseconds.
    public var retryAfter: Milliseconds?
    /// Whether it was the API that answered. What somebody between has answered says nothing of what was asked for, whatever its
    /// status is: it has failed, and is asked for again.
    public var isFromAPI: Bool

    /// What a request came to.
    ///
    /// - Parameters:
    ///   - status: of HTTP; nil: no answer.
    ///   - retryAfter: what `Retry-After` asks for, in milliseconds.
    ///   - isFromAPI: false: it was not the API that answered, but a proxy in front of it.
    public init(status: Int?, retryAfter: Milliseconds? = nil, isFromAPI: Bool = true) {
        self.status = status
        self.retryAfter = retryAfter
        self.isFromAPI = isFromAPI
    }

    /// What each answer of an API has, and no answer of a proxy in front of it.
    public enum Sign: Sendable {
        /// A header of this name.
        case header(String)
        /// A `Content-Type` that begins so.
        case contentType(String)
        /// It is no HTML.
        case noHTML
    }

    /// Throws what an answer refuses with, or that it is not the API's; returns for a status of 200 to 299.
    ///
    ///     try RequestError.check(status: answer.statusCode) { answer.value(forHTTPHeaderField: $0) }
    ///
    /// - Parameters:
    ///   - sign: tells the API's answers.
    ///   - header: the value of a header; nil: there is none.
    public static func check(
        status: Int, sign: Sign = .noHTML, header: (String) -> String?
    ) throws(RequestError) {
        let type = header("Content-Type")?.lowercased() ?? ""
        let isFromAPI =
            switch sign {
            case .header(let name): header(name) != nil
            case .contentType(let wanted): type.hasPrefix(wanted.lowercased())
            case .noHTML: !type.hasPrefix("text/html")
            }
        if isFromAPI && (200..<300).contains(status) { return }
        let seconds = header("Retry-After").flatMap { Double($0) }
        let asked = seconds.map { Milliseconds(max(0, min($0, 86_400)) * 1_000) }
        throw RequestError(status: status, retryAfter: asked, isFromAPI: isFromAPI)
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

extension ConnectionEnd {
    /// What a Livegate would refuse again, as a stream is refused for good. A cursor that cannot be read is not: it is replaced.
    init?(_ answer: ServerAnswer) {
        guard ConnectionMachine.finalStatuses.contains(answer.status), let code = answer.problemCode,
            code != "bad_cursor"
        else { return nil }
        self = .refused(status: answer.status, code: code)
    }
}

extension RequestFailure {
    /// What a failed request means to a machine. A refusal with `Retry-After` is none: it asks to come again.
    init(_ error: any Error) {
        if let failure = error as? RequestFailure {
            self = failure
            return
        }
        if error is DecodingError {
            self = .unreadable
            return
        }
        let request = RequestError(error)
        switch request.isFromAPI ? request.status : nil {
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
        let request = RequestError(error)
        switch request.isFromAPI ? request.status : nil {
        case 404?, 410?: self = .gone
        case 403?: self = .notOurs
        default: return nil
        }
    }
}
