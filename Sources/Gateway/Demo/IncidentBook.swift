import LiveUpdates

/// An incident as the demo's API shows it.
struct Incident: Equatable, Sendable {
    enum Status: String, Sendable {
        case triggered, acknowledged, resolved
    }

    struct Note: Equatable, Sendable {
        let id: String
        let content: String
        let author: String
        let createdAt: Int64
    }

    let id: String
    /// In the order of creation, from 1; never given twice. Lists are ordered by it.
    let number: Int
    let title: String
    let createdAt: Int64
    var status = Status.triggered
    var urgency = "high"
    var priority: String?
    var assignee: String?
    var escalationLevel = "1"
    var updatedAt: Int64
    /// At most `IncidentBook.maximumNotes`, oldest first.
    var notes: [Note] = []
}

/// What a person does to an incident through the API.
enum IncidentAction: Equatable, Sendable {
    case acknowledge
    case resolve
    case note(String)
}

/// The incidents of one account. The API answers from them, and they decide which changes are published.
///
/// The feed's story and people's actions go through here, one after the other, each before its record is written. So a client
/// that is notified of a change finds it. A value without I/O and clock; moments are milliseconds since 1970.
struct IncidentBook: Sendable {
    /// Some minutes of the story. Beyond it the oldest resolved one is deleted, and that is published too.
    static let maximumIncidents = 100
    /// As many as a details view shows; the oldest go.
    static let maximumNotes = 20

    enum Fault: Error, Equatable {
        case notFound
        /// It is resolved, and stays so.
        case resolved
    }

    /// In the order of creation.
    private(set) var incidents: [Incident] = []
    private var lastNumber = 0

    subscript(id: String) -> Incident? { incidents.first { $0.id == id } }

    // MARK: - The feed's story

    /// Applies the story's next change. Returns what is to be published of it, in this order.
    ///
    /// The story does not know what people did: a change of an incident that is resolved, or gone, has no effect.
    mutating func follow(_ change: FeedChange, at moment: Int64) -> [FeedChange] {
        let entity = change.entity
        if entity == FeedChange.incident, change.type == "created" { return add(change, at: moment) }
        // Alerts are of another product: the mapping drops them.
        if entity == FeedChange.alert { return [change] }
        guard let index = index(of: change.incidentID ?? ""), incidents[index].status != .resolved else { return [] }
        switch entity {
        case FeedChange.incident: incidents[index].adopt(change)
        case FeedChange.note:
            append(
                Incident.Note(
                    id: change.id, content: change["content"] ?? "", author: incidents[index].assignee ?? "system",
                    createdAt: moment), to: index)
        default: break
        }
        incidents[index].updatedAt = moment
        return [change]
    }

    private mutating func add(_ change: FeedChange, at moment: Int64) -> [FeedChange] {
        guard index(of: change.id) == nil else { return [] }
        lastNumber += 1
        var incident = Incident(
            id: change.id, number: lastNumber, title: change["title"] ?? "", createdAt: moment, updatedAt: moment)
        incident.adopt(change)
        incidents.append(incident)
        guard incidents.count > Self.maximumIncidents else { return [change] }
        let oldest = incidents.firstIndex { $0.status == .resolved } ?? 0
        let gone = incidents.remove(at: oldest)
        return [change, FeedChange(entity: FeedChange.incident, id: gone.id, type: "deleted", changes: [])]
    }

    private func index(of id: String) -> Int? { incidents.firstIndex { $0.id == id } }

    private mutating func append(_ note: Incident.Note, to index: Int) {
        incidents[index].notes.append(note)
        if incidents[index].notes.count > Self.maximumNotes { incidents[index].notes.removeFirst() }
    }

    // MARK: - What people do

    /// Carries out an action and returns what is to be published: nothing where it was so already.
    ///
    /// - Parameter noteID: of the note, if it is one.
    mutating func perform(
        _ action: IncidentAction, on id: String, by person: String, at moment: Int64, noteID: String
    ) throws(Fault) -> [FeedChange] {
        guard let index = index(of: id) else { throw .notFound }
        let status = incidents[index].status
        let changes: [FeedChange]
        switch action {
        case .acknowledge:
            if status == .resolved { throw .resolved }
            if status == .acknowledged { return [] }
            changes = [.incident(id, "acknowledged", ["status": "acknowledged", "actor": person])]
        case .resolve:
            if status == .resolved { return [] }
            changes = [.incident(id, "resolved", ["status": "resolved", "actor": person])]
        case .note(let content):
            append(Incident.Note(id: noteID, content: content, author: person, createdAt: moment), to: index)
            changes = [
                FeedChange(
                    entity: FeedChange.note, id: noteID, type: "created",
                    changes: [("incident_id", id), ("content", content)]),
                .incident(id, "annotated", ["last_note": content]),
            ]
        }
        for change in changes where change.entity == FeedChange.incident { incidents[index].adopt(change) }
        incidents[index].updatedAt = moment
        return changes
    }

    // MARK: - Lists

    enum Order: String { case newest, oldest }

    /// A part of the list, and whether there is more behind it.
    ///
    /// - Parameters:
    ///   - from: the page begins behind this one, in this order; nil: at the list's beginning.
    ///   - statuses: only these.
    /// - Throws: `notFound` where `from` does not exist, or not any more.
    func page(
        _ order: Order, from: String?, statuses: Set<Incident.Status>, limit: Int
    ) throws(Fault) -> (incidents: [Incident], more: Bool) {
        var listed = incidents
        if let from {
            guard let index = index(of: from) else { throw .notFound }
            listed = Array(order == .newest ? listed[..<index] : listed[(index + 1)...])
        }
        if order == .newest { listed.reverse() }
        listed = listed.filter { statuses.contains($0.status) }
        return (Array(listed.prefix(limit)), listed.count > limit)
    }
}

extension Incident {
    /// Applies a record's changes.
    fileprivate mutating func adopt(_ change: FeedChange) {
        if let status = change["status"].flatMap(Status.init) { self.status = status }
        urgency = change["urgency"] ?? urgency
        priority = change["priority"] ?? priority
        assignee = change["assignee"] ?? change["actor"] ?? assignee
        escalationLevel = change["escalation_level"] ?? escalationLevel
    }
}

extension FeedChange {
    static let incident = "incidents::incident"
    static let note = "incidents::note"
    static let alert = "alerts::alert"

    fileprivate static func incident(
        _ id: String, _ type: String, _ changes: KeyValuePairs<String, String>
    ) -> FeedChange {
        FeedChange(entity: incident, id: id, type: type, changes: changes.map { ($0.key, $0.value) })
    }

    /// The record's value for a member of the thing.
    subscript(name: String) -> String? { changes.first { $0.name == name }?.value }

    /// The incident that it belongs to.
    fileprivate var incidentID: String? { entity == Self.incident ? id : self["incident_id"] }
}
