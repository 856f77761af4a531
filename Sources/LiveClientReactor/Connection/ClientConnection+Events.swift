import HTTP
import LiveClient

/// The connection as a stream of server-sent events.
extension ClientConnection {
    /// How often the connection checks during the silence limit whether anything arrived.
    private static var checksPerSilence: UInt64 { 3 }

    func openStream(_ opening: Opening, _ framing: BodyFraming) {
        clearDeadline()
        phase = .streaming(EventStreamReading(framing, maximumMessageBytes: settings.limits.maximumMessageBytes))
        isAlive = true
        listen(silentChecks: 0)
        owner?.connectionOpened(opening)
    }

    func receiveEvents(_ reading: EventStreamReading, _ bytes: Span<UInt8>) {
        var reading = reading
        isAlive = true
        if bytes.count > 0 { owner?.connectionReceivedBytes() }
        guard ending == nil else { return }
        do throws(EventStreamReading.Fault) {
            let messages = try reading.receive(bytes)
            phase = .streaming(reading)
            for message in messages {
                // The owner may have closed it after an earlier event.
                guard ending == nil else { return }
                owner?.connectionReceived(.text, message.payload)
                if let cursor = message.cursor { owner?.connectionReached(cursor) }
            }
            if reading.isDone { end(reading.goodbye ?? .cut("the server ended the stream")) }
        } catch {
            end(.cut(error.text))
        }
    }

    /// Detects a broken connection: a stream without a network path brings nothing, not even its end.
    private func listen(silentChecks: UInt64) {
        let pause = settings.limits.silenceMilliseconds / Self.checksPerSilence
        pingTimer = loop.schedule(afterMilliseconds: pause) { [weak self] in
            guard let self, case .streaming = self.phase, self.ending == nil else { return }
            // While we do not read, we cannot miss anything.
            let silent = self.isAlive || self.isPaused ? 0 : silentChecks + 1
            self.isAlive = false
            guard silent < Self.checksPerSilence else {
                return self.end(.cut("nothing came for \(self.settings.limits.silenceMilliseconds / 1000) s"))
            }
            self.listen(silentChecks: silent)
        }
    }
}

/// Reads the body of an event stream, as HTTP/1.1 frames it, and returns its messages.
struct EventStreamReading {
    /// Why the stream cannot be read any further, as text for people.
    struct Fault: Error, Equatable {
        let text: String
    }

    private var body: BodyReader
    private var messages: EventStreamMessages

    init(_ framing: BodyFraming, maximumMessageBytes: Int) {
        body = BodyReader(framing, maximumBytes: .max)
        messages = EventStreamMessages(maximumMessageBytes: maximumMessageBytes)
    }

    /// The server's last message, the `bye`.
    var goodbye: ConnectionEnding? { messages.bye.map { .closed($0.code, reason: $0.reason) } }

    /// Whether the body has ended.
    var isDone: Bool { body.isDone }

    mutating func receive(_ bytes: Span<UInt8>) throws(Fault) -> [EventStreamMessages.Message] {
        do throws(ResponseFault) {
            try body.consume(bytes)
        } catch {
            throw Fault(text: "the stream is broken: \(error.explanation)")
        }
        do throws(EventStreamFault) {
            return try messages.receive(body.take())
        } catch {
            throw Fault(text: "an event is over \(error.limitBytes) bytes")
        }
    }
}
