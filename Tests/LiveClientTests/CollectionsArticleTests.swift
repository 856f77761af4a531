// Tests: LiveCollection.swift, LiveSession.swift
import Foundation
import LiveCollections
import TestHarness
import Testing

@testable import LiveClient

/// The code of the article about collections is what its readers see, and it does what the article says.
@MainActor @Suite(.timeLimit(.minutes(5))) struct CollectionsArticleTests {
    @Test func `the article has the code that is compiled, and no more lines than it promises`() throws {
        let blocks = try Article("Collections.md").blocks
        try Article.expect(blocks, areCompiledIn: "Collections.swift")
        let lines = blocks.map { $0.code.filter { !$0.isEmpty }.count }
        #expect(lines.count == 3)
        #expect(lines[0] + lines[1] <= 40 && lines.reduce(0, +) <= 80, "\(lines)")
    }

    /// A server's things as tickets: `A` is number 65. Each acknowledgement is another version.
    private nonisolated static func ticket(_ id: String, _ version: Int) -> Ticket {
        Ticket(
            id: id, number: Int(id.utf8.first ?? 0), title: "version \(version)", isAcknowledged: version > 1)
    }

    private nonisolated static func api(_ server: ModelServer, _ broken: Shared<String?>) -> TicketAPI {
        TicketAPI { method, path in
            let words = path.split(separator: "/").map(String.init)
            if words == ["tickets"] {
                return (200, try JSONEncoder().encode(try await server.list().map { ticket($0.key, $0.value) }))
            }
            if method == "POST" { await server.change(.update) }
            if method == "GET", words[1] == broken.value { return (422, Data()) }
            guard let version = try await server.version(of: words[1]) else { return (404, Data()) }
            return (200, try JSONEncoder().encode(ticket(words[1], version)))
        }
    }

    @Test func `list, details and action do what they say, and the next start has them at once`() async throws {
        let (folder, server) = (SessionFolder(), ModelServer(entity: "ticket"))
        let broken = Shared<String?>(nil)
        let session = try await folder.session(server)
        let tickets = Tickets(in: session, api: Self.api(server, broken))
        let running = Task { await session.run() }
        try await until("the newest first") { tickets.list.elements.map(\.id) == ["B", "A"] && !tickets.list.isOld }
        let details = TicketDetails(tickets: tickets, id: "A")
        #expect(details.ticket?.isAcknowledged == false)
        try await details.acknowledge()
        try await until("it is acknowledged") { details.ticket?.isAcknowledged == true }
        await server.change(.delete)
        try await until("B is gone") { tickets.list.elements.map(\.id) == ["A"] }
        broken.update { $0 = "A" }
        await server.change(.update)
        try await until("a sign on this one") { details.isOld && tickets.list.failures.keys.contains("A") }
        broken.update { $0 = nil }
        await details.appeared()
        try await until("its newest version") { details.ticket?.title == "version 3" && !details.isOld }
        await session.close()
        await running.value
        // Without a network, and with an API that does not answer.
        let shown = Shared<Tickets?>(nil)
        let following = Task {
            let offline = TicketAPI { _, _ in throw RequestError(status: nil) }
            let configuration = LiveClientConfiguration(url: SessionFolder.url)
            let token: @Sendable (TokenQuestion) async throws -> String = { _ in "t" }
            try await followTickets(
                of: "PACC1", configuration, api: offline, folder: folder.folder.path, token: token
            ) { _, tickets in
                shown.update { $0 = tickets }
            }
        }
        try await until("what is stored, and a sign") {
            shown.value?.list.elements.map(\.title) == ["version 3"] && shown.value?.list.isOld == true
        }
        following.cancel()
        try await following.value
    }
}
