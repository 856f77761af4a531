import LiveUpdates
import WebSocket

/// A message of the protocol, read.
package enum StreamMessage: Equatable, Sendable {
    case event(LiveEvent)
    /// `mode=changed`: something has.
    case changed(LiveCursor)
    case live(LiveCursor)
    case beat(LiveCursor)
    case resync(LiveResync, LiveCursor?)
    case source(LiveSource)
    /// A close with this code follows.
    case bye(CloseCode, why: String, retryMilliseconds: Int?)
    /// A control message that this version does not know.
    case unknownControl
    /// Anything else.
    case other

    /// A message has three to five keys at one level, a control message one more; later versions may put more beside.
    private static let limits = JSONLimits(maximumBytes: 1 << 20, maximumDepth: 16)

    package init(_ bytes: [UInt8]) {
        guard let document = try? JSONDocument(bytes, limits: Self.limits) else {
            self = .other
            return
        }
        self = Self.event(document.root).map(StreamMessage.event) ?? Self.control(document.root) ?? .other
    }

    /// Where to go on behind this message.
    package var cursor: LiveCursor? {
        switch self {
        case .event(let event): event.cursor
        case .changed(let cursor), .live(let cursor), .beat(let cursor): cursor
        case .resync(_, let cursor): cursor
        case .source, .bye, .unknownControl, .other: nil
        }
    }

    static func event(_ value: JSONValue) -> LiveEvent? {
        guard let entity = value.text("ent"), let id = value.text("id"), let type = value.text("type") else {
            return nil
        }
        return LiveEvent(entity: entity, id: id, type: type, cursor: value.cursor)
    }

    private static func control(_ root: JSONValue) -> StreamMessage? {
        if (try? root.member("changed")) != nil { return root.cursor.map(StreamMessage.changed) }
        guard let members = root.members, members.count == 1, let name = members[0].name else { return nil }
        let body = members[0].value
        guard body.kind == .object else { return nil }
        switch name {
        case "live": return body.cursor.map(StreamMessage.live) ?? .unknownControl
        case "beat": return body.cursor.map(StreamMessage.beat) ?? .unknownControl
        case "resync": return .resync(LiveResync(why: body.text("why") ?? ""), body.cursor)
        case "source": return source(body)
        case "bye": return bye(body)
        default: return .unknownControl
        }
    }

    private static func source(_ body: JSONValue) -> StreamMessage {
        let time = body.number("ts").map(Int64.init)
        switch body.text("state") {
        case "stalled": return .source(.stalled(since: time))
        case "live": return .source(.live(since: time))
        default: return .unknownControl
        }
    }

    private static func bye(_ body: JSONValue) -> StreamMessage {
        guard let number = body.number("code"), let code = UInt16(exactly: number) else { return .unknownControl }
        let retry = body.number("retry_ms").flatMap { (0...CloseCode.maximumRetryMilliseconds).contains($0) ? $0 : nil }
        return .bye(CloseCode(rawValue: code), why: body.text("why") ?? "", retryMilliseconds: retry)
    }
}

extension JSONValue {
    /// The text of a member; nil where it is absent, doubled or of another kind.
    func text(_ name: String) -> String? { (try? member(name))?.string }

    func number(_ name: String) -> Int? {
        guard case .positive(let value) = (try? member(name))?.integer else { return nil }
        return Int(exactly: value)
    }

    /// The member `at`.
    var cursor: LiveCursor? { text("at").map(LiveCursor.init) }
}
