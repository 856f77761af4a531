import HTTP
import LiveUpdates

/// What a request to `/live/v1` asks for.
struct LiveParameters: Sendable, Equatable {
    static let beatSeconds = 5...300

    /// The cursor after which to begin, as it was sent; nil: from now on.
    var since: [UInt8]?
    /// Whether `with` asked for the cursor in each message. Event streams put it into their data only then.
    var withAt = false
    /// Whether `with` asked for the record's time stamp.
    var withTs = false
    /// Whether `with` asked for the event's id in the archive.
    var withAid = false
    /// Whether the client knows cursors: it gets control messages, and a resync where others are closed.
    var wantsCursors = false
    /// Nil: all entities.
    var entities: EntityFilter?
    /// `mode=changed`: only that something has changed.
    var isChangedMode = false
    /// After how long without a message the client wants a beat; nil: it did not ask.
    var beatSeconds: Int?

    /// Parameters of `/sync/v1` alone are ignored, like unknown ones.
    static func parse(_ head: RequestHead, isEventStream: Bool) throws(Refusal) -> LiveParameters {
        let reading = ParameterReading(head)
        var parameters = LiveParameters()
        parameters.since = try reading.cursor("since")
        if isEventStream, let last = lastEventID(head) { parameters.since = last }
        (parameters.withAt, parameters.withTs, parameters.withAid) = try reading.fields("with")
        parameters.entities = try reading.entities("ent")
        parameters.isChangedMode = try reading.isPresent("mode", as: "changed")
        let range = Self.beatSeconds
        parameters.beatSeconds = try reading.number(
            "beat", in: range, "a whole number from \(range.lowerBound) to \(range.upperBound)")
        parameters.wantsCursors =
            isEventStream || parameters.withAt || parameters.since != nil || parameters.beatSeconds != nil
            || parameters.isChangedMode
        return parameters
    }

    /// A browser that reconnects repeats the old URL and states in this field where it was. An empty field counts as absent: it
    /// had no position yet. Two fields are no cursor.
    private static func lastEventID(_ head: RequestHead) -> [UInt8]? {
        guard head.headers.all("last-event-id").contains(where: { !$0.isEmpty }) else { return nil }
        return head.headers.only("last-event-id").map(Array.init) ?? []
    }
}

/// What one request to `/sync/v1` may ask for at most; a request for more gets this much.
struct SyncLimits: Sendable {
    let maximumEvents: Int
    let maximumWaitMilliseconds: UInt64
}

/// What a request to `/sync/v1` asks for. Its events carry cursor and time stamp whatever `with` names.
struct SyncParameters: Sendable, Equatable {
    /// The cursor after which to begin, as it was sent; nil: the client wants a fresh one.
    var since: [UInt8]?
    /// Nil: all entities.
    var entities: EntityFilter?
    /// Events of one answer.
    var limit: Int
    /// How long to wait for the first event; 0: not at all.
    var waitMilliseconds: UInt64 = 0
    /// Whether `with` asked for the events' ids in the archive.
    var withAid = false
    /// The cursor up to which the node is to have read before it answers, as it was sent; nil: however far it is.
    var upTo: [UInt8]?
    /// How long to wait for that at most.
    var upToMilliseconds: UInt64 = 0

    /// For a node that is behind the cursor of `upto`, where there is no `wait`.
    static let defaultUpToMilliseconds: UInt64 = 2_000

    /// Whether the answer may have to wait; without a cursor there is nothing to wait for.
    var mayWait: Bool { since != nil && (waitMilliseconds > 0 || upTo != nil && upToMilliseconds > 0) }

    /// Parameters of `/live/v1` alone are ignored, like unknown ones.
    static func parse(_ head: RequestHead, _ limits: SyncLimits) throws(Refusal) -> SyncParameters {
        let reading = ParameterReading(head)
        var parameters = SyncParameters(limit: limits.maximumEvents)
        parameters.since = try reading.cursor("since")
        parameters.withAid = try reading.fields("with").aid
        parameters.entities = try reading.entities("ent")
        if let limit = try reading.number("limit", in: 1..., "a whole number of 1 or more") {
            parameters.limit = min(limit, limits.maximumEvents)
        }
        if let seconds = try reading.number("wait", in: 0..., "a whole number of seconds") {
            let (milliseconds, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1000)
            parameters.waitMilliseconds = min(overflow ? .max : milliseconds, limits.maximumWaitMilliseconds)
            parameters.upToMilliseconds = parameters.waitMilliseconds
        } else {
            parameters.upToMilliseconds = min(Self.defaultUpToMilliseconds, limits.maximumWaitMilliseconds)
        }
        parameters.upTo = try reading.cursor("upto")
        if parameters.upTo == nil { parameters.upToMilliseconds = 0 }
        return parameters
    }
}
