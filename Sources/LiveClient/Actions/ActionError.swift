import LiveState

/// What happened to an action without a request of the user.
public enum ActionNews: Equatable, Sendable {
    /// The server will never do it, and it was undone. `isReplaced`: the user has chosen another value meanwhile, so nothing was
    /// undone.
    case rejected(DeferredAction, status: Int, isReplaced: Bool)
    /// It could not be sent before its time limit, and was undone.
    case expired(DeferredAction)
    /// A new token was refused too: the user has to sign in again. All actions are kept.
    case unauthorized
}

/// Why a deferrable action was not accepted.
public enum DeferrableActionError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The maximum number of actions is already stored; they have to reach the server first.
    case full(maximumRows: Int)
    /// ``LiveActions/close()`` was called.
    case closed

    /// What failed, for a log.
    public var description: String {
        switch self {
        case .full(let limit): "\(limit) actions wait for the server: no more are kept, over maximumRows \(limit)"
        case .closed: "the actions are closed"
        }
    }
}

/// Why an immediate action was not done.
public enum ImmediateActionError: Error, Equatable, Sendable, CustomStringConvertible {
    /// There is no network. Nothing was sent.
    case notReachable
    /// No token is accepted. Nothing was done.
    case unauthorized
    /// The server will not do it, and answered with this status.
    case rejected(status: Int)
    /// The server cannot do it now, and answered with this status. It may succeed after `retryAfter`, in milliseconds.
    case unavailable(status: Int, retryAfter: Milliseconds?)
    /// No answer came, so it is unknown whether it was done. Reload before the user can try it again.
    case unknown
    /// The task was cancelled, so it is unknown whether it was done.
    case cancelled

    init(_ error: any Error) {
        switch error {
        case let error as ImmediateActionError: self = error
        case is CancellationError: self = .cancelled
        default:
            let error = RequestError(error)
            guard let status = error.status else {
                self = .unknown
                return
            }
            switch ActionOutcome(status: status) {
            case .unauthorized: self = .unauthorized
            case .rejected: self = .rejected(status: status)
            case .done, .again: self = .unavailable(status: status, retryAfter: error.retryAfter)
            }
        }
    }

    /// What failed, for a log.
    public var description: String {
        switch self {
        case .notReachable: "there is no network"
        case .unauthorized: "no token is accepted"
        case .rejected(let status): "the server refuses it: status \(status)"
        case .unavailable(let status, _): "the server cannot do it now: status \(status)"
        case .unknown: "no answer came: it may have been done"
        case .cancelled: "cancelled: it may have been done"
        }
    }
}
