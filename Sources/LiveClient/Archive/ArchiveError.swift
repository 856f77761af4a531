import HTTP
import LiveState

/// Why a request to the archive failed.
public enum ArchiveError: Error, Sendable, Equatable {
    /// The server keeps no archive (404).
    case off
    /// The token names no person, or a person without permission (403). An inbox belongs to a person.
    case forbidden
    /// The request is wrong (400), for example with an id that no server sent. This is a bug. `detail` is for a log.
    case badRequest(code: String?, detail: String?)
    /// The server refused two tokens in a row, or there is no token because no user is signed in.
    case unauthorized
    /// The server cannot answer now: its archive is not available or is behind, or a limit is reached. The client has already
    /// waited as the server asked, and tried again. It may succeed after `retryAfter`, in milliseconds.
    case unavailable(status: Int, retryAfter: Milliseconds?)
    /// There was no answer; the text gives the reason. The server may have stored a mark.
    case unreachable(String)
    /// Any other refusal.
    case refused(status: Int, code: String?)
    /// The task was cancelled. The server may have stored a mark.
    case cancelled

    init(_ answer: ServerAnswer) {
        let code = answer.problemCode
        self =
            switch answer.status {
            case 200..<300: .unreachable("the answer is none of a Livegate")
            case 400: .badRequest(code: code, detail: answer.problemDetail)
            case 401: .unauthorized
            case 403: .forbidden
            case 404: .off
            case 408, 429, 500...:
                .unavailable(
                    status: answer.status, retryAfter: answer.retryAfterMilliseconds.map(Milliseconds.init))
            default: .refused(status: answer.status, code: code)
            }
    }

    init(_ error: any Error) {
        switch error {
        case let error as ArchiveError: self = error
        case is CancellationError: self = .cancelled
        case LiveClientError.unreachable(let why): self = .unreachable(why)
        default:
            let isSignedOut = RequestFailure(error) == .unauthorized
            self = isSignedOut ? .unauthorized : .unreachable("\(error)")
        }
    }

    /// The same error in the form for machines, screens and actions.
    public var requestError: RequestError {
        switch self {
        case .off: RequestError(status: 404)
        case .forbidden: RequestError(status: 403)
        case .badRequest: RequestError(status: 400)
        case .unauthorized: RequestError(status: 401)
        case .unavailable(let status, let retryAfter): RequestError(status: status, retryAfter: retryAfter)
        case .refused(let status, _): RequestError(status: status)
        case .unreachable, .cancelled: RequestError(status: nil)
        }
    }
}

extension ArchiveError: CustomStringConvertible {
    /// What failed, for a log. It contains no token.
    public var description: String {
        switch self {
        case .off: "the server keeps no archive"
        case .forbidden: "the server refuses this person, or there is none in the token"
        case .badRequest(let code, let detail): "the request is wrong: \(code ?? "400") \(detail ?? "")"
        case .unauthorized: "nobody is signed in: there is no token that the server accepts"
        case .unavailable(let status, _): "the archive cannot answer now: status \(status)"
        case .unreachable(let why): "no answer: \(why)"
        case .refused(let status, let code): "the server refused with status \(status) \(code ?? "")"
        case .cancelled: "cancelled"
        }
    }
}
