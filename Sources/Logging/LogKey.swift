/// The name of a fact. All names are listed here, so that one thing has the same name in every line.
package struct LogKey: Hashable, Sendable {
    package let name: String

    private init(_ name: String) {
        self.name = name
    }
}

extension LogKey {
    // Where a line comes from.
    package static let part = LogKey("part")
    package static let loop = LogKey("loop")
    package static let loops = LogKey("loops")
    package static let library = LogKey("library")
    package static let version = LogKey("version")

    // Connections.
    package static let account = LogKey("account")
    package static let admin = LogKey("admin")
    package static let address = LogKey("address")
    package static let by = LogKey("by")
    package static let bytes = LogKey("bytes")
    package static let code = LogKey("code")
    package static let connection = LogKey("connection")
    package static let closed = LogKey("closed")
    package static let connections = LogKey("connections")
    package static let deliveries = LogKey("deliveries")
    package static let ended = LogKey("ended")
    package static let refused = LogKey("refused")
    package static let method = LogKey("method")
    package static let origin = LogKey("origin")
    package static let path = LogKey("path")
    package static let peer = LogKey("peer")
    package static let status = LogKey("status")
    package static let subject = LogKey("subject")

    // Kafka.
    package static let broker = LogKey("broker")
    package static let facility = LogKey("facility")
    package static let offset = LogKey("offset")
    package static let partition = LogKey("partition")
    package static let partitions = LogKey("partitions")
    package static let position = LogKey("position")
    package static let topic = LogKey("topic")
    package static let topics = LogKey("topics")
    package static let records = LogKey("records")
    package static let events = LogKey("events")
    package static let skipped = LogKey("skipped")
    package static let left = LogKey("left")
    package static let seconds = LogKey("seconds")
    package static let resyncs = LogKey("resyncs")

    // Settings.
    package static let file = LogKey("file")
    package static let issuer = LogKey("issuer")
    package static let key = LogKey("key")
    package static let line = LogKey("line")
    package static let setting = LogKey("setting")
    package static let url = LogKey("url")
    package static let variable = LogKey("variable")

    // What happened.
    package static let advice = LogKey("advice")
    package static let before = LogKey("before")
    package static let cause = LogKey("cause")
    package static let changed = LogKey("changed")
    package static let count = LogKey("count")
    package static let dropped = LogKey("dropped")
    package static let delayMilliseconds = LogKey("delay_ms")
    package static let durationMilliseconds = LogKey("duration_ms")
    package static let error = LogKey("error")
    package static let kind = LogKey("kind")
    package static let limit = LogKey("limit")
    package static let lostTokens = LogKey("lost_tokens")
    package static let others = LogKey("others")
    package static let reason = LogKey("reason")
    package static let signal = LogKey("signal")
    package static let suppressed = LogKey("suppressed")
    package static let text = LogKey("text")
    package static let window = LogKey("window")
    package static let windowMilliseconds = LogKey("window_ms")
}
