/// Something of the account has changed: which thing, and what happened to it.
///
/// It is so thin that it can neither be stale nor arrive in a harmful order: fetch the thing from the ordinary API.
public struct LiveEvent: Sendable, Hashable {
    /// The kind of thing: `incident`.
    public let entity: String
    /// Which one of its kind.
    public let id: String
    /// What happened: `created`, `updated`, `deleted` or another word that the company's services use.
    public let type: String

    /// Makes an event; the client does, and tests of applications may.
    public init(entity: String, id: String, type: String) {
        self.entity = entity
        self.id = id
        self.type = type
    }

    /// Equal when entity, id and type are the same bytes: identifiers are no text to be normalised.
    public static func == (left: LiveEvent, right: LiveEvent) -> Bool {
        left.entity.utf8.elementsEqual(right.entity.utf8) && left.id.utf8.elementsEqual(right.id.utf8)
            && left.type.utf8.elementsEqual(right.type.utf8)
    }

    /// Feeds the same bytes to the hasher that equality compares.
    public func hash(into hasher: inout Hasher) {
        for text in [entity, id, type] {
            for byte in text.utf8 { hasher.combine(byte) }
            hasher.combine(UInt8(0xFF))
        }
    }
}

/// What a ``LiveClient`` tells.
public enum LiveUpdate: Sendable, Equatable {
    /// A stream has begun: fetch now what is shown. What happened before this moment is not told, everything after
    /// it is.
    case connected
    /// Something has changed.
    case event(LiveEvent)
    /// The stream has ended, or an attempt at one failed; after `retry` there is another attempt. What happens until
    /// the next ``connected`` is missed.
    case disconnected(reason: String, retry: Duration)
}
