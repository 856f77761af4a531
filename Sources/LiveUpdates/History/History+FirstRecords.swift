// What first records, and logs without one, show about a cursor where no ids decide.
extension History {
    /// What contradicts a cursor.
    enum Objection {
        /// Another topic has the name.
        case proved
        /// This must be known first.
        case open(Doubt)
    }

    /// Topics with a log that begins with the record that the cursor names; nil where one begins with another record.
    func topicsOfSameFirstRecord(_ cursor: Cursor) -> Set<UInt16>? {
        var same: Set<UInt16> = []
        for first in cursor.firstRecords {
            guard let slot = partitions.slot(of: first.partition), let stamp = partitions.facts[slot].firstStamp
            else { continue }
            guard first.fits(stamp) else { return nil }
            same.insert(first.partition.topic)
        }
        return same
    }

    /// Whether a log's first record contradicts a cursor that does not name it.
    ///
    /// As long as a first record is stamped ahead of what is known of its log, cursors name it. If a cursor from that time does
    /// not, its node knew a log that began with another record. Or its node no longer found the record there, which this one may
    /// have read long ago: so it is read once more.
    func isFirstUnsaid(by cursor: Cursor, _ found: [PartitionName: ProbedRecord], _ ends: EndsSeen) -> Objection? {
        // Nodes that have ids name none, and no cursor names more than the maximum.
        guard cursor.topicIDs == nil, cursor.firstRecords.count < Cursor.maximumFirstRecords else { return nil }
        var objection: Objection?
        for logs in logsOfUnsaidFirsts(cursor) {
            switch areThere(logs, found, ends) {
            case .proved?: return .proved
            case let open?: objection = objection ?? open
            case nil: break
            }
        }
        return objection
    }

    /// For each topic that may be another one, the logs whose first records must all still be there to prove it.
    private func logsOfUnsaidFirsts(_ cursor: Cursor) -> [[PartitionName]] {
        let named = Set(cursor.firstRecords.map(\.partition.topic))
        var suspects: [[PartitionName]] = []
        for position in cursor.positions where position.offset > 0 && !named.contains(position.partition.topic) {
            guard let slot = partitions.slot(of: position.partition), let stamp = partitions.facts[slot].firstStamp,
                stamp > position.known ?? .min
            else { continue }
            suspects.append([position.partition])
        }
        guard let known = cursor.topicsKnown else { return suspects }
        // Some log of the topic had a record then. The cursor does not state which log.
        for (topic, stamp) in partitions.identity().inference.earliestFirsts
        where stamp > known && !named.contains(topic) {
            let logs = partitions.everySlot().lazy
                .filter { self.partitions[$0].name.topic == topic && self.partitions.facts[$0].firstStamp != nil }
                .map { self.partitions[$0].name }
            suspects.append(Array(logs.prefix(Cursor.maximumFirstRecords)))
        }
        return suspects
    }

    private func areThere(
        _ logs: [PartitionName], _ found: [PartitionName: ProbedRecord], _ ends: EndsSeen
    ) -> Objection? {
        for log in logs {
            switch found[log] {
            case .record?: continue
            case .none?, .unanswered?: return nil
            case nil:
                // No client is refused because the broker cannot be asked.
                if case .unknown = ends { return nil }
                return .open(.firstRecord(log))
            }
        }
        return .proved
    }

    /// Whether a log has no record at offset 0, nor behind it, although the cursor names the record that is there.
    func lacksFirstRecord(_ cursor: Cursor, _ ends: EndsSeen) -> Objection? {
        for first in cursor.firstRecords {
            guard let moment = ends.moment, let slot = partitions.slot(of: first.partition) else { continue }
            let facts = partitions.facts[slot]
            guard facts.firstStamp == nil, partitions[slot].next == 0, facts.end ?? 0 == 0 else { continue }
            if facts.endAsked >= moment { return .proved }
            return .open(.ends(PartitionFloor(partition: first.partition, offset: 1)))
        }
        return nil
    }

    /// Whether a topic has no records although the cursor states that it had: a log that had one never ends at 0 again.
    func isEmptied(contradicting cursor: Cursor, _ ends: EndsSeen) -> Objection? {
        guard let topic = partitions.emptyTopic(contradicting: cursor), let moment = ends.moment else { return nil }
        guard let floor = partitions.firstRecord(of: topic, notAskedSince: moment) else { return .proved }
        return .open(.ends(floor))
    }
}

extension EndsSeen {
    /// An end that was requested at this moment or later counts: a known one may be older. Nil where no broker can be asked.
    fileprivate var moment: UInt64? {
        switch self {
        case .earlier: .max
        case .since(let moment): moment
        case .unknown: nil
        }
    }
}
