import Archive
import HTTP
import LiveUpdates

/// What a request asks of the archive, without whose it is.
enum ArchiveRequest: Sendable, Equatable {
    case page(PageParameters)
    case inbox(InboxParameters)
    /// A read mark; its body is still to be read.
    case mark

    /// Whether it can only be asked by a person, and not by an account alone.
    var needsPerson: Bool {
        switch self {
        case .page: false
        case .inbox, .mark: true
        }
    }
}

extension ArchiveRequest {
    /// Nil: another address.
    static func asked(_ head: RequestHead) throws(Refusal) -> ArchiveRequest? {
        switch head.path {
        case Admission.archivePath:
            return .page(try PageParameters.parse(head))
        case Admission.inboxPath:
            return .inbox(try InboxParameters.parse(head))
        case Admission.readPath:
            return .mark
        default: return nil
        }
    }
}

/// What requests to the archive are held to.
struct ArchivePolicy: Sendable {
    /// A mark of an event that is stamped further ahead of the node's clock is none of an event that was read.
    let maximumTimestampDelayMilliseconds: Int64
    /// From its last byte on every request is answered within so long, whatever the store does.
    var answerMilliseconds: UInt64 = 2_000
    /// Before each time that a page is read once more because the store lacks what the node had read, in ms. A store that is
    /// well comes on within the first ones: events are stored in batches of a tenth of a second.
    var catchUpPauses: [UInt64] = [50, 100, 150, 200, 250, 250]
}

/// What a request to `/archive/v1` asks for.
struct PageParameters: Sendable, Equatable {
    var before: ArchiveID?
    var after: ArchiveID?
    /// Time stamps, in ms.
    var from: Int64?
    var to: Int64?
    /// Nil: all entities.
    var entities: EntityFilter?
    /// Only the thing with this id, of the one entity.
    var thing: String?
    var isOldestFirst = false
    var limit = PageQuery.defaultLimit

    /// Whether nothing that is asked for keeps the newest event out.
    var mayHoldNewest: Bool { !isOldestFirst && before == nil && to == nil }

    static func parse(_ head: RequestHead) throws(Refusal) -> PageParameters {
        let reading = ParameterReading(head)
        var parameters = PageParameters()
        parameters.before = try reading.archiveID("before")
        parameters.after = try reading.archiveID("after")
        parameters.from = try reading.stamp("from")
        parameters.to = try reading.stamp("to")
        parameters.entities = try reading.entities("ent")
        parameters.thing = try reading.identifier("id")
        if parameters.thing != nil, parameters.entities?.names.count != 1 {
            throw Refusal(.badParameter, "id needs exactly one name in ent.")
        }
        parameters.isOldestFirst = try reading.isOldestFirst("order")
        parameters.limit = try reading.pageLimit("limit")
        return parameters
    }

    static func == (left: PageParameters, right: PageParameters) -> Bool {
        (left.before, left.after, left.from, left.to) == (right.before, right.after, right.from, right.to)
            && left.entities == right.entities
            && left.thing.map { Array($0.utf8) } == right.thing.map { Array($0.utf8) }
            && left.isOldestFirst == right.isOldestFirst && left.limit == right.limit
    }

    func query(_ account: Account) -> PageQuery {
        var query = PageQuery(account: account)
        (query.before, query.after, query.from, query.to) = (before, after, from, to)
        query.entities = entities
        query.thing = thing
        query.isOldestFirst = isOldestFirst
        query.limit = limit
        query.wantsPositions = mayHoldNewest
        return query
    }
}

/// What a request to `/inbox/v1` asks for.
struct InboxParameters: Sendable, Equatable {
    /// Only things whose last event is older.
    var before: ArchiveID?
    /// Nil: all entities.
    var entities: EntityFilter?
    var unreadOnly = false
    var limit = PageQuery.defaultLimit

    static func parse(_ head: RequestHead) throws(Refusal) -> InboxParameters {
        let reading = ParameterReading(head)
        var parameters = InboxParameters()
        parameters.before = try reading.archiveID("before")
        parameters.entities = try reading.entities("ent")
        parameters.unreadOnly = try reading.isPresent("unread", as: "1")
        parameters.limit = try reading.pageLimit("limit")
        return parameters
    }

    func query(_ account: Account, _ person: String) -> InboxQuery {
        var query = InboxQuery(account: account, person: person)
        query.before = before
        query.entities = entities
        query.unreadOnly = unreadOnly
        query.limit = limit
        query.wantsPositions = true
        return query
    }
}

extension ParameterReading {
    /// An event's id. An id of another server, or of an event that does not exist, is a position in the order like any other.
    func archiveID(_ name: String) throws(Refusal) -> ArchiveID? {
        let refusal = Refusal(.badParameter, "\(name) is not an event's aid.")
        guard let text = try text(name, refusal) else { return nil }
        guard let id = ArchiveID(text.span) else { throw refusal }
        return id
    }

    /// A time stamp in ms; one that is too large is behind all events.
    func stamp(_ name: String) throws(Refusal) -> Int64? {
        try number(name, in: 0..., "a time stamp in milliseconds").map { Int64($0) }
    }

    /// The id of a thing, as a record may have it.
    func identifier(_ name: String) throws(Refusal) -> String? {
        let refusal = Refusal(.badParameter, "\(name) is not a text of 1 to \(ThinEvent.maximumIdentifierBytes) bytes.")
        guard let bytes = try text(name, refusal) else { return nil }
        guard (1...ThinEvent.maximumIdentifierBytes).contains(bytes.count),
            let text = String(validating: bytes, as: UTF8.self)
        else { throw refusal }
        return text
    }

    func isOldestFirst(_ name: String) throws(Refusal) -> Bool {
        let refusal = Refusal(.badParameter, "\(name) is neither desc nor asc.")
        guard let text = try text(name, refusal) else { return false }
        if text.elementsEqual("asc".utf8) { return true }
        guard text.elementsEqual("desc".utf8) else { throw refusal }
        return false
    }

    /// More than a page may have is as much as it may have.
    func pageLimit(_ name: String) throws(Refusal) -> Int {
        guard let limit = try number(name, in: 1..., "a whole number of 1 or more") else {
            return PageQuery.defaultLimit
        }
        return min(limit, PageQuery.maximumLimit)
    }
}
