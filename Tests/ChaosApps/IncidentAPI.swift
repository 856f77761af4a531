import Fetching
import Foundation
import LiveClient
import LiveState

/// An incident as the harness's API gives it.
struct Incident: Codable, Equatable, Sendable {
    let id: String
    /// The newest has the highest.
    let number: Int64
    /// The last mark that somebody gave it.
    let mark: String
    /// Counts each of its changes.
    let version: Int64

    /// The newest first.
    var key: ListKey { ListKey(rank: -number, text: id) }
}

/// The harness's API, as one account asks it.
struct IncidentAPI: Sendable {
    private struct Page: Codable {
        let incidents: [Incident]
        let more: Bool
    }

    private struct Results: Codable {
        let results: [ActionResult]
    }

    /// More than an account has.
    private static let maximumIncidents = 1_000
    private static let maximumBytes = 1 << 20
    /// Longer than the API is ever paused.
    private static let timeoutMilliseconds = 15_000

    let base: String
    let account: String
    let fetcher: Fetcher

    func all() async throws -> [Incident] {
        let page: Page = try await ask("/incidents?limit=\(Self.maximumIncidents)")
        return page.incidents
    }

    func incident(_ id: String) async throws -> Incident { try await ask("/incidents/\(id)") }

    /// Does each action once, however often it comes with its key.
    func apply(_ actions: [DeferredAction]) async throws -> [ActionResult] {
        let answer: Results = try await ask("/actions", body: Array(JSONEncoder().encode(["actions": actions])))
        return answer.results
    }

    private func ask<Answer: Decodable>(_ path: String, body: [UInt8]? = nil) async throws -> Answer {
        let headers = ["Authorization: Bearer token-\(account)", "Content-Type: application/json"]
        let request = FetchRequest(
            url: base + path, headers: headers, body: body, maximumBytes: Self.maximumBytes,
            timeoutMilliseconds: Self.timeoutMilliseconds)
        let result = await withCheckedContinuation { answer in
            fetcher.fetch(request) { answer.resume(returning: $0) }
        }
        switch result {
        case .success(let bytes): return try JSONDecoder().decode(Answer.self, from: Data(bytes))
        case .failure(.status(let status)): throw RequestError(status: status)
        case .failure: throw RequestError(status: nil)
        }
    }
}

extension IncidentAPI: ScreensAPI {
    func reload(_ thing: Thing) async throws -> FoundThing<Incident> { .value(try await incident(thing.id)) }

    func page(of list: String, _ request: PageRequest) async throws -> ListPage<Incident> {
        var path = "/incidents?limit=\(request.limit)&direction=\(request.direction.rawValue)"
        if case .at(let key) = request.from { path += "&from=\(-key.rank)&inclusive=\(request.isInclusive ? 1 : 0)" }
        let page: Page = try await ask(path)
        let items = page.incidents.map { ListPage<Incident>.Item(id: $0.id, key: $0.key, value: $0) }
        return ListPage(items: items, isLast: !page.more)
    }
}
