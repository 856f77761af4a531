/// The state of the source, as reported to clients.
package enum SourceState: Sendable, Hashable {
    /// Stalled since this moment, in milliseconds since 1970.
    case stalled(since: Int64)
    /// Live again since this moment.
    case live(since: Int64)

    var name: String {
        switch self {
        case .stalled: "stalled"
        case .live: "live"
        }
    }

    var since: Int64 {
        switch self {
        case .stalled(let since), .live(let since): since
        }
    }
}

/// What an event is about: names that are compared byte by byte.
package struct ThingName: Equatable, Sendable {
    package let entity: String
    package let id: String

    package init(entity: String, id: String) {
        self.entity = entity
        self.id = id
    }

    package static func == (left: ThingName, right: ThingName) -> Bool {
        left.entity.isBytewiseEqual(to: right.entity) && left.id.isBytewiseEqual(to: right.id)
    }
}

/// What a client with cursors receives in addition to its events. A cursor is its text: letters and digits that are safe in a
/// URL, and nothing to escape in JSON.
package enum ControlMessage: Sendable, Equatable {
    /// Replay is over.
    case live(at: [UInt8])
    /// Nothing new; a fresher cursor.
    case beat(at: [UInt8])
    /// What was missed cannot be delivered.
    case resync(ResyncReason, at: [UInt8])
    case source(SourceState)
    /// A close follows. `why` is the reason of the code, a text of ours.
    case bye(code: UInt16, why: String, retryMilliseconds: Int?)
    /// Something has changed; `/sync/v1` reports what. Only with `mode=changed`.
    case changed(at: [UInt8])
    /// The token ends at this second since 1970: the client should send a new one.
    case expiring(at: Int64)
    /// The new token is accepted; the second at which it ends, if it does.
    case token(endsAt: Int64?)
    /// This person has read up to there, on another device: of one thing, or of everything.
    case read(ThingName?, upTo: ArchiveID)

    /// Its name in an event stream.
    package var name: String {
        switch self {
        case .live: "live"
        case .beat: "beat"
        case .resync: "resync"
        case .source: "source"
        case .bye: "bye"
        case .changed: "changed"
        case .expiring: "expiring"
        case .token: "token"
        case .read: "read"
        }
    }

    /// The cursor that it carries.
    package var at: [UInt8]? {
        switch self {
        case .live(let at), .beat(let at), .resync(_, let at), .changed(let at): at
        case .source, .bye, .expiring, .token, .read: nil
        }
    }
}

extension WireMessage {
    /// Appends `{"live":{"at":…}}`, or `{"changed":true,"at":…}`, which is the one that is not named by its only key.
    package static func appendControl(_ message: ControlMessage, to bytes: inout [UInt8]) {
        if case .changed(let at) = message {
            append("{\"changed\":true", to: &bytes)
            appendCursor(at, to: &bytes)
        } else {
            append("{\"\(message.name)\":", to: &bytes)
            appendInside(of: message, to: &bytes)
        }
        append("}", to: &bytes)
    }

    /// Appends the content of a control message, braces included: the data of an event stream.
    package static func appendInside(of message: ControlMessage, to bytes: inout [UInt8]) {
        switch message {
        case .live(let at), .beat(let at), .changed(let at):
            append("{\"at\":\"", to: &bytes)
            bytes.append(contentsOf: at)
            append("\"}", to: &bytes)
        case .expiring(let second), .token(.some(let second)): append("{\"exp\":\(second)}", to: &bytes)
        case .token(nil): append("{}", to: &bytes)
        case .read(let thing, let id):
            append("{", to: &bytes)
            if let thing {
                append("\"ent\":", to: &bytes)
                appendString(thing.entity, to: &bytes)
                append(",\"id\":", to: &bytes)
                appendString(thing.id, to: &bytes)
                append(",", to: &bytes)
            }
            append("\"aid\":\"", to: &bytes)
            id.append(to: &bytes)
            append("\"}", to: &bytes)
        case .resync(let why, let at):
            append("{\"why\":\"\(why.rawValue)\"", to: &bytes)
            appendCursor(at, to: &bytes)
            append("}", to: &bytes)
        case .source(let state):
            append("{\"state\":\"\(state.name)\",\"ts\":\(state.since)}", to: &bytes)
        case .bye(let code, let why, let retryMilliseconds):
            append("{\"code\":\(code),\"why\":", to: &bytes)
            appendString(why, to: &bytes)
            if let retryMilliseconds { append(",\"retry_ms\":\(retryMilliseconds)", to: &bytes) }
            append("}", to: &bytes)
        }
    }

    static func appendCursor(_ at: [UInt8], to bytes: inout [UInt8]) {
        append(",\"at\":\"", to: &bytes)
        bytes.append(contentsOf: at)
        append("\"", to: &bytes)
    }
}
