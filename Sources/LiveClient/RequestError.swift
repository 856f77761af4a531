import LiveState

/// How a request of the app to its API failed. It is the one error that an app throws in its functions for the SDK
/// (<doc:Errors>). Any other error counts as a request without an answer.
public struct RequestError: Error, Equatable, Sendable {
    /// The HTTP status; nil if there was no answer.
    public var status: Int?
    /// What `Retry-After` asks for, in milliseconds.
    public var retryAfter: Milliseconds?
    /// Whether the API itself answered. An answer of a proxy between client and API means nothing for the thing asked for,
    /// whatever its status is: the request has failed, and the client repeats it.
    public var isFromAPI: Bool

    /// Makes the error for a failed request.
    ///
    /// - Parameters:
    ///   - status: the HTTP status; nil if there was no answer.
    ///   - retryAfter: what `Retry-After` asks for, in milliseconds.
    ///   - isFromAPI: false if a proxy in front of the API answered.
    public init(status: Int?, retryAfter: Milliseconds? = nil, isFromAPI: Bool = true) {
        self.status = status
        self.retryAfter = retryAfter
        self.isFromAPI = isFromAPI
    }

    /// A property that each answer of an API has, and no answer of a proxy in front of it.
    public enum Sign: Sendable {
        /// A header of this name.
        case header(String)
        /// A `Content-Type` that begins with this text.
        case contentType(String)
        /// The answer is not HTML.
        case noHTML
    }

    /// Returns for a status of 200 to 299. Throws for an answer that refuses the request or that is not from the API.
    ///
    ///     try RequestError.check(status: answer.statusCode) { answer.value(forHTTPHeaderField: $0) }
    ///
    /// - Parameters:
    ///   - sign: how to recognise the API's answers.
    ///   - header: returns the value of a header; nil if it is missing.
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
    /// Makes the error from the error that ended a request.
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
    /// Nil unless a Livegate would refuse the request again for good. An invalid cursor is not such a refusal: it is replaced.
    init?(_ answer: ServerAnswer) {
        guard ConnectionMachine.finalStatuses.contains(answer.status), let code = answer.problemCode,
            code != "bad_cursor"
        else { return nil }
        self = .refused(status: answer.status, code: code)
    }
}

extension RequestFailure {
    /// What a failed request means to a machine. A refusal with `Retry-After` does not count as rejected: the client tries again.
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
    /// What an error means for the thing that was asked for. 404, 410 and 403 are answers, also where they are thrown. Nil: the
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
