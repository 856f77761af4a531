import HTTP
import LiveUpdates

/// The protocol's messages as server-sent events.
enum EventStreamEncoder {
    /// The least and the most of `retry`, spread so that clients do not all come back at once.
    static let retryMilliseconds = 1_000...5_000

    /// Appends an event. Its cursor is the `id` in any case, and stands in the data only where `with` asked for it.
    static func append(_ event: ThinEvent, id: [UInt8], withAt: Bool, ts: Int64?, to bytes: inout [UInt8]) {
        EventStream.begin(event: nil, id: id, to: &bytes)
        WireMessage.append(event, at: withAt ? id : nil, ts: ts, to: &bytes)
        EventStream.end(to: &bytes)
    }

    /// Appends a control message: its name as `event`, what stands inside as `data`, and `id` where it has a cursor.
    static func appendControl(_ message: ControlMessage, to bytes: inout [UInt8]) {
        EventStream.begin(event: message.name, id: message.at, to: &bytes)
        WireMessage.appendInside(of: message, to: &bytes)
        EventStream.end(to: &bytes)
    }
}
