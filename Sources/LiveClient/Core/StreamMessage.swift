import CloseCodes
import LiveState

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
    /// The token ends at this second since 1970: the next one is to be sent.
    case expiring(at: Int64?)
    /// The next token is taken; the second at which it ends, if it does.
    case token(endsAt: Int64?)
    /// This person has read up to there.
    case read(ReadMark)
    /// A control message that this version does not know.
    case unknownControl
    /// Anything else.
    case other

    /// A message has three to five keys at one level, a control message one more; later versions may put more beside.
    private static let maximumBytes = 1 << 20

    package init(_ bytes: [UInt8]) {
        guard let root = JSONNode(bytes, maximumBytes: Self.maximumBytes) else {
            self = .other
            return
        }
        self = Self.event(root).map(StreamMessage.event) ?? Self.control(root) ?? .other
    }

    /// Where to go on behind this message.
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

    /// One without an id, or with names that are not both texts, is of a later version; of everything is one without names.
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

/// What a client sends to go on with another token on the stream that it has.
package enum NextToken {
    /// A server takes such a message up to 16 KiB, whatever its limit of messages is, and longer tokens nowhere.
    package static let maximumMessageBytes = 16 * 1024

    /// `{"token":"…"}`; nil for what is no token: with blanks, quotes, backslashes or bytes beyond ASCII in it, or too long.
    /// Such a one is told of when a request is made with it.
    package static func message(_ token: String) -> [UInt8]? {
        let isToken = token.utf8.allSatisfy {
            (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
        }
        let message = Array("{\"token\":\"\(token)\"}".utf8)
        guard isToken, !token.isEmpty, message.count <= maximumMessageBytes else { return nil }
        return message
    }
}

/// How often a client sends another token on one stream. A token that lives for less than a minute and a half is about to end when
/// it is taken: without a pause one would follow the other as fast as they are made.
package struct RenewalPace: Sendable {
    /// Between two of them, in milliseconds; the first is sent as soon as it is asked for.
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
