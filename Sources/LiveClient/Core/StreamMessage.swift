import CloseCodes
import LiveState

/// A parsed message of the protocol.
package enum StreamMessage: Equatable, Sendable {
    case event(LiveEvent)
    /// `mode=changed`: something has changed.
    case changed(LiveCursor)
    case live(LiveCursor)
    case beat(LiveCursor)
    case resync(LiveResync, LiveCursor?)
    case source(LiveSource)
    /// A close with this code follows.
    case bye(CloseCode, why: String, retryMilliseconds: Int?)
    /// The token ends at this second since 1970. The client has to send the next one.
    case expiring(at: Int64?)
    /// The server accepted the next token; with the second at which it ends, if it ends.
    case token(endsAt: Int64?)
    /// This person has read up to this mark.
    case read(ReadMark)
    /// A control message that this version does not know.
    case unknownControl
    /// Anything else.
    case other

    /// The limit of a message. It has three to five keys at one level, a control message one more; later versions may add keys.
    private static let maximumBytes = 1 << 20

    package init(_ bytes: [UInt8]) {
        guard let root = JSONNode(bytes, maximumBytes: Self.maximumBytes) else {
            self = .other
            return
        }
        self = Self.event(root).map(StreamMessage.event) ?? Self.control(root) ?? .other
    }

    /// The cursor to resume after this message.
    package var cursor: LiveCursor? {
        switch self {
        case .event(let event): event.cursor
        case .changed(let cursor), .live(let cursor), .beat(let cursor): cursor
        case .resync(_, let cursor): cursor
        case .source, .bye, .expiring, .token, .read, .unknownControl, .other: nil
        }
    }

    static func event(_ value: JSONNode) -> LiveEvent? {
        guard let entity = value.text("ent"), let id = value.text("id"), let type = value.text("type") else {
            return nil
        }
        return LiveEvent(
            entity: entity, id: id, type: type, cursor: value.cursor, ts: value.number("ts").map(Int64.init),
            aid: value.eventID)
    }

    private static func control(_ root: JSONNode) -> StreamMessage? {
        if root.member("changed") != nil { return root.cursor.map(StreamMessage.changed) }
        guard let members = root.members, members.count == 1, let name = members[0].name else { return nil }
        let body = members[0].value
        guard body.isObject else { return nil }
        switch name {
        case "live": return body.cursor.map(StreamMessage.live) ?? .unknownControl
        case "beat": return body.cursor.map(StreamMessage.beat) ?? .unknownControl
        case "resync": return .resync(LiveResync(why: body.text("why") ?? ""), body.cursor)
        case "source": return source(body)
        case "bye": return bye(body)
        case "expiring": return .expiring(at: body.number("exp").map(Int64.init))
        case "read": return read(body)
        case "token": return .token(endsAt: body.number("exp").map(Int64.init))
        default: return .unknownControl
        }
    }

    private static func source(_ body: JSONNode) -> StreamMessage {
        let time = body.number("ts").map(Int64.init)
        switch body.text("state") {
        case "stalled": return .source(.stalled(since: time))
        case "live": return .source(.live(since: time))
        default: return .unknownControl
        }
    }

    /// A mark without an id, or with names that are not both texts, is from a later version. One without names covers everything.
    private static func read(_ body: JSONNode) -> StreamMessage {
        guard let upTo = body.eventID else { return .unknownControl }
        if !body.has("ent"), !body.has("id") { return .read(ReadMark(of: nil, upTo: upTo)) }
        guard let entity = body.text("ent"), let id = body.text("id") else { return .unknownControl }
        return .read(ReadMark(of: Thing(entity: entity, id: id), upTo: upTo))
    }

    private static func bye(_ body: JSONNode) -> StreamMessage {
        guard let number = body.number("code"), let code = UInt16(exactly: number) else { return .unknownControl }
        let retry = body.number("retry_ms").flatMap { (0...CloseCode.maximumRetryMilliseconds).contains($0) ? $0 : nil }
        return .bye(CloseCode(rawValue: code), why: body.text("why") ?? "", retryMilliseconds: retry)
    }
}

/// The message with which a client continues on its stream with another token.
package enum NextToken {
    /// A server accepts such a message up to 16 KiB, whatever its message limit is. It accepts longer tokens nowhere.
    package static let maximumMessageBytes = 16 * 1024

    /// `{"token":"…"}`. Nil for an invalid token: one that contains blanks, quotes, backslashes or bytes beyond ASCII, or is too
    /// long. The client reports such a token when it makes a request with it.
    package static func message(_ token: String) -> [UInt8]? {
        let isToken = token.utf8.allSatisfy {
            (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
        }
        let message = Array("{\"token\":\"\(token)\"}".utf8)
        guard isToken, !token.isEmpty, message.count <= maximumMessageBytes else { return nil }
        return message
    }
}

/// How often a client sends another token on one stream. A token that is valid for less than 90 seconds is about to end when the
/// server accepts it. Without a pause, tokens would follow each other as fast as the app makes them.
package struct RenewalPace: Sendable {
    /// The time between two of them, in milliseconds. The first is sent as soon as the server asks for it.
    package static let minimumMilliseconds: UInt64 = 30_000

    private var sentAt: UInt64?

    package init() {}

    package mutating func sent(now: UInt64) { sentAt = now }

    /// How long the next one has to wait, in milliseconds.
    package func wait(now: UInt64) -> UInt64 {
        guard let sentAt else { return 0 }
        let due = sentAt + Self.minimumMilliseconds
        return due > now ? due - now : 0
    }
}

extension JSONNode {
    /// The member `aid`.
    var eventID: EventID? { text("aid").map(EventID.init) }

    /// The member `at`.
    var cursor: LiveCursor? { text("at").map(LiveCursor.init) }
}
