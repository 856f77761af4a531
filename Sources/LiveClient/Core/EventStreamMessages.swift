import CloseCodes
import HTTP

/// Reads the bytes of an event stream as the messages that a WebSocket would have carried.
package struct EventStreamMessages: Sendable {
    package struct Message: Equatable, Sendable {
        package let payload: [UInt8]
        /// The stream's last id, which is the cursor to resume from.
        package let cursor: LiveCursor?
    }

    private var parser: EventStreamParser
    /// The server's last message, which ends the stream.
    package private(set) var bye: (code: CloseCode, reason: String)?

    package init(maximumMessageBytes: Int) {
        parser = EventStreamParser(maximumEventBytes: maximumMessageBytes)
    }

    /// The messages that these bytes of the body complete.
    package mutating func receive(_ bytes: [UInt8]) throws(EventStreamFault) -> [Message] {
        var events: [StreamedEvent] = []
        try parser.consume(bytes, into: &events)
        return events.map { event in
            let payload = Self.message(event)
            if case .bye(let code, let why, let retry) = StreamMessage(payload), event.name.elementsEqual("bye".utf8) {
                bye = (code, code.reason(why: why, retryMilliseconds: retry))
            }
            return Message(
                payload: payload, cursor: event.lastID.map { LiveCursor(String(decoding: $0, as: UTF8.self)) })
        }
    }

    /// An event in the form that WebSockets carry: a control message has its name as its key.
    private static func message(_ event: StreamedEvent) -> [UInt8] {
        if event.name.isEmpty || event.name.elementsEqual("message".utf8) { return event.data }
        if event.name.elementsEqual("changed".utf8), event.data.first == UInt8(ascii: "{") {
            return Array("{\"changed\":true,".utf8) + event.data.dropFirst()
        }
        var bytes: [UInt8] = [UInt8(ascii: "{")]
        JSONWriting.append(String(decoding: event.name, as: UTF8.self), to: &bytes)
        return bytes + [UInt8(ascii: ":")] + event.data + [UInt8(ascii: "}")]
    }
}
