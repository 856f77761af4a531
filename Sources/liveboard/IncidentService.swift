import Fetching
import Foundation
import LiveClient

/// The demo's API, and our account there: the address that `livegate demo` prints returns the token and the gateway.
///
/// A failure throws a `RequestError`.
actor IncidentService {
    struct Session: Codable, Equatable, Sendable {
        let account: String
        let token: String
        var gateway: String
    }

    /// A part of the list, and whether there is more after it.
    struct Page: Codable, Sendable {
        var incidents: [Incident]
        var more: Bool
    }

    private static let maximumBytes = 1 << 20
    private static let timeoutMilliseconds = 15_000

    /// `http://127.0.0.1:8081`, without a slash at its end.
    nonisolated let base: String
    /// The gateway to use in place of the session's.
    private let gateway: String?
    private let fetcher: Fetcher
    private var session: Session?
    /// The only account that is accepted, because the known state belongs to it.
    private var account: String?

    init(base: String, gateway: String? = nil) throws {
        self.base = base
        self.gateway = gateway
        fetcher = try Fetcher()
    }

    /// Accepts only this account from now on. Without this call, the first account is accepted.
    func expect(_ account: String) { self.account = account }

    /// Gets a token for the next connection, because a restarted demo has another one.
    ///
    /// - Throws: what the request throws, and a 401 if the session belongs to another account.
    @discardableResult func enter() async throws -> Session {
        var session: Session = try await ask("/session")
        session.gateway = gateway ?? session.gateway
        account = account ?? session.account
        guard session.account == account else { throw RequestError(status: 401) }
        self.session = session
        return session
    }

    /// The newest incidents, or those after the one with this id.
    func list(from: String? = nil, limit: Int) async throws -> Page {
        try await askAs("/api/incidents?limit=\(limit)" + (from.map { "&from=\($0)" } ?? ""))
    }

    func details(_ id: String) async throws -> Incident { try await askAs("/api/incidents/\(id)") }

    /// Returns the incident after the action. A second request with the same key changes nothing.
    func act(_ id: String, verb: String, key: String, content: String? = nil) async throws -> Incident {
        let body = try content.map { Array(try JSONEncoder().encode(["content": $0])) } ?? []
        return try await askAs("/api/incidents/\(id)/\(verb)", key: key, body: body)
    }

    /// Asks with the token. If it is refused and there is a new one, asks once more.
    private func askAs<Answer: Decodable>(
        _ path: String, key: String? = nil, body: [UInt8]? = nil
    ) async throws -> Answer {
        let token = try await known().token
        do {
            return try await ask(path, token: token, key: key, body: body)
        } catch let error as RequestError where error.status == 401 {
            if session?.token == token { try await enter() }
            let renewed = try await known().token
            guard renewed != token else { throw error }
            return try await ask(path, token: renewed, key: key, body: body)
        }
    }

    private func known() async throws -> Session {
        if let session { return session }
        return try await enter()
    }

    /// With a body, the request is a POST.
    private func ask<Answer: Decodable>(
        _ path: String, token: String? = nil, key: String? = nil, body: [UInt8]? = nil
    ) async throws -> Answer {
        var request = FetchRequest(
            url: base + path, maximumBytes: Self.maximumBytes, timeoutMilliseconds: Self.timeoutMilliseconds)
        if let token { request.headers.append("Authorization: Bearer \(token)") }
        if let key { request.headers.append("Idempotency-Key: \(key)") }
        request.body = body
        let sent = request
        let result = await withCheckedContinuation { continuation in
            fetcher.fetch(sent) { continuation.resume(returning: $0) }
        }
        switch result {
        case .success(let bytes):
            guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(bytes)) else {
                throw RequestError(status: nil)
            }
            return answer
        case .failure(.status(let status)): throw RequestError(status: status)
        case .failure: throw RequestError(status: nil)
        }
    }
}

/// The list and the details, as the screens ask for them.
extension IncidentService: ScreensAPI {
    func reload(_ thing: Thing) async throws -> FoundThing<Incident> { .value(try await details(thing.id)) }

    func page(of list: String, _ request: PageRequest) async throws -> ListPage<Incident> {
        let found = try await behind(request)
        let items = found.incidents.prefix(request.limit).map { incident in
            ListPage<Incident>.Item(id: incident.id, key: incident.key, value: incident)
        }
        return ListPage(items: items, isLast: !found.more && items.count == found.incidents.count)
    }

    private func behind(_ request: PageRequest) async throws -> Page {
        guard case .at(let key) = request.from else { return try await list(limit: request.limit) }
        do {
            if !request.isInclusive { return try await list(from: key.text, limit: request.limit) }
        } catch let error as RequestError where error.status == 404 {}
        // The API pages from an incident only while that exists.
        var all = try await list(limit: IncidentArea.maximumIncidents)
        all.incidents.removeAll { $0.key < key || !request.isInclusive && $0.key == key }
        return all
    }
}

extension RequestError {
    /// Why something was not done, as text for people.
    var explanation: String {
        switch status {
        case nil: "the server cannot be reached"
        case 401?: "the token is refused"
        case 404?, 410?: "it is gone"
        case 409?: "somebody has resolved it"
        case let status?: "status \(status)"
        }
    }
}
