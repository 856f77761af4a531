import HTTP
import LiveUpdates

/// What a request to `/sync/v1` asks for. Its events carry cursor and time stamp whatever `with` says, so of that
/// parameter only its faults matter.
struct SyncParameters: Sendable, Equatable {
    /// The cursor after which to begin, as it was sent; nil: the client wants a fresh one.
    var since: [UInt8]?
    /// Nil: all entities.
    var entities: EntityFilter?
    /// Events of one answer.
    var limit: Int
    /// How long to wait for the first event; 0: not at all.
    var waitMilliseconds: UInt64 = 0

    /// What `/live/v1` alone knows is ignored, as everything is that nobody knows.
    static func parse(_ head: RequestHead, _ limits: GatewayLimits) throws(Refusal) -> SyncParameters {
        let reading = ParameterReading(head)
        var parameters = SyncParameters(limit: limits.maximumSyncEvents)
        parameters.since = try reading.cursor("since")
        _ = try reading.fields("with")
        parameters.entities = try reading.entities("ent")
        if let limit = try reading.number("limit", in: 1..., "a whole number of 1 or more") {
            parameters.limit = min(limit, limits.maximumSyncEvents)
        }
        if let seconds = try reading.number("wait", in: 0..., "a whole number of seconds") {
            let (milliseconds, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1000)
            parameters.waitMilliseconds = min(overflow ? .max : milliseconds, limits.maximumWaitMilliseconds)
        }
        return parameters
    }
}
