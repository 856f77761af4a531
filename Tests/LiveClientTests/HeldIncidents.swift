import LiveClient
import Synchronization

/// Incidents of a server, which a test changes; a fetch or page can be held until it is released.
final class HeldIncidents: ScreensAPI {
    struct Incident: Sendable, Equatable {
        var rank: Int64
        var title: String
    }

    struct State {
        var incidents: [String: Incident] = [:]
        var isHolding = false
        var held: [CheckedContinuation<Void, any Error>] = []
        var failure: RequestFailure?
        var reloads = 0
        /// Things that cannot be fetched by themselves.
        var failing: Set<String> = []
        var cancelled = 0
    }

    let state = Mutex(State())

    init(_ count: Int) {
        state.withLock { state in
            for rank in 1...count { state.incidents["I\(rank)"] = Incident(rank: Int64(rank), title: "title \(rank)") }
        }
    }

    func set(_ id: String, _ rank: Int64?, _ title: String = "") {
        state.withLock { $0.incidents[id] = rank.map { Incident(rank: $0, title: title) } }
    }

    func hold() { state.withLock { $0.isHolding = true } }

    func release() {
        let held = state.withLock { state in
            state.isHolding = false
            defer { state.held = [] }
            return state.held
        }
        for waiting in held { waiting.resume() }
    }

    private func wait() async throws {
        if let failure = state.withLock({ $0.failure }) { throw failure }
        guard state.withLock({ $0.isHolding }) else { return }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiting in
                let isHolding = state.withLock { state in
                    if state.isHolding { state.held.append(waiting) }
                    return state.isHolding
                }
                if !isHolding { waiting.resume() }
            }
        } onCancel: {
            state.withLock { $0.cancelled += 1 }
        }
    }

    func reload(_ thing: Thing) async throws -> FoundThing<Incident> {
        let (found, isFailing) = state.withLock { state in
            state.reloads += 1
            return (state.incidents[thing.id], state.failing.contains(thing.id))
        }
        if isFailing { throw RequestError(status: 503) }
        try await wait()
        return found.map { .value($0) } ?? .gone
    }

    func page(of list: String, _ request: PageRequest) async throws -> ListPage<Incident> {
        let all = state.withLock { $0.incidents }.map { ($0.key, ListKey(rank: $0.value.rank, text: ""), $0.value) }
            .filter { item in
                let end = ListEnd.at(key: item.1)
                return end > request.from || (request.isInclusive && end == request.from)
            }.sorted { $0.1 < $1.1 }
        try await wait()
        let items = all.prefix(request.limit).map { ListPage<Incident>.Item(id: $0.0, key: $0.1, value: $0.2) }
        return ListPage(items: Array(items), isLast: all.count <= request.limit)
    }
}
