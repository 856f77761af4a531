// Tests: ClientFeed.swift
import Testing

@testable import LiveClient
@testable import LiveClientReactor

struct ClientFeedTests {
    private typealias Client = `The client of an application`

    private static func client(_ server: ScriptedServer) throws -> LiveClient {
        try LiveClient(LiveClientConfiguration(url: "ws://127.0.0.1:\(server.port)/live/v1")) { "t" }
    }

    /// So many updates of a reader, in their order.
    private static func updates(_ count: Int, _ reader: LiveFeedReader) async throws -> [LiveUpdate] {
        var updates: [LiveUpdate] = []
        while updates.count < count, let update = try await reader.next() { updates.append(update) }
        return updates
    }

    @Test func `who reads alone begins the stream, and others join it without a gap`() async throws {
        let server = try ScriptedServer([
            .awaitHead, .upgrade(), Client.frame(#"{"ent":"a","id":"b","type":"c","at":"x"}"#),
            Client.frame(#"{"live":{"at":"y"}}"#), .silence,
        ])
        let client = try Self.client(server)
        let feed = ClientFeed(client)
        let first = feed.read(from: LiveCursor("F"))
        let event = LiveEvent(entity: "a", id: "b", type: "c", cursor: LiveCursor("x"))
        #expect(try await Self.updates(3, first) == [.connected, .event(event), .live(LiveCursor("y"))])
        #expect(String(decoding: server.received[0], as: UTF8.self).contains("since=F"))
        // A fresh finger is the stream's own cursor: no other request is made.
        #expect(try await feed.sync(since: nil) == .page([], at: LiveCursor("y"), more: false))
        let here = feed.read(from: LiveCursor("y"))
        #expect(try await Self.updates(2, here) == [.connected, .live(LiveCursor("y"))])
        // Whether another cursor is older or newer, nobody can say.
        let elsewhere = feed.read(from: LiveCursor("G"))
        #expect(
            try await Self.updates(3, elsewhere) == [
                .connected, .resync(.start, LiveCursor("y")), .live(LiveCursor("y")),
            ])
        #expect(server.received.count == 1)
        withExtendedLifetime((first, here, elsewhere)) {}
        await client.close()
    }

    @Test func `who joins a stream that is not open yet is told where it begins`() async throws {
        let server = try ScriptedServer([
            .awaitHead, .upgrade(), Client.frame(#"{"live":{"at":"y"}}"#), .silence,
        ])
        let client = try Self.client(server)
        let feed = ClientFeed(client)
        client.enterBackground()
        let first = feed.read(from: LiveCursor("F"))
        let same = feed.read(from: LiveCursor("F"))
        let other = feed.read(from: LiveCursor("G"))
        client.enterForeground()
        for reader in [first, same] {
            #expect(try await Self.updates(2, reader) == [.connected, .live(LiveCursor("y"))])
        }
        #expect(
            try await Self.updates(3, other) == [
                .resync(.start, LiveCursor("F")), .connected, .live(LiveCursor("y")),
            ])
        await client.close()
    }

    @Test func `who joins a stream is told what it has said only once`() async throws {
        let server = try ScriptedServer([
            .awaitHead, .upgrade(), Client.frame(#"{"live":{"at":"y"}}"#),
            Client.frame(#"{"source":{"state":"stalled","ts":7}}"#), .silence,
        ])
        let client = try Self.client(server)
        let feed = ClientFeed(client)
        let first = feed.read(from: LiveCursor("F"))
        let stalled = LiveUpdate.source(.stalled(since: 7))
        #expect(try await Self.updates(3, first) == [.connected, .live(LiveCursor("y")), stalled])
        let here = feed.read(from: LiveCursor("y"))
        #expect(try await Self.updates(3, here) == [.connected, .live(LiveCursor("y")), stalled])
        var plain = client.updates.makeAsyncIterator()
        for update in [.connected, .resync(.start, LiveCursor("y")), .live(LiveCursor("y")), stalled] {
            #expect(try await plain.next() == update)
        }
        withExtendedLifetime((first, here)) {}
        await client.close()
    }

    @Test func `who comes after others is told to fetch, also while there is no stream`() async throws {
        let server = try ScriptedServer([.awaitHead, .upgrade(), Client.frame(#"{"live":{"at":"y"}}"#), .silence])
        var configuration = LiveClientConfiguration(url: "ws://127.0.0.1:\(server.port)/live/v1")
        configuration.cursor = LiveCursor("F")
        let client = try LiveClient(configuration) { "t" }
        client.enterBackground()
        var first = client.updates.makeAsyncIterator()
        var second = client.updates.makeAsyncIterator()
        client.enterForeground()
        let stream = [LiveUpdate.connected, .live(LiveCursor("y"))]
        for update in stream { #expect(try await first.next() == update) }
        for update in [LiveUpdate.resync(.start, LiveCursor("F"))] + stream {
            #expect(try await second.next() == update)
        }
        await client.close()
    }

    @Test func `a page is asked for up to what another node has told of`() async throws {
        let body = #"{"events":[],"at":"y","more":true}"#
        let server = try ScriptedServer([
            .awaitHead, .send("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"), .close,
        ])
        let client = try Self.client(server)
        let answer = try await client.sync(since: LiveCursor("x"), upTo: LiveCursor("z"))
        #expect(answer == .page([], at: LiveCursor("y"), more: true))
        #expect(String(decoding: server.received[0], as: UTF8.self).contains("since=x&upto=z "))
    }

    @Test func `a refused page says when to come again`() async throws {
        let server = try ScriptedServer([
            .awaitHead,
            .send("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 30\r\nContent-Length: 0\r\n\r\n"), .close,
        ])
        let client = try Self.client(server)
        await #expect(throws: RequestError(status: 503, retryAfter: 30_000)) { try await client.sync(since: nil) }
    }
}
