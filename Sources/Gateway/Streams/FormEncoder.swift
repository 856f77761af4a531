import HTTP
import LiveUpdates
import WebSocket

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

/// Makes the bytes of a form, on one loop. What it keeps between calls is memory alone.
final class FormEncoder {
    private var payload: [UInt8] = []
    /// Made with the first connection that takes deflated messages; one for all of them.
    private var deflater: Deflater?

    /// The events that pass the form's filter, one message each, in their order; empty where none passes.
    func messages(_ events: [LoggedEvent], _ form: StreamForm) -> [UInt8] {
        var bytes: [UInt8] = []
        for event in events {
            if let entities = form.entities, !entities.passes(event.event.entity) { continue }
            if form.carrier == .eventStream {
                EventStreamEncoder.append(
                    event.event, id: event.at, withAt: form.withAt, ts: form.withTs ? event.timestamp : nil, to: &bytes)
                continue
            }
            payload.removeAll(keepingCapacity: true)
            WireMessage.append(
                event.event, at: form.withAt ? event.at : nil, ts: form.withTs ? event.timestamp : nil, to: &payload)
            Self.appendFrame(payload, form.carrier == .deflated ? compress(payload) : nil, to: &bytes)
        }
        return bytes
    }

    /// A control message in the same carrier.
    func control(_ message: ControlMessage, _ carrier: StreamForm.Carrier) -> [UInt8] {
        var bytes: [UInt8] = []
        if carrier == .eventStream {
            EventStreamEncoder.appendControl(message, to: &bytes)
            return bytes
        }
        payload.removeAll(keepingCapacity: true)
        WireMessage.appendControl(message, to: &payload)
        Self.appendFrame(payload, carrier == .deflated ? compress(payload) : nil, to: &bytes)
        return bytes
    }

    /// The payload as one message of a WebSocket, compressed where that is given.
    private static func appendFrame(_ payload: [UInt8], _ compressed: [UInt8]?, to bytes: inout [UInt8]) {
        if let compressed {
            FrameEncoder.append(.text, isCompressed: true, payload: compressed.span, to: &bytes)
        } else {
            FrameEncoder.append(.text, payload: payload.span, to: &bytes)
        }
    }

    /// Nil where there is no memory for it: each message may go uncompressed (RFC 7692 §6).
    private func compress(_ payload: [UInt8]) -> [UInt8]? {
        if deflater == nil {
            let policy = DeflatePolicy.shared
            deflater = try? Deflater(windowBits: policy.serverWindowBits, contextTakeover: policy.serverContextTakeover)
        }
        return deflater?.message(payload.span)
    }
}

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
