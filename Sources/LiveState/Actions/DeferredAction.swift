/// A status that a user gave a thing, to be sent to the server: read, starred, snoozed.
///
/// There is one for each (kind, id), so opposite statuses cannot both be present. Stores keep it as a row whose primary key is
/// (kind, id).
public struct DeferredAction: Codable, Hashable, Sendable {
    /// The kind of status, as the app names it: `incident.read`. All values of a kind exclude one another.
    public var kind: String
    /// The thing's id.
    public var id: String
    /// The status that the user wants: `true`, `snoozed until 14:00`, or whatever the API accepts.
    public var value: String
    /// The status that the server had when it was last read. Nil: the app did not pass it. An undo restores it.
    public var before: String?
    /// The idempotency key. It is the same for each attempt to send this value, and never that of another value.
    public var key: String
    /// When the user did it, in milliseconds of Unix time.
    public var at: Milliseconds

    /// A status that a user gave a thing.
    public init(
        kind: String, id: String, value: String, before: String? = nil, key: String, at: Milliseconds
    ) {
        self.kind = kind
        self.id = id
        self.value = value
        self.before = before
        self.key = key
        self.at = at
    }
}

/// The server's result of one action of a batch.
public struct ActionResult: Codable, Hashable, Sendable {
    /// The idempotency key of the action.
    public var key: String
    /// An HTTP status: 200 to 299 is done. ``ActionOutcome`` explains the others.
    public var status: Int
    /// How long the server asks to wait, in milliseconds.
    public var retryAfter: Milliseconds?

    /// The server's result of the action with this key.
    public init(key: String, status: Int, retryAfter: Milliseconds? = nil) {
        self.key = key
        self.status = status
        self.retryAfter = retryAfter
    }
}

/// What an answer means for an action, immediate or deferrable (CLIENT.md, "Actions").
public enum ActionOutcome: Codable, Hashable, Sendable {
    /// 200 to 299.
    case done
    /// 401: the token must be replaced; nothing was done.
    case unauthorized
    /// 400 to 499 except 401, 408 and 429: the server will never do it.
    case rejected
    /// Anything else: it may succeed later.
    case again

    /// - Parameter status: an HTTP status.
    public init(status: Int) {
        self =
            switch status {
            case 200...299: .done
            case 401: .unauthorized
            case 408, 429: .again
            case 400...499: .rejected
            default: .again
            }
    }
}
