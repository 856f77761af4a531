import LiveUpdates
import Reactor
import Transport

/// What a loop counts and holds at one moment, for metrics and administration.
struct LoopReport: Sendable {
    var counters = LoopCounters()
    var deliveries = DeliveryCounts()
    var work: [LoopWork] = []
    /// Streams that are behind.
    var behind = 0
    var catchUps: [CatchUpOutcome: UInt64] = [:]

    /// Several loops as one; the work of each stays its own.
    static func + (a: LoopReport, b: LoopReport) -> LoopReport {
        LoopReport(
            counters: a.counters + b.counters, deliveries: a.deliveries + b.deliveries, work: a.work + b.work,
            behind: a.behind + b.behind, catchUps: a.catchUps.merging(b.catchUps, uniquingKeysWith: +))
    }
}

/// One connection as an operator sees it. Never a token.
struct ConnectionReport: Sendable {
    let loop: Int
    let id: ConnectionID
    let account: Account
    let subject: String?
    let peer: String
    let kind: DeliveryCounts.Kind
    /// For how long it has been open, in milliseconds.
    let milliseconds: UInt64
    /// For how long it has been behind; 0 when it is not.
    let behindMilliseconds: UInt64
    let deliveries: UInt64
    let sentBytes: UInt64
}

/// Questions of the administration, each answered in a slice of a tick. A caller that needs everything asks again, from the slot
/// where the answer ended.
extension ConnectionLoop {
    /// Connections of one slice, so that its answer is small.
    static let reportedConnections = 256

    var report: LoopReport {
        LoopReport(
            counters: totals, deliveries: fanOut.ledger.counts, work: [eventLoop.work], behind: fanOut.behind,
            catchUps: fanOut.catchUps)
    }

    /// Open connections, those of an account where one is named; and the slot from which to go on, nil at the end.
    func reports(fromSlot first: Int, of account: Account?, limit: Int) -> (found: [ConnectionReport], next: Int?) {
        var found: [ConnectionReport] = []
        let most = min(limit, Self.reportedConnections)
        let next = visit(fromSlot: first) { connection in
            if let report = connection.report, account == nil || report.account == account { found.append(report) }
            return found.count < most
        }
        return (found, next)
    }

    /// Closes the connections of an account, or of one of its subjects. Each may reconnect after a time of its own. Returns how
    /// many it closed, and the slot from which to go on.
    func disconnect(fromSlot first: Int, account: Account, subject: String?) -> (closed: Int, next: Int?) {
        var closed = 0
        let next = visit(fromSlot: first) { connection in
            guard let (owner, who) = connection.owner, owner == account, subject == nil || who == subject else {
                return true
            }
            connection.disconnect()
            closed += 1
            return true
        }
        return (closed, next)
    }

    /// Goes over the connections from a slot on, for a slice or until `body` answers false. Returns the slot behind the last
    /// one that was visited; nil where that was the end.
    private func visit(fromSlot first: Int, _ body: (Connection) -> Bool) -> Int? {
        var slot = first
        _ = eventLoop.runSlice {
            guard slot < connections.slots else { return false }
            let connection = connections[slot: slot]
            slot += 1
            return connection.map(body) ?? true
        }
        return slot < connections.slots ? slot : nil
    }
}

extension Connection {
    /// Whose it is, once that is known and as long as it is open.
    fileprivate var owner: (account: Account, subject: String?)? {
        switch phase {
        case .joining(let joining): (joining.admitted.identity.account, joining.admitted.identity.subject)
        case .open(let open): (open.stream.account, open.identity.subject)
        case .polling(let polling): (polling.poll.account, polling.identity.subject)
        case .asking(let asking): (asking.identity.account, asking.identity.subject)
        case .request, .awaitingToken, .answering, .ending: nil
        }
    }

    /// Nil for what is no stream and no wait.
    fileprivate var report: ConnectionReport? {
        let now = loop.eventLoop.now
        switch phase {
        case .open(let open):
            return ConnectionReport(
                loop: loop.index, id: id, account: open.stream.account, subject: open.identity.subject,
                peer: "\(client)",
                kind: open.kind, milliseconds: now - min(now, open.since),
                behindMilliseconds: open.stream.behindMilliseconds(now: now), deliveries: open.stream.deliveries,
                sentBytes: transport?.sentBytes ?? 0)
        case .polling(let polling) where polling.hasBegun:
            return ConnectionReport(
                loop: loop.index, id: id, account: polling.poll.account, subject: polling.identity.subject,
                peer: "\(client)",
                kind: .sync, milliseconds: now - min(now, polling.since), behindMilliseconds: 0, deliveries: 0,
                sentBytes: transport?.sentBytes ?? 0)
        case .request, .awaitingToken, .joining, .polling, .asking, .answering, .ending: return nil
        }
    }
}
