// Tests: Connection+Ending.swift, Connection+Closing.swift, ByteStream.swift, Transport.swift

import LiveUpdates
import Reactor
import TestHarness
import Testing

@testable import Gateway
@testable import Transport

/// What is on its way when a connection ends is counted if the kernel takes it: an end may come in the tick of an event.
struct ConnectionEndingTests {
    static let webSocket = """
        GET /live/v1 HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n
        """
    static let eventStream = "GET /live/v1 HTTP/1.1\r\nHost: h\r\nAccept: text/event-stream\r\n\r\n"

    static let ends: [(name: String, end: @Sendable (Connection) -> Void)] = [
        ("a drain", { $0.leave(.restart, retryMilliseconds: 7) }), ("an end", { $0.close(.goingAway) }),
        ("an expired token", { $0.close(.tokenExpired) }), ("a revoked token", { $0.revoke(.unknownToken) }),
        ("an old connection", { $0.ageIsReached() }),
        ("a peer that has finished", { _ = $0.transport?.streamPeerFinished() }),
    ]

    @Test(arguments: [(webSocket, DeliveryCounts.Kind.webSocket), (eventStream, .eventStream)], ends.indices)
    func `events in the tick of an end are counted once`(
        kind: (request: String, kind: DeliveryCounts.Kind), index: Int
    ) async throws {
        let (name, end) = Self.ends[index]
        let rig = try await ConnectionRig.start(kind.request)
        #expect(try await eventually { rig.seen.value.contains("\r\n\r\n") })
        await rig.loop.perform { [rig] in
            let node = rig.rig.value.node
            node.receive(ConnectionRig.events(1...3))
            for connection in rig.rig.value.connections {
                end(connection)
                // As a stream does by itself whose peer has finished.
                if name == "a peer that has finished" { connection.transport?.stream.close(afterFlush: true) }
            }
            node.receive(ConnectionRig.events(4...5))
            #expect(node.fanOut.ledger.counts.total == 0 && node.counters.open == [0, 0, 0], "\(name)")
        }
        #expect(try await eventually { rig.seen.value.contains("\"e3\"") })
        let counts = await rig.loop.perform { [rig] in rig.rig.value.node.report.deliveries }
        #expect(counts.events[kind.kind.rawValue] == 3 && counts.total == 3, "\(name)")
        #expect(counts.delivery.total == 3 && !rig.seen.value.contains("\"e4\""), "\(name)")
        await rig.loop.stopped()
    }

    @Test func `nobody who has finished holds what others are owed`() async throws {
        let rig = try await ConnectionRig.start(Self.webSocket)
        #expect(try await eventually { rig.seen.value.contains("\r\n\r\n") })
        await rig.loop.perform { [rig] in
            let node = rig.rig.value.node
            for connection in rig.rig.value.connections { _ = connection.transportPeerFinished() }
            node.receive(ConnectionRig.events(1...1))
            _ = node.fanOut.ledger.add(DeliveryFacts(replayed: 1, at: 0))
            #expect(node.fanOut.ledger.pending == 1)
            #expect(node.counters.closes == [CloseLabel.cut: 1] && node.places.isEmpty)
        }
        await rig.loop.stopped()
    }
}
