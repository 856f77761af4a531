/// What distinguishes the logs that a node reads from others that had, or will have, the same names.
struct LogIdentity {
    /// A hash over the ids of all topics; nil where one of them has none.
    let topicIDs: UInt32?
    let inference: LogInference
    /// First records that are stamped ahead of what is known of their logs, one of each topic. A node that reads one when its
    /// time has come assumes the topic to be younger than it is. None where ids decide.
    let firstRecords: [Cursor.Fingerprint]

    /// `facts` with the name of each, of `count` topics in all. `announced` are the ids of topics that may have no open log.
    init(
        _ facts: some Sequence<(PartitionName, LogFacts)>, topics count: Int, announced: [UInt16: UInt32],
        _ recreations: [UInt16: TopicRecreation]
    ) {
        var ids: [UInt16: UInt32?] = [:]
        var ahead: [UInt16: Cursor.Fingerprint] = [:]
        for (name, fact) in facts {
            let topic = name.topic
            let isAnother = ids[topic].map { $0 != fact.topicID } ?? false
            ids[topic] = .some(isAnother ? nil : fact.topicID)
            if let stamp = fact.firstStamp, stamp >= 0, stamp > fact.known ?? .min, ahead[topic] == nil {
                ahead[topic] = Cursor.Fingerprint(partition: name, offset: 0, timestamp: stamp)
            }
        }
        for (topic, id) in announced where ids[topic] == nil { ids[topic] = .some(id) }
        topicIDs = Self.hash(ids, count: count)
        let cutBack = recreations.filter { $0.value.idBefore != nil && $0.value.idBefore == announced[$0.key] }
        let first = ahead.sorted { $0.key < $1.key }.prefix(Cursor.maximumFirstRecords).map(\.value)
        firstRecords = topicIDs == nil ? first : []
        inference = LogInference(
            facts, topics: count, recreations.mapValues(\.noticed), cutBack: Set(cutBack.keys))
    }

    private static func hash(_ ids: [UInt16: UInt32?], count: Int) -> UInt32? {
        guard ids.count == count, !ids.isEmpty else { return nil }
        var hash = StableHash()
        for topic in ids.keys.sorted() {
            guard let known = ids[topic], let id = known else { return nil }
            hash.combine(UInt64(topic))
            hash.combine(UInt64(id))
        }
        return hash.folded
    }

    /// Whether a change from one to the other leaves the identity the same.
    static func isSame(_ old: LogFacts, _ new: LogFacts) -> Bool {
        old.topicID == new.topicID && old.born == new.born && old.firstStamp == new.firstStamp
            && old.notBefore == new.notBefore
            && old.wholeAfter == new.wholeAfter
            && old.known == new.known && old.isNew == new.isNew && (old.end ?? 0 > 0) == (new.end ?? 0 > 0)
    }
}

/// A topic was found to be recreated, or cut back.
struct TopicRecreation {
    /// When it was found.
    let noticed: Int64
    /// The id that its logs had; nil where they had none. A topic that was cut back keeps it.
    let idBefore: UInt32?
}

/// Used only where topic ids are absent, in the cursor or here. First records, moments of knowledge and fingerprints show whether
/// a log is the one that a cursor refers to.
///
/// All of this depends on time stamps, so it may be wrong for a log whose first record has a wrong one.
struct LogInference {
    /// Since when at the latest every topic was the one that is read. Nil where a topic has nothing yet that distinguishes it
    /// from another, or had its first record after another was known last: no single moment holds for both then.
    let topicsKnown: Int64?
    /// The moment before which each topic was not there, where that is known.
    private let births: [UInt16: Int64]
    private let latestBirth: Int64?
    /// The earliest stamp of the first records of a topic's logs, where those of all are known and stamped.
    let earliestFirsts: [UInt16: Int64]
    /// The latest recreation of a topic that was noticed: no cursor from before refers to that topic.
    private let latestRecreation: Int64?
    /// Topics of which all logs are empty, as far as leaders have reported.
    let emptyTopics: [UInt16]
    /// The moment after the one at which a log whose topic kept its id was last found to be cut back.
    let latestWholeAfter: Int64?

    private struct Topic {
        var known: Int64?
        var birth: Int64?
        var isBirthKnown = true
        var earliestFirst = Int64.max
        var areFirstsKnown = true
        var isEmpty = true
        var endsAtZero = true
        var notBefore: Int64?
        var wholeAfter: Int64?

        mutating func add(_ fact: LogFacts) {
            notBefore = [notBefore, fact.notBefore].lazy.compactMap(\.self).min()
            wholeAfter = [wholeAfter, fact.wholeAfter].lazy.compactMap(\.self).max()
            if fact.born != nil || fact.end ?? 0 > 0 { endsAtZero = false }
            guard !fact.isNew else { return }
            // The lowest of all: a partition that was added may be of a topic that was recreated in between.
            known = isEmpty ? fact.known : known.flatMap { mine in fact.known.map { min(mine, $0) } }
            isEmpty = false
            if let born = fact.born { birth = min(birth ?? born, born) } else { isBirthKnown = false }
            if let first = fact.firstStamp, first >= 0 {
                earliestFirst = min(earliestFirst, first)
            } else {
                areFirstsKnown = false
            }
        }
    }

    /// `recreations`: when each topic was found to be another one, the last time; those that kept their ids are `cutBack`.
    init(
        _ facts: some Sequence<(PartitionName, LogFacts)>, topics count: Int, _ recreations: [UInt16: Int64],
        cutBack: Set<UInt16> = []
    ) {
        var topics: [UInt16: Topic] = [:]
        for (name, fact) in facts { topics[name.topic, default: Topic()].add(fact) }
        births = topics.compactMapValues { $0.isBirthKnown ? $0.birth : nil }
        latestBirth = births.values.max()
        earliestFirsts = topics.compactMapValues { $0.isEmpty || !$0.areFirstsKnown ? nil : $0.earliestFirst }
        let known = topics.values.map { $0.isEmpty ? nil : $0.known }
        let least = known.contains(nil) || topics.count < count ? nil : known.lazy.compactMap(\.self).min()
        topicsKnown = topics.count > 1 && least ?? .max < latestBirth ?? .min ? nil : least
        emptyTopics = topics.filter(\.value.endsAtZero).keys.sorted()
        // Until the first of its logs is open again, a topic has no facts that show this.
        let unopened = recreations.filter { topics[$0.key] == nil }
        let cutBackUnopened = unopened.lazy.filter { cutBack.contains($0.key) }.map(\.value).max()
        latestWholeAfter = [topics.values.lazy.compactMap(\.wholeAfter).max(), cutBackUnopened].lazy.compactMap(\.self)
            .max()
        // Cursors from between the birth and the moment when it was noticed refer to either; later ones to the new topic, even if
        // its first record comes later still. A birth while the other topic was there has a wrong stamp.
        let opened = topics.lazy.compactMap { number, topic in
            topic.notBefore.map { notBefore in
                let birth = topic.isBirthKnown ? topic.birth : nil
                guard let noticed = recreations[number] else { return max(notBefore, birth ?? notBefore) }
                guard let birth, birth >= notBefore else { return max(notBefore, noticed) }
                return min(noticed, birth)
            }
        }.max()
        latestRecreation = [opened, unopened.values.max()].lazy.compactMap(\.self).max()
    }

    /// Whether a topic, named or not, is another one than when the cursor was issued.
    ///
    /// A node that noticed the recreation of a topic needs only the time of issue: the cursor may be from before the old topic
    /// had a record. Others compare when the cursor's node last knew all topics with when each had its first record. For topics
    /// that have the same first record as the cursor's, a moment shows nothing more.
    func isOfAnotherTopic(_ cursor: Cursor, besides same: Set<UInt16>) -> Bool {
        if let latestRecreation, latestRecreation > cursor.issue { return true }
        guard let known = cursor.topicsKnown, let latestBirth, latestBirth > known else { return false }
        return births.contains { $0.value > known && !same.contains($0.key) }
    }

    /// Whether a partition had another log when the cursor was issued: its node last knew it before this one was there. A
    /// position at the beginning claims nothing about records there.
    static func isOfAnotherLog(_ position: Cursor.Position, _ facts: LogFacts) -> Bool {
        guard position.offset > 0, let earliest = facts.earliestKnowledge else { return false }
        guard let known = position.known else { return true }
        return known < earliest
    }

    /// What the cursor's fingerprint shows.
    enum Mark {
        case fits
        case isAnother
        /// Nothing is held of the record there, which alone proves nothing: it must be read once more.
        case isAbsent
    }

    /// What is held at the fingerprint's offset: `entry` of the account, where all of it is held, and `landmark` of any account.
    static func compare(
        _ fingerprint: Cursor.Fingerprint, _ entry: PartitionLog.Entry?, _ landmark: Landmark?
    ) -> Mark {
        guard let timestamp = entry?.timestamp ?? landmark?.timestamp else { return .isAbsent }
        if fingerprint.fitsAnyAccount(timestamp) { return .fits }
        guard fingerprint.fits(timestamp) else { return .isAnother }
        // It is no longer known whose event the landmark is.
        return entry == nil ? .isAbsent : .fits
    }

    /// Whether the record at the fingerprint's offset is not the one that the fingerprint was made of.
    static func isAnother(_ record: ProbedRecord, _ fingerprint: Cursor.Fingerprint, _ account: Account) -> Bool {
        guard case .record(let timestamp, let its, let former) = record else { return false }
        if fingerprint.fitsAnyAccount(timestamp) { return false }
        guard fingerprint.fits(timestamp) else { return true }
        return its.map { $0 != account && former != account } ?? false
    }
}

extension LogFacts {
    /// Whether nothing was ever seen in it: any empty log is like another.
    fileprivate var isNew: Bool { known == nil && born == nil && end ?? 0 == 0 }

    /// A node that knew the log only before this moment knew another one; nil while nothing is known.
    fileprivate var earliestKnowledge: Int64? { [born, notBefore].lazy.compactMap(\.self).max() }
}

/// What is at an offset that was read once more.
package enum ProbedRecord: Equatable, Sendable {
    /// No record: compacted, aborted or deleted.
    case none
    /// As Kafka has it; the account is nil where the mapping leaves the record out. `left` is the account that a row has left
    /// with this record, which is an event for that account too.
    case record(timestamp: Int64, account: Account?, left: Account? = nil)
    /// The leader did not answer.
    case unanswered
}
