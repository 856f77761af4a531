import LiveUpdates

/// A stream as a member of its group, and what it has in common with the others there.
extension LiveStream {
    /// Whether its messages are its own, so that it cannot share those of its form.
    var isServedAlone: Bool { changed != nil || !floors.isEmpty }

    var groupForm: StreamForm { isServedAlone ? StreamForm(individual: form.entities) : form }

    func goLive() {
        state = .live(fanOut.join(self, account, groupForm))
    }

    /// The events that the client has not had from another node.
    func aboveFloors(_ events: [LoggedEvent]) -> [LoggedEvent] {
        guard !floors.isEmpty else { return events }
        let fresh = events.filter { event in !floors.contains { $0.isAbove(event) } }
        floors.removeAll { floor in events.contains { $0.partition == floor.partition && !floor.isAbove($0) } }
        return fresh
    }

    /// Writes what holds events, for this stream alone.
    func write(_ bytes: [UInt8], _ facts: DeliveryFacts?, _ now: UInt64) {
        if let facts, facts.count > 0 { fanOut.ledger.owe(fanOut.ledger.add(facts), to: &owed) }
        write(bytes, now)
    }

    /// The events that the socket did not accept at once have left.
    func observeUnsent(of catchUp: CatchUp<Port>) {
        for facts in catchUp.unsent {
            deliveries += UInt64(facts.count)
            fanOut.ledger.observe(facts, form.deliveryKind, at: fanOut.moment)
        }
        catchUp.unsent = []
    }

    /// For how long it has been behind; 0: it is not.
    func behindMilliseconds(now: UInt64) -> UInt64 {
        guard case .behind(let catchUp) = state else { return 0 }
        return now - min(now, catchUp.since)
    }
}

extension StreamForm {
    var deliveryKind: DeliveryCounts.Kind { carrier == .eventStream ? .eventStream : .webSocket }
}

extension PartitionFloor {
    /// Whether the event was delivered by a node that was ahead.
    func isAbove(_ event: LoggedEvent) -> Bool { partition == event.partition && event.offset < offset }
}
