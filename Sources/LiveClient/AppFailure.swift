import LiveState
import Locks

typealias OnError = @Sendable (AppFailure) -> Void

/// What an app's own function has thrown, such as a `DecodingError`: ``LiveClientConfiguration/onError`` is given it.
public struct AppFailure: Sendable, CustomStringConvertible {
    /// Which function it was, and what it was asked for.
    public enum Call: Equatable, Sendable {
        /// The client's token function.
        case token
        /// ``LiveArea/snapshot()`` of the area of this name.
        case snapshot(area: String)
        /// ``LiveArea/reload(_:types:)`` or ``ScreensAPI/reload(_:)``.
        case reload(Thing)
        /// ``ScreensAPI/page(of:_:)`` of the list of this name.
        case page(list: String)
        /// ``LiveActions/Functions/send``.
        case send

        /// What a gate calls what is asked for.
        var subject: String {
            switch self {
            case .token: "token"
            case .snapshot(let area): "all of \(area)"
            case .reload(let thing): thing.subject
            case .page(let list): "list \(list)"
            case .send: "actions"
            }
        }

        var name: String {
            switch self {
            case .token: "token"
            case .snapshot: "snapshot"
            case .reload: "reload"
            case .page: "page"
            case .send: "send"
            }
        }
    }

    /// What was printed, once for each function and error; so many, and no more.
    private static let printed = Lock<Set<String>>([])
    private static let maximumPrinted = 100

    /// Which function it was, and what it was asked for.
    public let call: Call
    /// What it threw.
    public let error: any Error

    /// Nil: a 404, 410 or 403 of a reload is an answer, and whoever waits no longer has not failed.
    init?(_ call: Call, _ error: any Error) {
        if error is CancellationError { return nil }
        if case .reload = call, Reloaded(error) != nil { return nil }
        self.call = call
        self.error = error
    }

    /// Which function, of what, and what it threw.
    public var description: String { "\(call.name) of \(call.subject): \(error)" }

    /// Gives it to the app; else prints it, where it is none of an API's answers.
    func report(to onError: OnError?) {
        if let onError { return onError(self) }
        if error is RequestError || error is RequestFailure || error is LiveClientError { return }
        let isNew = Self.printed.withLock { printed in
            printed.count < Self.maximumPrinted && printed.insert("\(call.name) \(error)").inserted
        }
        if isNew { print("livegate: \(self)") }
    }
}
