import Transport

/// Events that were written in a phase that has ended. Each is counted once the socket has accepted all of them.
struct Departing {
    var facts: [DeliveryFacts] = []
    var kind = DeliveryCounts.Kind.webSocket
}

/// The end of a phase, and the bytes that have not left by then.
extension Connection {
    /// Ends what the phase began: its timers, its subscriber. From here on no event reaches this connection.
    ///
    /// - Returns: what still leaves if the transport is closed after a flush.
    @discardableResult
    func endPhase() -> Departing {
        switch phase {
        case .request(let reading):
            cancel(&reading.deadline)
            leave(&reading.permit, nil)
            endRest(reading)
            if exchange(&reading.isLateRefusal, with: false) { loop.lateRefusals -= 1 }
        case .awaitingToken(let awaiting):
            cancel(&awaiting.deadline)
            leave(&awaiting.permit, nil)
        case .joining(let joining):
            joining.stream.end()
            leave(&joining.permit, joining.stream.account)
        case .open(let open):
            let unsent = open.stream.end()
            leave(&open.permit, open.stream.account)
            cancel(&open.wake)
            if let token = open.token { cancel(&token.end) }
            cancel(&open.heartbeat.timer)
            return Departing(facts: unsent, kind: open.kind)
        case .polling(let polling):
            polling.poll.end()
            leave(&polling.permit, polling.poll.account)
            endWait(polling, CloseLabel.cut)
            cancel(&polling.wake)
        case .asking(let asking): endAsking(asking)
        case .answering(let answering):
            cancel(&answering.deadline)
            leave(&answering.permit, answering.identity?.account)
            if let facts = answering.facts { return Departing(facts: [facts], kind: .sync) }
        case .ending(let ending): cancel(&ending.deadline)
        }
        return Departing()
    }

    /// Ends a connection without an open request: no client awaits an answer, so the peer's own end is awaited for a moment only.
    func finishIdle() {
        phase = .ending(Ending(departing: endPhase()))
        transport?.close(afterFlush: true, limitMilliseconds: ConnectionLoop.idleEndMilliseconds)
    }

    /// Writes a last answer, and ends.
    func finish(writing answer: [UInt8]) {
        phase = .ending(Ending(departing: endPhase()))
        transport?.write(answer)
        transport?.close(afterFlush: true)
    }

    /// The kernel has accepted all that was written before the end.
    func haveLeft(_ departing: inout Departing) {
        for facts in departing.facts { loop.fanOut.ledger.observe(facts, departing.kind, at: loop.fanOut.moment) }
        departing.facts = []
    }

    func transportFlushed() {
        loop.fanOut.moment = loop.eventLoop.flushedAt
        if case .ending(let ending) = phase { haveLeft(&ending.departing) }
    }

    /// If it returns false, the transport closes after what it was given, which may need the full linger time. Meanwhile nothing
    /// is written to the stream, which has no reader, and its permit is free.
    ///
    /// A peer may end its half after a whole request and await the answer, or a proxy does so for it. The node cannot distinguish
    /// it from a peer that has left, so the connection waits for nothing but that answer.
    func transportPeerFinished() -> Bool {
        switch phase {
        // What came before the end is still to be read; a close may be among it.
        case .open(let open) where open.session?.hasRest == true: return false
        case .open(let open):
            endBehindPeer(open)
            return false
        case .polling(let polling):
            peerHasFinished = true
            // Even if the client still reads the answer, the wait has ended without one.
            endWait(polling, CloseLabel.cut)
            polling.poll.answerNow()
        case .asking(let asking):
            guard !asking.awaitsBody else {
                phase = .ending(Ending(departing: endPhase()))
                return false
            }
            peerHasFinished = true
        case .awaitingToken, .joining, .answering: peerHasFinished = true
        case .request, .ending: return false
        }
        return true
    }

    /// Ends a stream whose peer has finished.
    func endBehindPeer(_ open: OpenStream) {
        loop.counters.end(open.kind, CloseLabel.cut)
        let departing = endPhase()
        phase = .ending(Ending(session: open.session, account: open.stream.account, departing: departing))
    }
}
