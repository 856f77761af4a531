import LiveState
import Locks

typealias OnError = @Sendable (AppFailure) -> Void

/// An error that an app's own function threw, such as a `DecodingError`. ``LiveClientConfiguration/onError`` receives it.
public struct AppFailure: Sendable, CustomStringConvertible {
    /// Which function threw, and what the client asked it for.
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

        /// The gate's name for what the client asks for.
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

    /// What was printed: one line for each function and error, up to the maximum.
    private static let printed = Lock<Set<String>>([])
    private static let maximumPrinted = 100

    /// Which function threw, and what the client asked it for.
    public let call: Call
    /// The error that the function threw.
    public let error: any Error

    /// Nil where nothing failed: 404, 410 and 403 of a reload are answers, and a cancelled caller no longer waits.
    init?(_ call: Call, _ error: any Error) {
        if error is CancellationError { return nil }
        if case .reload = call, Reloaded(error) != nil { return nil }
        self.call = call
        self.error = error
    }

    /// The function, what it was asked for, and what it threw.
    public var description: String { "\(call.name) of \(call.subject): \(error)" }

    /// Passes it to the app's handler. Without a handler, prints it, unless it is one of an API's answers.
    func report(to onError: OnError?) {
        if let onError { return onError(self) }
        if error is RequestError || error is RequestFailure || error is LiveClientError { return }
        let isNew = Self.printed.withLock { printed in
            printed.count < Self.maximumPrinted && printed.insert("\(call.name) \(error)").inserted
        }
        if isNew { print("livegate: \(self)") }
    }
}
