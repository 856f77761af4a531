import HTTP
import LiveUpdates
import WebSocket

/// What the messages of a stream contain: streams of one form get the same bytes.
struct StreamForm: Hashable, Sendable {
    enum Carrier: UInt8, Sendable {
        case webSocket
        /// WebSocket with permessage-deflate.
        case deflated
        case eventStream
    }

    var carrier = Carrier.webSocket
    /// Each message carries its cursor as `at`.
    var withAt = false
    /// Each message carries the record's time stamp as `ts`.
    var withTs = false
    /// Each message carries its id in the archive as `aid`.
    var withAid = false
    /// False: streams that make messages of their own, whatever their form.
    private(set) var isShared = true
    /// Only these; nil is all.
    var entities: EntityFilter?

    init(
        carrier: Carrier = .webSocket, withAt: Bool = false, withTs: Bool = false, withAid: Bool = false,
        entities: EntityFilter? = nil
    ) {
        self.carrier = carrier
        self.withAt = withAt
        self.withTs = withTs
        self.withAid = withAid
        self.entities = entities
    }

    init(_ parameters: LiveParameters, _ carrier: Carrier) {
        // A cursor, or a wish for beats, shows that the client wants to know its position.
        let asksForCursors = parameters.since != nil || parameters.beatSeconds != nil
        self.init(
            carrier: carrier, withAt: parameters.withAt || asksForCursors && carrier != .eventStream,
            withTs: parameters.withTs, withAid: parameters.withAid, entities: parameters.entities)
    }

    init(individual entities: EntityFilter?) {
        self.entities = entities
        isShared = false
    }

    /// Event streams have the cursor of each message in a line of its own.
    var needsCursors: Bool { withAt || carrier == .eventStream }

    /// Numbers the forms; the filter is no part of it.
    var messageForm: Int { Int(carrier.rawValue) << 3 | (withAid ? 4 : 0) | (withAt ? 2 : 0) | (withTs ? 1 : 0) }
    static let messageForms = 24
}

/// Makes the bytes of a form, on one loop. What it keeps between calls is memory alone.
final class FormEncoder {
    private let ids: ArchiveIDs
    private var payload: [UInt8] = []
    /// Made with the first connection that gets deflated messages; one for all of them.
    private var deflater: Deflater?

    /// The events of one account and wake, and what was made of them, by the form of the messages.
    private var batch: [LoggedEvent] = []
    private var account = Account("")
    private var wholes = [[UInt8]](repeating: [], count: StreamForm.messageForms)
    private var singles = [[[UInt8]]](repeating: [], count: StreamForm.messageForms)
    private var lastSome: (form: Int, indices: [Int], slice: [UInt8])?
    private var lastControl: (message: ControlMessage, carrier: StreamForm.Carrier, bytes: [UInt8])?

    init(ids: ArchiveIDs) { self.ids = ids }

    // MARK: - Events that are shared

    /// Begins a batch; what was made of the one before is let go.
    func begin(_ events: [LoggedEvent], of account: Account) {
        for form in 0..<StreamForm.messageForms {
            if !wholes[form].isEmpty { wholes[form] = [] }
            if !singles[form].isEmpty { singles[form] = [] }
        }
        lastSome = nil
        batch = events
        self.account = account
    }

    /// All events of the batch, one message each, in their order.
    func all(_ form: StreamForm) -> [UInt8] {
        let number = form.messageForm
        if wholes[number].isEmpty { wholes[number] = messages(batch, of: account, form) }
        return wholes[number]
    }

    /// The events of these indices. Each event is encoded once for a form of messages, whatever filters it passes.
    func some(_ indices: [Int], _ form: StreamForm) -> [UInt8] {
        if indices.count == batch.count { return all(form) }
        let number = form.messageForm
        if let lastSome, lastSome.form == number, lastSome.indices == indices { return lastSome.slice }
        if singles[number].isEmpty { singles[number] = [[UInt8]](repeating: [], count: batch.count) }
        for index in indices where singles[number][index].isEmpty {
            append(batch[index], of: account, form, to: &singles[number][index])
        }
        // A single message is shared by all that get it and no other.
        let slice =
            indices.count == 1 ? singles[number][indices[0]] : Array(indices.map { singles[number][$0] }.joined())
        lastSome = (number, indices, slice)
        return slice
    }

    // MARK: - Messages

    /// The events, one message each, in their order.
    func messages(_ events: [LoggedEvent], of account: Account, _ form: StreamForm) -> [UInt8] {
        var bytes: [UInt8] = []
        for event in events { append(event, of: account, form, to: &bytes) }
        return bytes
    }

    /// The events of a page, which only one client gets. They are not deflated, because that costs 9.5 µs an event (RFC 7692 §6:
    /// either may be). Hundreds of clients reconnect at once, each with pages of hundreds of events.
    func page(_ events: [LoggedEvent], of account: Account, _ form: StreamForm) -> [UInt8] {
        var form = form
        if form.carrier == .deflated { form.carrier = .webSocket }
        return messages(events, of: account, form)
    }

    private func append(_ event: LoggedEvent, of account: Account, _ form: StreamForm, to bytes: inout [UInt8]) {
        let ts = form.withTs ? event.timestamp : nil
        let aid = form.withAid ? ids.id(of: event, account: account) : nil
        if form.carrier == .eventStream {
            EventStreamEncoder.append(event.event, id: event.at, withAt: form.withAt, ts: ts, aid: aid, to: &bytes)
            return
        }
        payload.removeAll(keepingCapacity: true)
        WireMessage.append(event.event, at: form.withAt ? event.at : nil, ts: ts, aid: aid, to: &payload)
        Self.appendFrame(payload, form.carrier == .deflated ? compress(payload) : nil, to: &bytes)
    }

    /// The answer to a poll that waited: events as they came, each with its cursor, at most `limit` of them.
    func body(_ events: [LoggedEvent], of account: Account, limit: Int, withAid: Bool) -> [UInt8] {
        var page = SyncPage()
        append(events.prefix(limit), of: account, withAid: withAid, to: &page)
        let last = events.prefix(limit).last?.at ?? []
        return (consume page).finished(at: last, more: events.count > limit)
    }

    func append(_ events: some Sequence<LoggedEvent>, of account: Account, withAid: Bool, to page: inout SyncPage) {
        for event in events {
            let aid = withAid ? ids.id(of: event, account: account) : nil
            page.append(event.event, at: event.at, ts: event.timestamp, aid: aid)
        }
    }

    /// A control message in the same carrier. The last one is kept: what concerns all is the same for most.
    func control(_ message: ControlMessage, _ carrier: StreamForm.Carrier) -> [UInt8] {
        if let lastControl, lastControl.carrier == carrier, lastControl.message == message { return lastControl.bytes }
        var bytes: [UInt8] = []
        if carrier == .eventStream {
            EventStreamEncoder.appendControl(message, to: &bytes)
        } else {
            payload.removeAll(keepingCapacity: true)
            WireMessage.appendControl(message, to: &payload)
            Self.appendFrame(payload, carrier == .deflated ? compress(payload) : nil, to: &bytes)
        }
        lastControl = (message, carrier, bytes)
        return bytes
    }

    /// The payload as one message of a WebSocket, compressed where that is given.
    private static func appendFrame(_ payload: [UInt8], _ compressed: [UInt8]?, to bytes: inout [UInt8]) {
        if let compressed {
            FrameEncoder.append(.text, isCompressed: true, payload: compressed.span, to: &bytes)
        } else {
            FrameEncoder.append(.text, payload: payload.span, to: &bytes)
        }
    }

    /// Nil where there is no memory for it: each message may go uncompressed (RFC 7692 §6).
    private func compress(_ payload: [UInt8]) -> [UInt8]? {
        if deflater == nil {
            let policy = DeflatePolicy.shared
            deflater = try? Deflater(windowBits: policy.serverWindowBits, contextTakeover: policy.serverContextTakeover)
        }
        return deflater?.message(payload.span)
    }
}

/// The protocol's messages as server-sent events.
enum EventStreamEncoder {
    /// The least and the most of `retry`, spread so that clients do not all reconnect at once.
    static let retryMilliseconds = 1_000...5_000

    /// Asks the client to reconnect after so long when the stream has ended.
    static func retry(milliseconds: Int) -> [UInt8] { Array("retry: \(milliseconds)\n\n".utf8) }

    /// Appends an event. Its cursor is the `id` in any case, and is in the data only where `with` asked for it.
    static func append(
        _ event: ThinEvent, id: [UInt8], withAt: Bool, ts: Int64?, aid: ArchiveID?, to bytes: inout [UInt8]
    ) {
        EventStream.begin(event: nil, id: id, to: &bytes)
        WireMessage.append(event, at: withAt ? id : nil, ts: ts, aid: aid, to: &bytes)
        EventStream.end(to: &bytes)
    }

    /// Appends a control message: its name as `event`, its content as `data`, and `id` where it has a cursor.
    static func appendControl(_ message: ControlMessage, to bytes: inout [UInt8]) {
        EventStream.begin(event: message.name, id: message.at, to: &bytes)
        WireMessage.appendInside(of: message, to: &bytes)
        EventStream.end(to: &bytes)
    }
}
