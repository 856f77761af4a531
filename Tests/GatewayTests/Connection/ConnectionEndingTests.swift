// Tests: Connection+Ending.swift, Connection+Closing.swift, ByteStream.swift, Transport.swift

import Foundation
import LiveUpdates
import Reactor
import TestHarness
import Testing
import Tokens

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

    /// Each row: why, the code, and the code as it stands in a close frame (RFC 6455 §5.5.1).
    @Test(
        arguments: [
            (.revoked, "4403", "\u{11}\u{33}"), (.unknownToken, "4403", "\u{11}\u{33}"),
            (.olderThanRevoked, "4401", "\u{11}\u{31}"), (.unsettled, "1012", "\u{03}\u{F4}"),
            (.undated, "1012", "retry_ms=3"),
        ] as [(TokenRefusal, String, String)], [webSocket, eventStream])
    func `whose token was revoked is told so, and who was perhaps not meant comes back with a new one`(
        row: (why: TokenRefusal, code: String, bytes: String), request: String
    ) async throws {
        let rig = try await ConnectionRig.start(request)
        #expect(try await eventually { rig.seen.value.contains("\r\n\r\n") })
        let closes = await rig.loop.perform { [rig] in
            for connection in rig.rig.value.connections { connection.revoke(row.why) }
            return rig.rig.value.node.counters.closes
        }
        #expect(closes == [row.code: 1])
        let told = request == Self.webSocket ? row.bytes : "\"code\":\(row.code)"
        #expect(try await eventually { rig.seen.value.contains(told) }, "\(rig.seen.value)")
        await rig.loop.stopped()
    }

    @Test(arguments: [webSocket, eventStream])
    func `who joins is refused when an operator disconnects it, and no drain is told`(
        request: String
    ) async throws {
        let rig = try await ConnectionRig.start(request, letsIn: false)
        let (closed, refusals) = await rig.loop.perform { [rig] in
            let node = rig.rig.value.node
            return (
                node.disconnect(fromSlot: 0, account: Account("PACC1"), subject: nil).closed, node.counters.refusals
            )
        }
        #expect(closed == 1 && refusals == ["overloaded": 1])
        #expect(try await eventually { rig.seen.value.contains("\"code\":\"overloaded\"") }, "\(rig.seen.value)")
        #expect(rig.seen.value.hasPrefix("HTTP/1.1 503 ") && rig.seen.value.contains("\r\nRetry-After: "))
        await rig.loop.stopped()
    }

    @Test(arguments: [(webSocket, "HTTP/1.1 101 "), (eventStream, "HTTP/1.1 200 ")])
    func `who has finished behind its request gets its answer, and then the end`(
        request: String, head: String
    ) async throws {
        let rig = try await ConnectionRig.start(request, letsIn: false)
        let isOpen = await rig.loop.perform { [rig] in
            rig.rig.value.connections.map { $0.transport?.streamPeerFinished() ?? false }
        }
        #expect(isOpen == [true])
        let closes = await rig.loop.perform { [rig] in
            rig.rig.value.letIn()
            return rig.rig.value.node.counters.closes
        }
        #expect(closes == [CloseLabel.cut: 1])
        #expect(try await eventually { rig.seen.value.hasPrefix(head) }, "\(rig.seen.value)")
        let isEmpty = await rig.loop.perform { [rig] in rig.rig.value.node.quota.isEmpty }
        #expect(isEmpty)
        await rig.loop.stopped()
    }

    /// Each row: the address, and how many of two answers may stay where the node has one place left for what is not a wait.
    @Test(arguments: [("/sync/v1", 1), ("/sync/v1?since=c0&wait=9", 2)])
    func `an answer that has not left counts as a connection of its client`(
        target: String, count: Int
    ) async throws {
        let rig = try await ConnectionRig.start(
            "GET \(target) HTTP/1.1\r\nHost: h\r\n\r\n", clients: 2, letsIn: false)
        let total = await rig.loop.perform { [rig] in
            let node = rig.rig.value.node
            node.quota.change(to: QuotaLimits(maximumConnections: 1))
            rig.rig.value.letIn()
            for connection in rig.rig.value.connections { connection.transportBlocked() }
            return node.quota.total
        }
        #expect(total == count)
        #expect(try await eventually { rig.seen.value.components(separatedBy: "HTTP/1.1 200 ").count == count + 1 })
        let isEmpty = await rig.loop.perform { [rig] in rig.rig.value.node.quota.isEmpty }
        #expect(isEmpty)
        await rig.loop.stopped()
    }

    @Test func `what comes behind the request of an event stream is bounded`() async throws {
        let rig = try await ConnectionRig.start(Self.eventStream)
        #expect(try await eventually { rig.seen.value.contains("\r\n\r\n") })
        let closes = await rig.loop.perform { [rig] in
            let (node, connection) = (rig.rig.value.node, rig.rig.value.connections[0])
            return [ConnectionLoop.maximumStrayBytes - 1, 1, 1].map { count in
                connection.transportReceived([UInt8](repeating: 0, count: count).span)
                return node.counters.closes
            }
        }
        #expect(closes == [[:], [:], ["1008": 1]])
        #expect(try await eventually { rig.seen.value.contains("\"code\":1008") }, "\(rig.seen.value)")
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
            #expect(node.counters.closes == [CloseLabel.cut: 1] && node.quota.isEmpty)
        }
        await rig.loop.stopped()
    }
}
