import KafkaLogs

/// Reads a scripted broker as a node reads Kafka: the real `LogTracker`, with probes and fetches answered by the script.
package struct ScriptedReader: Sendable {
    /// In the order in which a node is given them.
    package enum Output: Equatable, Sendable {
        case change(LogChange)
        case record(PartitionName, offset: Int64, ScriptedRecord)
    }

    package var tracker: LogTracker
    private var probe: Probe?

    package init(topics: [String] = ["t"], windowMilliseconds: Int64?, canAskIDs: Bool) {
        tracker = LogTracker(topics: topics, windowMilliseconds: windowMilliseconds, canAskIDs: canAskIDs)
    }

    /// Whether a refresh waits for an answer.
    package var isRefreshing: Bool { probe != nil }

    /// A whole refresh at one moment. Returns what changed.
    @discardableResult
    package mutating func refresh(_ broker: inout ScriptedBroker, _ now: Moment) -> [Output] {
        var outputs: [Output] = []
        repeat { outputs += refreshStep(&broker, now) } while isRefreshing
        return outputs
    }

    /// Begins a refresh, or has its next probe answered: what happens in between happens during the refresh.
    package mutating func refreshStep(_ broker: inout ScriptedBroker, _ now: Moment) -> [Output] {
        if let probe {
            self.probe = tracker.receive(broker.answer(probe), now)
        } else {
            probe = tracker.beginRefresh(now)
        }
        broker.assign(tracker.takeAssignments())
        return tracker.takeChanges().map { .change($0) }
    }

    /// One batch of the consumer, at most so many messages.
    package mutating func drain(_ broker: inout ScriptedBroker, atMost maximum: Int, _ now: Moment) -> [Output] {
        var outputs: [Output] = []
        let deliveries = broker.fetch(maximum)
        for (index, delivery) in deliveries.enumerated() {
            switch delivery {
            case .record(let name, let offset, let record, let leader):
                var isLast = true
                if index + 1 < deliveries.count, case .record(name, _, _, leader) = deliveries[index + 1] {
                    isLast = false
                }
                let reception = tracker.read(
                    Int(name.topic), name.number, offset: offset, timestamp: record.timestamp, broker: leader,
                    isLast: isLast, now)
                guard reception != .drop else { continue }
                if reception == .handOverMarked {
                    tracker.mark(Int(name.topic), name.number, record.mark(at: offset))
                }
                outputs += tracker.takeChanges().map { .change($0) }
                outputs.append(.record(name, offset: offset, record))
            case .end(let name, let offset): tracker.reachEnd(Int(name.topic), name.number, offset: offset, now)
            case .refused(let name, let offset): tracker.refuse(Int(name.topic), name.number, offset: offset, now)
            case .unreadable(let name, let offset):
                tracker.fail(Int(name.topic), name.number, reason: "damaged at \(offset)", now)
            }
        }
        tracker.endBatch()
        broker.assign(tracker.takeAssignments())
        return outputs + tracker.takeChanges().map { .change($0) }
    }

    package mutating func sourceState(_ now: Moment) -> SourceState { tracker.sourceState(now) }
    package mutating func takeNotices() -> [LogNotice] { tracker.takeNotices() }
}
