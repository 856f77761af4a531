import LiveUpdates

/// How the messages of a stream look: streams of one form are given the same bytes.
struct StreamForm: Hashable, Sendable {
    enum Carrier: UInt8, Sendable {
        case webSocket
        /// WebSocket with permessage-deflate.
        case deflated
        case eventStream
    }

    var carrier = Carrier.webSocket
    /// Each message carries its cursor as `at`.
    var withAt = false
    /// Each message carries the record's time stamp as `ts`.
    var withTs = false
    /// Only these; nil is all.
    var entities: EntityFilter?

    /// Event streams have the cursor of each message in a line of its own.
    var needsCursors: Bool { withAt || carrier == .eventStream }
}
