import LiveState
import Terminal

/// An incident as the API of the demo gives it; a list leaves out what only details have.
struct Incident: Codable, Equatable, Sendable {
    struct Note: Codable, Equatable, Sendable {
        let content: String
        let author: String
    }

    let id: String
    /// The order of the list: newest is highest.
    let number: Int
    let title: String
    var status: String
    var urgency: String
    var priority: String?
    var assignee: String?
    /// Milliseconds since 1970; what is older than what is shown changes nothing.
    var updatedAt: Int64
    var notes: [Note]?

    enum CodingKeys: String, CodingKey {
        case id, number, title, status, urgency, priority, assignee, notes
        case updatedAt = "updated_at"
    }
}

/// What the terminal shows, and what keys and news do to it. A value without I/O and clock.
struct Board: Sendable {
    /// What a key asks for beyond the board itself.
    enum Command: Equatable, Sendable {
        case quit
        /// Fetch this incident: its details are shown.
        case open(String)
        case act(String, verb: String)
    }

    /// As many as the API gives in a page: what is older is left out, resolved ones and open ones.
    static let maximumIncidents = 100

    let account: String
    /// In the order of the list.
    private(set) var incidents: [Incident] = []
    /// False: nothing is known yet.
    private(set) var isKnown = false
    /// The list may be old: it is being fetched again.
    var isOld = false
    /// Why no more news will come; nil: it may.
    private(set) var ending: String?
    private(set) var selected: String?
    /// The incident whose details are shown.
    private(set) var opened: String?
    /// The first line of the details that is shown.
    var scroll = 0
    /// The last thing that people should know.
    var message = ""
    /// What the sign is made of.
    var facts = Freshness.Facts()

    init(account: String) { self.account = account }

    subscript(id: String) -> Incident? { incidents.first { $0.id == id } }

    // MARK: - News

    /// The list was fetched: this is all of it.
    mutating func replace(_ fetched: [Incident]) {
        let known = Dictionary(incidents.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        incidents = []
        for var incident in fetched.prefix(Self.maximumIncidents) {
            incident.notes = incident.notes ?? known[incident.id]?.notes
            incidents.append(incident)
        }
        incidents.sort { $0.number > $1.number }
        isKnown = true
        keepSelection()
    }

    /// One was fetched, because something happened to it.
    mutating func put(_ incident: Incident) {
        if let index = incidents.firstIndex(where: { $0.id == incident.id }) {
            guard incidents[index].updatedAt <= incident.updatedAt else { return }
            let notes = incidents[index].notes
            incidents[index] = incident
            incidents[index].notes = incident.notes ?? notes
        } else {
            incidents.append(incident)
            incidents.sort { $0.number > $1.number }
            if incidents.count > Self.maximumIncidents { incidents.removeLast() }
        }
        keepSelection()
    }

    /// It is not there, or not for this account.
    mutating func remove(_ id: String, because why: String = "is gone") {
        incidents.removeAll { $0.id == id }
        if opened == id {
            opened = nil
            message = "\(id) \(why)."
        }
        keepSelection()
    }

    /// The client has given up: what is shown stays, and says that it is old.
    mutating func end(why: String) { ending = why }

    /// Whether what happened to an incident is fetched: what is new, and what is on the screen.
    func wants(_ id: String, isCreated: Bool, isChanged: Bool) -> Bool {
        let isThere = self[id] != nil
        return isCreated && !isThere || isChanged && (isThere || opened == id)
    }

    private mutating func keepSelection() {
        if selected.map({ self[$0] == nil }) ?? true { selected = incidents.first?.id }
    }

    // MARK: - Keys

    mutating func press(_ key: Key) -> Command? {
        switch key {
        case .text("q"), .interrupt, .endOfInput: return .quit
        case .previous, .text("k"): move(-1)
        case .next, .text("j"): move(1)
        case .home, .text("g"): if opened == nil { selected = incidents.first?.id } else { scroll = 0 }
        case .end, .text("G"): if opened == nil { selected = incidents.last?.id }
        case .enter, .right:
            guard opened == nil, let selected else { return nil }
            (opened, scroll, message) = (selected, 0, "")
            return .open(selected)
        case .left, .backspace, .text("b"): (opened, scroll) = (nil, 0)
        case .text("a"): return act("acknowledge", from: ["triggered"])
        case .text("r"): return act("resolve", from: ["triggered", "acknowledged"])
        default: break
        }
        return nil
    }

    private mutating func move(_ step: Int) {
        guard opened == nil else {
            scroll = max(0, scroll + step)
            return
        }
        guard let index = incidents.firstIndex(where: { $0.id == selected }) else { return }
        selected = incidents[min(max(index + step, 0), incidents.count - 1)].id
    }

    private mutating func act(_ verb: String, from statuses: Set<String>) -> Command? {
        guard let id = opened ?? selected, let incident = self[id] else { return nil }
        guard statuses.contains(incident.status) else {
            message = "\(id) is \(incident.status)."
            return nil
        }
        message = "\(id): asked to \(verb)…"
        return .act(id, verb: verb)
    }
}
