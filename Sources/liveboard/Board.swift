import LiveClient
import Terminal

/// What the terminal shows, and how keys change it: the state of the client library, and the user's position in it. It is a value
/// without I/O and clock.
struct Board: Sendable {
    /// What a key asks for beyond the board itself.
    enum Command: Equatable, Sendable {
        case quit
        /// The details of this incident are shown.
        case open(String)
        /// The list is shown again.
        case close
        /// Set this status. `before` is the status that people have seen until now.
        case set(String, to: String, before: String)
        case addNote(String, String)
        /// Fetch everything again, with another token if the last one was refused.
        case refresh
    }

    /// An incident of the list, as it is shown.
    struct Row: Equatable, Sendable {
        var incident: Incident
        /// Whether it may be old.
        var isOld: Bool
        /// The status that is shown: a change by the user counts before the server has it.
        var status: String
        var isPending: Bool
    }

    /// The limit of a note's characters, because the API accepts 1,000 bytes.
    static let maximumNoteCharacters = 240
    /// How many answers to the user's actions are kept until something equally new is fetched.
    static let maximumAnswers = 100

    let account: String
    var list: ListState<Incident>? { didSet { forgetAnswers() } }
    var details: DetailsState<Incident>? { didSet { forgetAnswers() } }
    /// The incidents of the last run, which are shown until the list has any.
    private(set) var stored: [Incident] = []
    /// By id: the status that the user set and the server does not have yet.
    private(set) var pending: [String: String] = [:]
    /// By id: the API's answers to the user's actions.
    private(set) var answers: [String: Incident] = [:]
    private(set) var selected: String?
    /// The incident whose details are shown.
    private(set) var opened: String?
    /// The first line of the details that is shown.
    var scroll = 0
    /// The note that is being written; nil if there is none.
    private(set) var note: String?
    /// The last message for the user.
    var message = ""
    /// What the user can do about an end; nil if nothing.
    var advice: String?
    /// The error of the file; nil if there is none.
    var storeError: StoreError?
    var sign = BoardSign()

    init(account: String) { self.account = account }

    // MARK: - What is known

    /// How far the list is known from its beginning; nil if not at all.
    private var reach: ListEnd? {
        guard let list else { return nil }
        var end = ListEnd.beginning
        var isKnown = false
        for interval in (list.complete + list.stale).sorted(by: { $0.lower < $1.lower }) where interval.lower <= end {
            (end, isKnown) = (max(end, interval.upper), true)
        }
        return isKnown ? end : nil
    }

    /// Whether something is known, even if only that there are no incidents.
    var isKnown: Bool { reach != nil || !stored.isEmpty }

    /// Whether the list is known to be empty: now, or at an earlier time. Nil: there may be incidents.
    var emptiness: Knowledge? {
        guard let list, list.items.isEmpty, reach == .end else { return nil }
        return list.complete.contains { $0.lower == .beginning && $0.upper == .end } ? .known : .knownStale
    }

    /// Whether there is more after the rows.
    var hasMore: Bool { reach.map { $0 != .end } ?? false }

    /// The rows, the newest first, up to the position where something may be missing.
    var rows: [Row] {
        guard let list, let reach else { return stored.map { row($0, isOld: true) } }
        let complete = list.complete.first { $0.lower == .beginning }?.upper ?? .beginning
        return list.items.compactMap { item in
            guard let incident = item.value, .at(key: item.key) <= reach else { return nil }
            return row(incident, isOld: item.knowledge != .known || .at(key: item.key) > complete)
        }
    }

    private func row(_ incident: Incident, isOld: Bool) -> Row {
        let newest = newest(incident)
        return Row(
            incident: newest, isOld: isOld, status: pending[incident.id] ?? newest.status,
            isPending: pending[incident.id] != nil)
    }

    private func newest(_ incident: Incident) -> Incident {
        guard let answer = answers[incident.id], answer.updatedAt > incident.updatedAt else { return incident }
        return answer
    }

    private func known(_ id: String) -> Row? { rows.first { $0.incident.id == id } }

    /// The incident whose details are shown, as far as it is known.
    var openedRow: Row? {
        guard let opened else { return nil }
        guard let details, details.thing.id == opened else { return known(opened).map { old($0) } }
        guard details.absence == nil else { return nil }
        if let value = details.value { return row(value, isOld: details.knowledge != .known) }
        return known(opened).map { old($0) }
    }

    private func old(_ row: Row) -> Row {
        var row = row
        row.isOld = true
        return row
    }

    /// Whether the screen may show old data although the machine is connected, because it has to be fetched first.
    var isFetching: Bool {
        if opened != nil { return details?.absence == nil && openedRow?.isOld ?? true }
        return list?.knowledge != .known || rows.contains { $0.isOld }
    }

    mutating func restore(_ incidents: [Incident]) {
        stored = incidents
        keepSelection()
    }

    mutating func answered(_ incident: Incident) {
        if answers.count >= Self.maximumAnswers { answers = [:] }
        answers[incident.id] = incident
        forgetAnswers()
    }

    /// Drops the answers that what was fetched is at least as new as.
    private mutating func forgetAnswers() {
        if reach != nil { stored = [] }
        guard !answers.isEmpty else { return keepSelection() }
        let fetched = (list?.items.compactMap(\.value) ?? []) + (details?.value.map { [$0] } ?? [])
        for incident in fetched where incident.updatedAt >= answers[incident.id]?.updatedAt ?? .max {
            // A row of the list may be older than the details of the same incident.
            if opened == nil || incident.id != opened || incident == details?.value { answers[incident.id] = nil }
        }
        keepSelection()
    }

    mutating func keep(_ changes: [ActionChange]) {
        for change in changes {
            switch change {
            case .persist(let action): pending[action.id] = action.value
            case .delete(_, let id): pending[id] = nil
            case .show: break
            }
        }
    }

    private mutating func keepSelection() {
        if selected.map({ known($0) == nil }) ?? true { selected = rows.first?.incident.id }
    }
}

// MARK: - Keys

extension Board {
    mutating func press(_ key: Key) -> Command? {
        if note != nil { return write(key) }
        message = ""
        switch key {
        case .text("q"), .interrupt, .endOfInput: return .quit
        case .previous, .text("k"): move(-1)
        case .next, .text("j"): move(1)
        case .home, .text("g"): if opened == nil { selected = rows.first?.incident.id } else { scroll = 0 }
        case .end, .text("G"): if opened == nil { selected = rows.last?.incident.id }
        case .enter, .right:
            guard opened == nil, let selected else { return nil }
            (opened, scroll, details) = (selected, 0, nil)
            return .open(selected)
        case .left, .backspace, .text("b"):
            guard opened != nil else { return nil }
            (opened, scroll, details) = (nil, 0, nil)
            return .close
        case .text("a"): return give("acknowledged", from: ["triggered"])
        case .text("r"): return give("resolved", from: ["triggered", "acknowledged"])
        case .text("n"): if openedRow != nil { note = "" }
        case .text("u"):
            message = "Everything is asked for again."
            return .refresh
        default: break
        }
        return nil
    }

    private mutating func write(_ key: Key) -> Command? {
        guard var text = note else { return nil }
        switch key {
        case .text(let scalar): text.unicodeScalars.append(scalar)
        case .backspace: text = String(text.dropLast())
        case .killToStart, .killWordBack: text = ""
        case .interrupt, .endOfInput:
            note = nil
            return nil
        case .enter:
            note = nil
            guard let opened, !text.isEmpty else { return nil }
            message = "The note is being added."
            return .addNote(opened, text)
        default: return nil
        }
        if text.count <= Self.maximumNoteCharacters { note = text }
        return nil
    }

    /// Restores the text of a note that was not added, so that the user need not write it again.
    mutating func giveBack(_ text: String, of id: String) { if opened == id, note == nil { note = text } }

    private mutating func move(_ step: Int) {
        guard opened == nil else {
            scroll = max(0, scroll + step)
            return
        }
        let rows = rows
        guard let index = rows.firstIndex(where: { $0.incident.id == selected }) else { return }
        selected = rows[min(max(index + step, 0), rows.count - 1)].incident.id
    }

    private mutating func give(_ status: String, from statuses: Set<String>) -> Command? {
        let row = opened == nil ? selected.flatMap(known) : openedRow
        guard let row else { return nil }
        guard statuses.contains(row.status) else {
            message = "\(row.incident.id) is \(row.status) already."
            return nil
        }
        return .set(row.incident.id, to: status, before: row.status)
    }
}
