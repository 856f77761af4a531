/// One event of a server-sent stream.
package struct StreamedEvent: Equatable, Sendable {
    /// The value of `event`; empty for an ordinary message.
    package let name: [UInt8]
    /// The values of `data`, joined by line feeds.
    package let data: [UInt8]
    /// The last `id` of the stream so far, which an earlier event may have set; nil while there was none.
    package let lastID: [UInt8]?
}

/// A line or an event of a stream is longer than the client accepts.
package struct EventStreamFault: Error, Equatable, Sendable {
    package let limitBytes: Int
}

/// Reads a stream of server-sent events (WHATWG HTML §9.2.6). The bytes may be cut anywhere.
package struct EventStreamParser: Sendable {
    private let maximumEventBytes: Int
    private var line: [UInt8] = []
    private var isFirstLine = true
    /// A CR ended the line before. An LF that follows belongs to that line end.
    private var sawCarriageReturn = false
    private var name: [UInt8] = []
    private var data: [UInt8] = []
    private var hasData = false
    private var lastID: [UInt8]?
    /// The value of the last `retry`, in milliseconds.
    package private(set) var retryMilliseconds: UInt64?

    package init(maximumEventBytes: Int) { self.maximumEventBytes = maximumEventBytes }

    /// Reads bytes and appends the events that they complete.
    package mutating func consume(
        _ bytes: [UInt8], into events: inout [StreamedEvent]
    ) throws(EventStreamFault) {
        for byte in bytes {
            defer { sawCarriageReturn = byte == ASCII.carriageReturn }
            if byte == ASCII.lineFeed && sawCarriageReturn { continue }
            guard byte == ASCII.lineFeed || byte == ASCII.carriageReturn else {
                guard line.count < maximumEventBytes else { throw EventStreamFault(limitBytes: maximumEventBytes) }
                line.append(byte)
                continue
            }
            if isFirstLine, line.starts(with: [0xEF, 0xBB, 0xBF]) { line.removeFirst(3) }
            isFirstLine = false
            try take(line[...], &events)
            line.removeAll(keepingCapacity: line.count < 4096)
        }
    }

    private mutating func take(
        _ line: ArraySlice<UInt8>, _ events: inout [StreamedEvent]
    ) throws(EventStreamFault) {
        if line.isEmpty { return dispatch(&events) }
        let colon = line.firstIndex(of: ASCII.colon) ?? line.endIndex
        var value = line[colon...].dropFirst()
        if value.first == ASCII.space { value = value.dropFirst() }
        let field = line[..<colon]
        if field.equals("data") {
            guard data.count + value.count < maximumEventBytes else {
                throw EventStreamFault(limitBytes: maximumEventBytes)
            }
            if hasData { data.append(ASCII.lineFeed) }
            hasData = true
            data += value
        } else if field.equals("event") {
            name = Array(value)
        } else if field.equals("id"), !value.contains(0) {
            lastID = Array(value)
        } else if field.equals("retry"), let milliseconds = value.decimal {
            retryMilliseconds = UInt64(milliseconds)
        }
    }

    private mutating func dispatch(_ events: inout [StreamedEvent]) {
        if hasData { events.append(StreamedEvent(name: name, data: data, lastID: lastID)) }
        name = []
        data = []
        hasData = false
    }
}
