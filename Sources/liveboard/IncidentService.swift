import Fetching
import Foundation

/// Why the API gave nothing.
enum ServiceFault: Error, Equatable {
    case status(Int)
    /// No answer, or none that can be read.
    case unreachable(String)

    var explanation: String {
        switch self {
        case .status(404), .status(410): "it is gone"
        case .status(409): "it is resolved"
        case .status(let status): "status \(status)"
        case .unreachable(let why): why
        }
    }

    /// Why an incident is not there for this account, where that is the answer; nil: it may be asked for again.
    var absence: String? {
        switch self {
        case .status(404), .status(410): "is gone"
        case .status(403): "may not be seen any more"
        case .status, .unreachable: nil
        }
    }
}

/// Where incidents come from.
protocol IncidentSource: Sendable {
    func list() async throws(ServiceFault) -> [Incident]
    func details(_ id: String) async throws(ServiceFault) -> Incident
    /// Done once however often it is asked for with this key.
    func act(_ id: String, verb: String, key: String) async throws(ServiceFault) -> Incident
}

/// The demo's API, and who we are there: the address that `livegate demo` prints tells the token and the gateway.
actor IncidentService: IncidentSource {
    struct Session: Codable, Sendable {
        let account: String
        let token: String
        let gateway: String
    }

    private struct Page: Codable {
        let incidents: [Incident]
    }

    private static let maximumBytes = 1 << 20
    private static let timeoutMilliseconds = 15_000

    private let base: String
    private let fetcher: Fetcher
    private var session: Session?

    /// - Parameter base: `http://127.0.0.1:8081`, without a slash at its end.
    init(base: String) throws {
        self.base = base
        fetcher = try Fetcher()
    }

    /// A token for the next connection: a demo that was started again has another one.
    func renewedSession() async throws(ServiceFault) -> Session {
        let session: Session = try await ask("/session")
        self.session = session
        return session
    }

    func list() async throws(ServiceFault) -> [Incident] {
        let page: Page = try await askAs("/api/incidents?limit=\(Board.maximumIncidents)")
        return page.incidents
    }

    func details(_ id: String) async throws(ServiceFault) -> Incident { try await askAs("/api/incidents/\(id)") }

    func act(_ id: String, verb: String, key: String) async throws(ServiceFault) -> Incident {
        try await askAs("/api/incidents/\(id)/\(verb)", key: key)
    }

    /// With the token; with a new one, once, where it is refused.
    private func askAs<Answer: Decodable>(_ path: String, key: String? = nil) async throws(ServiceFault) -> Answer {
        var current: Session
        if let session { current = session } else { current = try await renewedSession() }
        do throws(ServiceFault) {
            return try await ask(path, token: current.token, key: key)
        } catch {
            guard error == .status(401) else { throw error }
            current = try await renewedSession()
            return try await ask(path, token: current.token, key: key)
        }
    }

    /// With a key it is a POST.
    private func ask<Answer: Decodable>(
        _ path: String, token: String? = nil, key: String? = nil
    ) async throws(ServiceFault) -> Answer {
        var request = FetchRequest(
            url: base + path, maximumBytes: Self.maximumBytes, timeoutMilliseconds: Self.timeoutMilliseconds)
        if let token { request.headers.append("Authorization: Bearer \(token)") }
        if let key {
            request.headers.append("Idempotency-Key: \(key)")
            request.body = []
        }
        let sent = request
        let result = await withCheckedContinuation { continuation in
            fetcher.fetch(sent) { continuation.resume(returning: $0) }
        }
        switch result {
        case .success(let bytes):
            guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(bytes)) else {
                throw .unreachable("an answer that cannot be read")
            }
            return answer
        case .failure(.status(let status)): throw .status(status)
        case .failure(let error): throw .unreachable("\(error)")
        }
    }
}
