import HTTP
import LiveUpdates

/// The ordinary API beside the gateway: lists and details of incidents, and what people do to them.
///
/// Pure: from a request and a moment it makes an answer and what is to be published. It keeps one ``IncidentBook`` and one
/// ``AnsweredRequests`` for each account, and has no accounts but those of its start.
struct IncidentAPI: Sendable {
    static let prefix = "/api/incidents"
    /// Incidents of a page without a limit in the request.
    static let defaultLimit = 25
    /// In UTF-8; enough for some lines.
    static let maximumNoteBytes = 1_000
    static let maximumIDBytes = 64

    private(set) var books: [String: IncidentBook]
    private var answered: [String: AnsweredRequests]
    private var numbers: FeedNumbers

    init(accounts: [String], seed: UInt64) {
        books = Dictionary(uniqueKeysWithValues: accounts.map { ($0, IncidentBook()) })
        answered = Dictionary(uniqueKeysWithValues: accounts.map { ($0, AnsweredRequests()) })
        numbers = FeedNumbers(seed: seed)
    }

    /// Returns what is to be published of a step of the story.
    mutating func follow(_ change: FeedChange, of account: String, at moment: Int64) -> [FeedChange] {
        books[account]?.follow(change, at: moment) ?? []
    }

    /// Answers a request of an account, and returns what is to be published.
    mutating func answer(
        _ request: AdminRequest, account: String, person: String, at moment: Int64
    ) -> (AdminAnswer, [FeedChange]) {
        do throws(APIProblem) {
            let path = request.head.path
            guard path.hasPrefix(Self.prefix) else { throw .nothingThere }
            let parts = path.utf8.dropFirst(Self.prefix.utf8.count).split(
                separator: UInt8(ascii: "/"), omittingEmptySubsequences: false
            ).dropFirst().map { String(Substring($0)) }
            guard path.utf8.count == Self.prefix.utf8.count || path.utf8.dropFirst(Self.prefix.utf8.count).first == 0x2F
            else { throw .nothingThere }
            switch (parts.count, request.method) {
            case (0, "GET"): return (try list(request, account), [])
            case (1, "GET"): return (try details(request, account, id: parts[0]), [])
            case (2, "POST"):
                return try perform(request, account, id: parts[0], verb: parts[1], by: person, at: moment)
            case (0, _), (1, _): throw .method(allow: "GET, HEAD")
            case (2, _): throw .method(allow: "POST")
            default: throw .nothingThere
            }
        } catch {
            return (error.answer, [])
        }
    }

    // MARK: - Reading

    private func list(_ request: AdminRequest, _ account: String) throws(APIProblem) -> AdminAnswer {
        let order: IncidentBook.Order
        switch try request.word("order") {
        case nil: order = .newest
        case let text?:
            guard let known = IncidentBook.Order(rawValue: text) else {
                throw .badParameter("order is neither newest nor oldest.")
            }
            order = known
        }
        let statuses: Set<Incident.Status>
        switch try request.word("status") {
        case nil, "all": statuses = [.triggered, .acknowledged, .resolved]
        case "open": statuses = [.triggered, .acknowledged]
        case "resolved": statuses = [.resolved]
        default: throw .badParameter("status is none of open, resolved and all.")
        }
        let limit: Int
        do throws(AdminRefusal) {
            limit = try request.number("limit", in: 1...IncidentBook.maximumIncidents) ?? Self.defaultLimit
        } catch {
            throw .badParameter(error.sentence)
        }
        let from = try request.word("from")
        do throws(IncidentBook.Fault) {
            let page = try book(account).page(order, from: from, statuses: statuses, limit: limit)
            let json = JSONValue.members([
                "incidents": .array(page.incidents.map { .object($0.summary) }), "more": .truth(page.more),
            ])
            return Self.tagged(json, for: request)
        } catch {
            throw .nothingThere
        }
    }

    private func details(_ request: AdminRequest, _ account: String, id: String) throws(APIProblem) -> AdminAnswer {
        guard let incident = book(account)[id] else { throw .nothingThere }
        return Self.tagged(.object(incident.details), for: request)
    }

    private func book(_ account: String) -> IncidentBook { books[account] ?? IncidentBook() }

    private static func tagged(_ json: JSONValue, for request: AdminRequest) -> AdminAnswer {
        AdminAnswer.tagged(json.line, AdminAnswer.json, for: request, caching: "private, no-cache")
    }

    // MARK: - Doing

    private mutating func perform(
        _ request: AdminRequest, _ account: String, id: String, verb: String, by person: String, at moment: Int64
    ) throws(APIProblem) -> (AdminAnswer, [FeedChange]) {
        let action = try IncidentAction(verb, body: request.body)
        let key = try Self.idempotencyKey(request)
        if let key {
            switch answered[account]?.answer(to: key, request) {
            case .same(let answer): return (answer.replayed, [])
            case .another: throw .keyOfAnother
            case nil: break
            }
        }
        let (answer, changes) = carryOut(action, account, id: id, by: person, at: moment)
        if let key { answered[account]?.keep(answer, to: key, request) }
        return (answer, changes)
    }

    private mutating func carryOut(
        _ action: IncidentAction, _ account: String, id: String, by person: String, at moment: Int64
    ) -> (AdminAnswer, [FeedChange]) {
        var book = book(account)
        do throws(IncidentBook.Fault) {
            let changes = try book.perform(action, on: id, by: person, at: moment, noteID: numbers.identifier())
            books[account] = book
            guard let incident = book[id] else { return (APIProblem.nothingThere.answer, []) }
            return (AdminAnswer(.object(incident.details)), changes)
        } catch {
            return (error == .notFound ? APIProblem.nothingThere.answer : APIProblem.resolved.answer, [])
        }
    }

    private static func idempotencyKey(_ request: AdminRequest) throws(APIProblem) -> String? {
        guard request.head.headers.contains("idempotency-key") else { return nil }
        guard let value = request.head.headers.only("idempotency-key"),
            let text = String(validating: value, as: UTF8.self), !text.isEmpty,
            text.utf8.count <= AnsweredRequests.maximumKeyBytes
        else {
            throw .badParameter("Idempotency-Key is empty, over \(AnsweredRequests.maximumKeyBytes) bytes or doubled.")
        }
        return text
    }
}

extension IncidentAction {
    /// - Parameter body: `{"content":"…"}` of a note; the body of other actions is not read.
    fileprivate init(_ verb: String, body: [UInt8]) throws(APIProblem) {
        switch verb {
        case "acknowledge": self = .acknowledge
        case "resolve": self = .resolve
        case "notes":
            let limits = JSONLimits(maximumBytes: AdminRequestReader.maximumBodyBytes, maximumDepth: 8)
            guard let content = try? JSONDocument(body, limits: limits).root.member("content")?.string,
                !content.isEmpty, content.utf8.count <= IncidentAPI.maximumNoteBytes
            else {
                throw .badParameter(
                    "The body is no {\"content\":\"…\"} of 1 to \(IncidentAPI.maximumNoteBytes) bytes of text.")
            }
            self = .note(content)
        default: throw .nothingThere
        }
    }
}

extension AdminRequest {
    /// A parameter, or nil.
    fileprivate func word(_ name: String) throws(APIProblem) -> String? {
        do throws(AdminRefusal) { return try text(name) } catch { throw .badParameter(error.sentence) }
    }
}

extension AdminRefusal {
    fileprivate var sentence: String {
        if case .badParameter(let why) = self { return why }
        return "The request cannot be read."
    }
}

extension Incident {
    /// As a list has it.
    var summary: [JSONValue.Member] {
        let members: KeyValuePairs<String, JSONValue> = [
            "id": .text(id), "number": .integer(number), "title": .text(title), "status": .text(status.rawValue),
            "urgency": .text(urgency), "priority": .optional(priority, JSONValue.text),
            "assignee": .optional(assignee, JSONValue.text), "updated_at": .integer(updatedAt),
        ]
        return members.map { JSONValue.Member(name: $0.key, value: $0.value) }
    }

    /// The summary, and what only a details view needs.
    var details: [JSONValue.Member] {
        let notes = notes.map { note in
            JSONValue.members([
                "id": .text(note.id), "content": .text(note.content), "author": .text(note.author),
                "created_at": .integer(note.createdAt),
            ])
        }
        return summary
            + [
                JSONValue.Member(name: "escalation_level", value: .text(escalationLevel)),
                JSONValue.Member(name: "created_at", value: .integer(createdAt)),
                JSONValue.Member(name: "notes", value: .array(notes)),
            ]
    }
}
