import LiveUpdates

/// Passes what ingest has sent to the subscribers that it concerns.
extension LoopFanOut {
    /// What a message leaves to the loop itself.
    enum Rest {
        case nothing
        /// So many events have been worked off.
        case delivered(Int)
        /// The connection has its answer to give, before its subscriber gets it.
        case joined(ConnectionID, JoinAnswer)
        /// Each connection is to be reached, since something concerns all of them.
        case walk
        case snapshotCursor(ConnectionID, SnapshotAnswer)
        case archive(ConnectionID, ArchiveReply)
    }

    /// Handles one message. Messages come in the order in which ingest has sent them, and none is left out: joins depend on that.
    ///
    /// `subscription` gives the subscriber of a connection, nil where it has gone meanwhile: its unsubscription is still queued.
    /// `now` is monotonic, in milliseconds.
    func receive(
        _ message: FanOutMessage, now: UInt64, subscription: (ConnectionID) -> Subscription<Port>?
    ) -> Rest {
        switch message {
        case .joined(let id, let answer):
            advance(to: answer.sequence)
            return .joined(id, answer)
        case .page(let id, let answer):
            advance(to: answer.sequence)
            subscription(id)?.page(answer, now: now)
        case .fresh(let id, let cursor): subscription(id)?.fresh(cursor, now: now)
        case .read(let notice): read(notice, now: now)
        case .events(let batch, let sequence):
            _ = deliver(batch, sequence: sequence, now: now)
            return .delivered(batch.reduce(0) { $0 + $1.events.count })
        case .reset(let why, let sequence, let cursors):
            reset(why, sequence: sequence, cursors: cursors)
            return .walk
        case .source(let state):
            sourceState = state
            return .walk
        case .snapshotCursor(let id, let answer): return .snapshotCursor(id, answer)
        case .archive(let id, let reply): return .archive(id, reply)
        }
        return .nothing
    }
}
