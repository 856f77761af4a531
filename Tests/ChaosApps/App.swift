import LiveClient
import LiveState
import Synchronization

/// An app, and its user, who looks at this and that, marks incidents, loses the network, and ends the app and starts it again.
actor App {
    /// What a user does next; written as often as it is likely.
    private enum Deed: CaseIterable {
        case nothing, look, look2, mark, mark2, refresh, background, offline, restart
    }

    private let name: String
    private let api: IncidentAPI
    private let live: String
    private let file: String
    private var session: Session?
    private var opened: String?
    private var taken: [Report.Taken] = []
    private let told = Told()
    private var marks = 0
    private var isStopping = false
    private var isCalm = false
    private var random: Jitter

    init(_ name: String, _ api: IncidentAPI, live: String, folder: String, seed: UInt32) {
        self.name = name
        self.api = api
        self.live = live
        file = "\(folder)/\(name).db"
        random = Jitter(seed: seed)
    }

    func run() async throws {
        try await open()
        while !isStopping {
            try await Task.sleep(for: .milliseconds(random.milliseconds(1_000, 8_000)))
            if !isStopping { try await act() }
        }
        isCalm = true
    }

    func calm() { isStopping = true }

    private func open() async throws {
        let session = try await Session.open(api, live: live, file: file) { [told] in told.add($0) }
        let kept = Set(await session.actions.pending.map(\.value))
        for index in taken.indices where !kept.contains(taken[index].value) { taken[index].isUntold = true }
        if let opened { await session.open(opened) }
        self.session = session
    }

    private func act() async throws {
        guard let session else { return }
        switch Deed.allCases[Int(random.next()) % Deed.allCases.count] {
        case .nothing: break
        case .look, .look2:
            guard let incident = choose() else { break }
            opened = incident.id
            await session.open(incident.id)
        case .mark, .mark2: try await mark()
        case .refresh: await session.machine.refresh()
        case .background:
            await session.setForeground(false)
            try await wait()
            await session.setForeground(true)
        case .offline:
            await session.setNetwork(false)
            try await mark()
            try await wait()
            await session.setNetwork(true)
        case .restart:
            await session.close()
            try await open()
        }
    }

    private func wait() async throws { try await Task.sleep(for: .milliseconds(random.milliseconds(500, 3_000))) }

    /// One of those that the list shows.
    private func choose() -> Incident? {
        let values = session?.now.list?.items.prefix(Session.listed).compactMap(\.value) ?? []
        return values.isEmpty ? nil : values[Int(random.next()) % values.count]
    }

    private func mark() async throws {
        guard let session, let incident = choose() else { return }
        marks += 1
        let value = "\(name)#\(marks)"
        let before = await session.row(incident).mark
        try await session.actions.set(Session.kind, incident.id, to: value, from: before)
        taken.append(Report.Taken(id: incident.id, value: value))
    }

    func report() async -> Report {
        var (stored, pending, state): ([Row], [String], String) = ([], [], "not open")
        if let session {
            stored = (try? await session.store.transaction { try IncidentArea.stored(in: $0) }) ?? []
            pending = await session.actions.pending.map(\.value)
            state = await "\(session.machine.view.state), \(session.client.state), \(session.machine.view.freshness)"
        }
        return Report(
            name: name, account: api.account, isCalm: isCalm, list: await list(), details: await details(),
            stored: stored, pending: pending, taken: taken, told: told.all, state: state)
    }

    private func list() async -> Report.List? {
        guard let session, let list = session.now.list else { return nil }
        let top = list.complete.first { $0.lower == .beginning }
        var rows: [Row] = []
        for item in list.items where top?.upper ?? .beginning >= .at(key: item.key) {
            guard let incident = item.value else { continue }
            rows.append(await session.row(incident))
        }
        return Report.List(rows: rows, isKnown: top != nil && list.knowledge == .known && !list.isLoading)
    }

    private func details() async -> Report.Details? {
        guard let session, let opened else { return nil }
        guard let details = session.now.details, details.thing.id == opened else {
            return Report.Details(id: opened, row: nil, isKnown: false)
        }
        var row: Row?
        if let incident = details.value { row = await session.row(incident) }
        // A thing that is gone has no knowledge, as one that was never asked for: which of them it is, its row tells.
        let isKnown = details.knowledge == .known || (details.knowledge == .unknown && details.failure == nil)
        return Report.Details(id: details.thing.id, row: row, isKnown: isKnown)
    }
}

/// What the SDK has told of actions.
private final class Told: Sendable {
    private let news = Mutex<[Report.Told]>([])

    var all: [Report.Told] { news.withLock { $0 } }

    func add(_ news: ActionNews) {
        let told: Report.Told =
            switch news {
            case .rejected(let action, let status, _): Report.Told(value: action.value, status: status)
            // Neither may happen here: nothing is kept for so long, and each token is good.
            case .expired(let action): Report.Told(value: action.value, status: 0)
            case .unauthorized: Report.Told(value: "", status: 401)
            }
        self.news.withLock { $0.append(told) }
    }
}
