// The code of Collections.md in LiveClient.docc, block by block; CollectionsArticleTests.swift compares the two and runs it.

import Foundation
import LiveClient
import LiveCollections

nonisolated struct Ticket: Codable, Equatable, Identifiable, Sendable {
    var id: String
    var number: Int
    var title: String
    var isAcknowledged: Bool
}

/// The app's ordinary API. `send` is its HTTP client, with the access token; it throws when there is no answer.
nonisolated struct TicketAPI: Sendable {
    var send: @Sendable (_ method: String, _ path: String) async throws -> (status: Int, body: Data)

    func ask<Value: Decodable>(_ method: String, _ path: String) async throws -> Value {
        let (status, body) = try await send(method, path)
        guard (200..<300).contains(status) else { throw RequestError(status: status) }
        return try JSONDecoder().decode(Value.self, from: body)
    }
}

/// The tickets of one account, the newest first.
@MainActor struct Tickets {
    let api: TicketAPI
    let list: LiveCollection<Ticket>

    init(in session: LiveSession, api: TicketAPI) {
        self.api = api
        list = LiveCollection(
            "ticket", in: session, sortedBy: { $0.number > $1.number },
            snapshot: { try await api.ask("GET", "/tickets") },
            reload: { id in try await api.ask("GET", "/tickets/\(id)") })
    }
}

/// Shows what is stored of an account, and keeps it live until the task is cancelled.
@MainActor func followTickets(
    of account: String, _ configuration: LiveClientConfiguration, api: TicketAPI, folder: String,
    token: @escaping @Sendable (TokenQuestion) async throws -> String, show: (LiveSession, Tickets) -> Void
) async throws {
    let session = try await LiveSession.open(configuration, account: account, folder: folder, token: token)
    show(session, Tickets(in: session, api: api))
    await session.run()
}

/// The screen of one ticket.
@MainActor struct TicketDetails {
    let tickets: Tickets
    let id: Ticket.ID

    /// Nil: it is gone, or was never there.
    var ticket: Ticket? { tickets.list[id] }

    /// Whether to say that what is shown may be old: all of it, or just this ticket.
    var isOld: Bool { tickets.list.isOld || tickets.list.failures[id] != nil }

    /// Call it when the screen appears: a ticket that could not be fetched is fetched again.
    func appeared() async { await tickets.list.check(id) }

    /// The server answers with the ticket as it is then, and that is shown at once.
    func acknowledge() async throws {
        let (api, id) = (tickets.api, id)
        try await tickets.list.perform { try await api.ask("POST", "/tickets/\(id)/acknowledge") }
    }
}
