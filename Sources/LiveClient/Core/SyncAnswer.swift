/// A parsed answer of `/sync/v1`.
package enum SyncAnswer: Equatable, Sendable {
    package struct Line: Equatable, Sendable {
        /// The event exactly as in the answer.
        package let json: [UInt8]
        package let event: LiveEvent
    }

    /// Events in order. Ask with `at` next, at once if there is `more`.
    case page([Line], at: LiveCursor, more: Bool)
    /// 410: the server cannot deliver what was missed.
    case resync(LiveResync, at: LiveCursor)

    /// 500 events with the longest allowed names are less than half of a MiB.
    package static let maximumBytes = 16 << 20

    /// Nil for anything else: an error, or an answer that is not from a Livegate.
    package init?(_ answer: ServerAnswer) {
        guard !answer.isTruncated, let root = JSONNode(answer.body, maximumBytes: Self.maximumBytes),
            let at = root.cursor
        else { return nil }
        switch answer.status {
        case 200:
            guard let elements = root.member("events")?.elements, let more = root.member("more")?.bool
            else { return nil }
            var lines: [Line] = []
            for element in elements {
                guard let event = StreamMessage.event(element) else { return nil }
                lines.append(Line(json: Array(element.source), event: event))
            }
            self = .page(lines, at: at, more: more)
        case 410 where root.text("code") == "resync":
            self = .resync(LiveResync(why: root.text("why") ?? ""), at: at)
        default: return nil
        }
    }
}
