/// The bytes of server-sent events (HTML, section 9.2): the head, comments, and the lines around the data of a
/// message.
///
/// Lines end with LF; the order of the fields is `event`, `id`, `data`. Data that is written between ``begin(event:id:to:)``
/// and ``end(to:)`` must be one line: without CR and LF, which JSON escapes.
package enum EventStream {
    package static let contentType = "text/event-stream"

    /// Whether a request asks for an event stream. `Accept` must name the type itself, because every client sends
    /// `*/*`.
    package static func isAsked(by head: RequestHead) -> Bool {
        head.headers.list("accept").contains { range in
            let parts = range.split(separator: ASCII.semicolon, omittingEmptySubsequences: false)
            return parts[0].trimmed.equalsIgnoringCase(contentType)
        }
    }

    /// The head of the answer, and the time after which a client reconnects without being asked.
    ///
    /// The stream ends with the connection (RFC 9112 §6.3, clause 8), without a length and without chunks. Chunks would cost
    /// bytes for every message, and give proxies a reason to wait.
    ///
    /// - Parameter fields: the fields of every answer to this caller.
    package static func head(
        date: String?, retryMilliseconds: Int, fields: CrossOrigin.Fields = []
    ) -> [UInt8] {
        var text = "HTTP/1.1 200 OK\r\n"
        if let date { text += "Date: " + date + "\r\n" }
        text += "Content-Type: \(contentType)\r\nCache-Control: no-store\r\nX-Accel-Buffering: no\r\n"
        for (name, value) in fields { text += "\(name): \(value)\r\n" }
        text += "Connection: close\r\n\r\nretry: \(retryMilliseconds)\n\n"
        return Array(text.utf8)
    }

    /// Appends the lines before the data.
    ///
    /// - Parameters:
    ///   - event: the name of the event; nil for a message. The name is ours, never from a record.
    ///   - id: the value that `Last-Event-ID` will have; without CR, LF and NUL.
    package static func begin(event: String?, id: [UInt8]?, to bytes: inout [UInt8]) {
        if let event {
            bytes.append(contentsOf: "event: ".utf8)
            bytes.append(contentsOf: event.utf8)
            bytes.append(ASCII.lineFeed)
        }
        if let id {
            bytes.append(contentsOf: "id: ".utf8)
            bytes.append(contentsOf: id)
            bytes.append(ASCII.lineFeed)
        }
        bytes.append(contentsOf: "data: ".utf8)
    }

    /// Appends the text after the data: the end of its line, and the empty line that ends the event.
    package static func end(to bytes: inout [UInt8]) {
        bytes.append(ASCII.lineFeed)
        bytes.append(ASCII.lineFeed)
    }

    /// A line that clients ignore. For proxies it shows that the connection is alive.
    package static let comment: [UInt8] = [ASCII.colon, ASCII.lineFeed, ASCII.lineFeed]
}
