import HTTP
import LiveClient
import WebSocket

/// Reads the body of an event stream into the messages that a WebSocket would have carried.
struct EventStreamReading {
    struct Message: Equatable {
        let payload: [UInt8]
        /// The stream's last id, which is the cursor to go on from.
        let cursor: LiveCursor?
    }

    /// Why the stream cannot be read on, for people.
    struct Fault: Error, Equatable {
        let text: String
    }

    private var body: BodyReader
    private var parser: EventStreamParser
    /// What the server has said as its last word: it ends the stream behind it.
    private(set) var goodbye: ConnectionEnding?

    init(_ framing: BodyFraming, maximumMessageBytes: Int) {
        body = BodyReader(framing, maximumBytes: .max)
        parser = EventStreamParser(maximumEventBytes: maximumMessageBytes)
    }

    /// Whether the body has come to its end.
    var isDone: Bool { body.isDone }

    mutating func receive(_ bytes: Span<UInt8>) throws(Fault) -> [Message] {
        var events: [StreamedEvent] = []
        do throws(ResponseFault) {
            try body.consume(bytes)
        } catch {
            throw Fault(text: "the stream is broken: \(error.explanation)")
        }
        do throws(EventStreamFault) {
            try parser.consume(body.take(), into: &events)
        } catch {
            throw Fault(text: "an event is over \(error.limitBytes) bytes")
        }
        return events.map { event in
            let payload = Self.message(event)
            if case .bye(let code, let why, let retry) = StreamMessage(payload), event.name.elementsEqual("bye".utf8) {
                goodbye = .closed(code, reason: why + (retry.map { " retry_ms=\($0)" } ?? ""))
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
