import LiveUpdates
import WebSocket

/// From an account's events to the connections of one loop.
///
/// Frames of one account and one form are encoded once a wake and shared; a connection gets a reference to them.
/// Confined to its loop.
final class LoopFanOut {
    /// The connections of one account on this loop, by the form in which they take messages.
    private final class Audience {
        var plain: [Connection] = []
        var deflated: [Connection] = []
        var isEmpty: Bool { plain.isEmpty && deflated.isEmpty }
    }

    private var audiences: [Account: Audience] = [:]
    private var payload: [UInt8] = []
    /// Made with the first connection that takes deflated messages; one for all of them.
    private var deflater: Deflater?

    func join(_ connection: Connection, account: Account) {
        let audience = audiences[account] ?? Audience()
        if connection.takesDeflated {
            connection.placeInAudience = audience.deflated.count
            audience.deflated.append(connection)
        } else {
            connection.placeInAudience = audience.plain.count
            audience.plain.append(connection)
        }
        audiences[account] = audience
    }

    /// O(1): the last connection of the audience takes the place of the one that leaves.
    func leave(_ connection: Connection, account: Account) {
        guard let audience = audiences[account] else {
            preconditionFailure("a connection left an account that nobody had joined")
        }
        if connection.takesDeflated {
            Self.remove(connection, from: &audience.deflated)
        } else {
            Self.remove(connection, from: &audience.plain)
        }
        if audience.isEmpty { audiences[account] = nil }
    }

    private static func remove(_ connection: Connection, from connections: inout [Connection]) {
        let place = connection.placeInAudience
        precondition(connections[place] === connection, "a connection's place in its audience is not its own")
        let last = connections.removeLast()
        guard last !== connection else { return }
        connections[place] = last
        last.placeInAudience = place
    }

    /// Hands `batch` to everybody whom it concerns; returns the number of messages handed out.
    func deliver(_ batch: [AccountEvents]) -> Int {
        var deliveries = 0
        for part in batch {
            // Everybody may have left since ingest looked.
            guard let audience = audiences[part.account] else { continue }
            if !audience.plain.isEmpty {
                deliveries += deliver(frames(part.events, deflated: false), part.events.count, to: audience.plain)
            }
            if !audience.deflated.isEmpty {
                deliveries += deliver(frames(part.events, deflated: true), part.events.count, to: audience.deflated)
            }
        }
        return deliveries
    }

    private func deliver(_ frames: [UInt8], _ events: Int, to connections: [Connection]) -> Int {
        // A connection that turns out to be too slow leaves the audience while we walk: hence the copy of the array.
        for connection in connections { connection.deliver(frames) }
        return events * connections.count
    }

    private func frames(_ events: [ThinEvent], deflated: Bool) -> [UInt8] {
        var frames: [UInt8] = []
        for event in events {
            payload.removeAll(keepingCapacity: true)
            WireMessage.appendPlain(event, to: &payload)
            guard deflated, let compressed = compress(payload) else {
                FrameEncoder.append(.text, payload: payload.span, to: &frames)
                continue
            }
            FrameEncoder.append(.text, isCompressed: true, payload: compressed.span, to: &frames)
        }
        return frames
    }

    /// Nil where there is no memory for it: each message may go uncompressed (RFC 7692 §6).
    private func compress(_ payload: [UInt8]) -> [UInt8]? {
        if deflater == nil {
            let policy = DeflatePolicy.shared
            deflater = try? Deflater(windowBits: policy.serverWindowBits, contextTakeover: policy.serverContextTakeover)
        }
        return deflater?.message(payload.span)
    }
}
